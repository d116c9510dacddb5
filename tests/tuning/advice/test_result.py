"""What an advice is in numbers: the training as it is, the setting, and JSON."""

import json

import pytest

from quickfit.measuring.intervals import Measured
from quickfit.tuning.advice.result import Baseline
from quickfit.tuning.trials.answers import Block, Ready
from quickfit.tuning.trials.settings import Setting

from tuning.advice.advice_builder import LESS, SLOWER, XLA, advice

READY = Ready(32, 4096, 0.1, 0.5, 0.01, 1234, 400)


def test_the_pace_is_the_middle_one_of_all_blocks():
    blocks = [Block(10, 320, wall_s, 1.0, 500 + number) for number, wall_s in enumerate((1, 2, 9))]
    found = Baseline.of(READY, blocks, None)
    assert found.samples_per_s == pytest.approx(160)
    assert found.step_s == pytest.approx(0.2)
    assert found.peak_bytes == 502


def test_before_the_first_block_nothing_is_known_of_the_pace():
    found = Baseline.of(READY, [], None)
    assert found.samples_per_s is None
    assert found.step_s is None
    assert found.peak_bytes == 400


def test_lines_are_those_of_the_chosen_row():
    found = advice(XLA, LESS)
    assert found.setting == Setting(jit=True)
    assert found.lines == ("model.compile(..., jit_compile=True)",)
    assert advice(SLOWER).lines == ()
    assert advice(SLOWER).setting.is_as_it_was


def test_json_holds_everything_and_no_number_that_is_none():
    found = advice(XLA, SLOWER, input_gain=Measured(1.1, 1.3, 1.5, 3), notes=("a",))
    plain = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert plain["advised"] == "XLA (jit_compile)"
    assert plain["setting"] == {"jit": True}
    assert plain["is_input_bound"] is True
    assert type(plain["baseline"]["peak_bytes"]) is int
    assert type(plain["rows"][0]["peak_bytes"]) is int
    assert plain["baseline"]["loss"] == {"samples": 2048, "before": 2.31, "after": 0.61}
    assert len(plain["rows"]) == 2
    assert json.loads(json.dumps(advice().as_json()))["advised"] is None


@pytest.mark.parametrize(
    ("gain", "is_bound"),
    [
        (None, False),
        (Measured(1.4, 1.6, 1.8, 3), True),
        (Measured(0.9, 1.6, 2.8, 3), False),
        (Measured(0.0, 1.6, float("inf"), 1), True),
        (Measured(1.0, 1.1, 1.2, 3), False),
    ],
)
def test_an_input_is_the_limit_where_batches_from_memory_are_faster_for_sure(gain, is_bound):
    assert advice(XLA, input_gain=gain).is_input_bound is is_bound
