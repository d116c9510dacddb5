"""A new iterator for every batch: by how often iterators end, and what that takes."""

import pytest

from hand_runs import COMPILED, hand_run
from quickfit.causes import catalogue
from quickfit.causes.input.iterator_per_batch import detect
from quickfit.findings import FixClass

LOOP_LINE, NEXT_LINE, STEP_LINE = 30, 31, 32
# 105 steps of 0.1 s.
BATCHES = 105


def looped(*, ends=104, end_s=0.02, next_s=0.06, kind="custom", **given):
    """Return a loop that asks for a batch per step, and in which iterators end."""
    calls = [("next", NEXT_LINE, BATCHES, next_s), ("end", LOOP_LINE, ends, end_s)]
    stacks = [((), NEXT_LINE, 80), ((COMPILED,), STEP_LINE, 20)]
    times = {"call_s": 0.02, "wait_s": next_s, "head_line": LOOP_LINE}
    return hand_run(kind, stacks=stacks, calls=calls, **{**times, **given})


def test_fires_at_the_line_that_asks_for_a_batch():
    finding = detect(looped())
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == NEXT_LINE
    ended, each = finding.evidence
    assert (ended.value, ended.detail) == (104, "105 batches")
    assert each.value == pytest.approx(0.06 + 104 * 0.02 / 105, rel=0.01)
    assert finding.cost_share == pytest.approx(0.67, abs=0.01)
    assert finding.gain.low < finding.gain.likely < finding.gain.high


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param({"ends": 3}, id="one iterator per epoch"),
        pytest.param({"ends": 0}, id="one iterator for all"),
        pytest.param({"next_s": 0.001, "end_s": 0.001}, id="it takes next to nothing"),
        pytest.param({"kind": "fit"}, id="in `fit`"),
    ],
)
def test_stays_silent_when(signals):
    assert detect(looped(**signals)) is None


def test_stays_silent_when_a_map_on_one_thread_is_the_limit():
    slow = looped(ends=3, base={"map_s": 0.09, "parallelism": 1.0, "input_wait_s": 0.06})
    assert detect(slow) is None
    assert "sequential-map" in catalogue()["iterator-per-batch"].says_more_than


def test_the_fix_is_one_iterator_before_the_loop():
    cause = catalogue()["iterator-per-batch"]
    assert cause.fix is not None
    shown = cause.fix(detect(looped()), looped())
    assert shown.kind == FixClass.MAY_CHANGE_RESULTS
    assert shown.example.startswith("batches = iter(ds.repeat())\nfor step in range(steps):")
