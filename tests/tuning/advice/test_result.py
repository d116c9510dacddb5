"""What an advice is in numbers: the training as it is, the setting, and JSON."""

import ast
import json
import math
from dataclasses import replace

import pytest

from quickfit.lab.statistics import interval
from quickfit.tuning.advice.change_table import LossChange
from quickfit.tuning.advice.result import (
    TrainingBaseline,
    script_lines,
    setting_remarks,
)
from quickfit.tuning.trials.settings import Setting, TrialBlock, TrialReady

from tuning.advice.advice_builder import LESS, NOT_TRIED, SLOWER, XLA, advice

READY = TrialReady(32, 4096, 0.1, 0.5, 0.01, 1234, 400)


def test_the_pace_is_the_middle_one_of_all_blocks():
    blocks = [
        TrialBlock(10, 320, wall_s, 1.0, 500 + number) for number, wall_s in enumerate((1, 2, 9))
    ]
    found = TrainingBaseline.of(READY, blocks, None)
    assert found.samples_per_s == pytest.approx(160)
    assert found.step_s == pytest.approx(0.2)
    assert found.peak_bytes == 502


def test_before_the_first_block_nothing_is_known_of_the_pace():
    found = TrainingBaseline.of(READY, [], None)
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
    found = advice(XLA, SLOWER, input_gain=1.3, is_input_bound=True, notes=("a",))
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
    ("after", "unchanged", "is_worse"),
    [
        (0.5, 0.5, False),
        (0.54, 0.5, False),
        (0.56, 0.5, True),
        (-0.9, -1.0, False),
        (-0.8, -1.0, True),
        (math.nan, 0.5, True),
        (math.inf, 0.5, True),
        (math.nan, math.nan, False),
        (0.5, math.nan, False),
        (0.0, 0.0, False),
    ],
)
def test_a_loss_is_worse_by_a_tenth_or_when_it_is_no_number(after, unchanged, is_worse):
    assert LossChange(100, 2.3, after, unchanged).is_worse is is_worse


def test_a_row_as_json_has_all_figures_in_plain_units():
    found = XLA.as_json()
    assert found["gain"] == {"low": 1.31, "mean": 1.42, "high": 1.54, "pairs": 3}
    assert found["pays_after_steps"] == 1240
    assert found["loss"] == {"samples": 2048, "before": 2.31, "after": 0.62, "unchanged": 0.61}
    assert found["setting"] == {"jit": True}
    assert found["verdict"] == "advised"


def test_what_json_has_no_number_for_is_null():
    text = json.dumps([SLOWER.as_json(), NOT_TRIED.as_json()], allow_nan=False)
    slower, not_tried = json.loads(text)
    assert slower["gain"] == {"low": None, "mean": 0.9, "high": None, "pairs": 1}
    assert not_tried["gain"] is None
    assert not_tried["loss"] is None


def test_arguments_of_compile_stand_in_one_line():
    setting = Setting(jit=True, steps_per_execution=32)
    assert script_lines(setting) == (
        "model.compile(..., jit_compile=True, steps_per_execution=32)",
    )


def test_everything_at_once_stands_in_the_order_of_a_script():
    setting = Setting(
        batch=128, jit=True, policy="mixed_bfloat16", inter_threads=1, intra_threads=2
    )
    lines = script_lines(setting)
    assert [line.partition("(")[0] for line in lines] == [
        "tf.config.threading.set_inter_op_parallelism_threads",
        "tf.config.threading.set_intra_op_parallelism_threads",
        "keras.config.set_dtype_policy",
        "layers.Dense",
        "dataset = dataset.batch",
        "model.compile",
    ]
    assert lines[2].startswith('keras.config.set_dtype_policy("mixed_bfloat16")')
    assert 'dtype="float32"' in lines[3]
    assert "batch_size=128" in lines[4]


@pytest.mark.parametrize(
    "setting",
    [
        Setting(jit=False),
        Setting(steps_per_execution=8),
        Setting(batch=64),
        Setting(policy="mixed_float16"),
        Setting(inter_threads=1),
    ],
)
def test_lines_are_python(setting):
    for line in script_lines(setting):
        ast.parse(line.replace("...", "optimizer"))


def test_no_change_has_no_lines():
    assert script_lines(Setting()) == ()
    assert setting_remarks(Setting(), 32) == ()


def test_a_larger_batch_comes_with_a_word_on_the_learning_rate():
    (remark,) = setting_remarks(Setting(batch=128), 32)
    assert "4 times fewer steps" in remark
    assert "does not change the learning rate" in remark
    assert "4 times with SGD" in remark
    assert "2 times with Adam" in remark


def test_other_settings_come_with_what_surprises_people():
    text = " ".join(setting_remarks(Setting(jit=True, steps_per_execution=8), 32))
    assert "one batch in 8" in text
    assert "drop_remainder=True" in text
    assert "make_train_step" in " ".join(setting_remarks(Setting(policy="mixed_float16"), 32))


def test_the_gain_of_the_whole_training_has_its_start_in_it():
    base = replace(advice().baseline, start_s=7.0, step_s=0.01, steps_left=640)
    found = replace(advice(replace(XLA, compile_s=0.0)), baseline=base)
    assert found.whole_gain == pytest.approx((7.0 + 6.4) / (7.0 + 6.4 / 1.42))
    assert found.as_json()["whole_gain"] == found.whole_gain
    low, high = found.whole_range
    assert low < found.whole_gain < high
    assert found.as_json()["whole_range"] == [low, high]
    assert f"640 steps gets about {found.whole_gain:.2f}× ({low:.2f}–{high:.2f})" in repr(found)
    assert replace(found, baseline=replace(base, steps_left=None)).whole_gain is None


def test_an_interval_that_says_nothing_has_no_ends():
    wide = replace(XLA, gain=interval([1.2, 6.3]))
    assert wide.as_json()["gain"]["low"] is None
    assert wide.as_json()["gain"]["high"] is None
