"""`tensor-list-growth`: tensors alive and memory grow together, to the end."""

import pytest

from memory_runs import (
    APPEND_LINE,
    LOOP,
    filling,
    flat,
    held_by,
    looks,
    memory_run,
    rising,
    traced,
)
from quickfit.causes.memory.tensor_list_growth import detect, fix
from quickfit.diagnosis import diagnose_recording
from quickfit.errors import SignalMissing

# Ten steps a second, 100 kB kept by each.
LEAK = {"rss": rising(1e6 * 2, 6e8), "objects": {"tensors": (50, 250)}}


def test_fires_at_the_line_whose_text_keeps_tensors():
    finding = detect(memory_run(source=LOOP, **LEAK))
    assert finding.where.line == APPEND_LINE
    assert finding.exhaustion.each == pytest.approx(2e5, rel=0.05)
    assert finding.exhaustion.in_s == pytest.approx((8e9 - 6.8e8) / 2e6, rel=0.05)
    told = {fact.what: fact for fact in finding.evidence}
    assert told["more tensors are alive"].value == 200
    assert "1 with every step, 199 kB of memory for each" in told["more tensors are alive"].detail
    assert "more memory asked for in the same time" in told
    assert fix(finding, memory_run()).kind == "same-results"


def test_a_run_with_memory_tells_the_line_that_was_measured():
    signals = held_by(memory_run(source=LOOP, **LEAK), 3, rising(2000))
    finding = detect(signals)
    assert finding.where.line == 3
    assert "whose allocations grow" in finding.evidence[-1].detail


def test_the_line_that_keeps_is_told_where_another_one_makes():
    signals = held_by(memory_run(source=LOOP, **LEAK), APPEND_LINE - 1, rising(2000))
    finding = detect(signals)
    assert finding.where.line == APPEND_LINE
    assert "keeps what train.py:7 makes" in finding.evidence[-1].detail


def test_without_a_line_the_command_that_gives_it_is_told():
    finding = detect(memory_run(**LEAK))
    assert finding.where is None
    assert "quickfit run --memory train.py" in finding.evidence[-1].detail


def test_tapes_are_told():
    objects = {"tensors": (50, 850), "tapes": (0, 200)}
    assert "gradient tapes" in detect(memory_run(**{**LEAK, "objects": objects})).summary


def test_it_is_told_in_a_run_with_memory_and_in_any_other():
    for signals in (memory_run(**LEAK), held_by(memory_run(**LEAK), 7, rising(2000))):
        found = [f.cause for f in diagnose_recording(signals.recording).findings]
        assert found == ["tensor-list-growth"]


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(memory_run(rss=flat(6e8), objects={"tensors": (50, 60)}), id="healthy"),
        pytest.param(memory_run(objects={"tensors": (50, 450)}), id="memory does not grow"),
        pytest.param(memory_run(rss=rising(2e6, 6e8)), id="nobody counted"),
        pytest.param(
            memory_run(rss=rising(2e6, 6e8), objects={"tensors": (50, 60)}), id="no tensors"
        ),
        pytest.param(
            memory_run(rss=filling(1e7, 20, 6e8), objects={"tensors": (50, 250)}), id="it stopped"
        ),
        pytest.param(
            memory_run(asked=flat(2e9), **LEAK), id="memory that had been asked for is used"
        ),
        pytest.param(
            traced(memory_run(python_blocks=rising(30_000), **LEAK), 1), id="traces keep graphs"
        ),
    ],
)
def test_stays_silent_when(signals):
    assert detect(signals) is None


def test_a_run_with_few_readings_is_not_checked():
    with pytest.raises(SignalMissing, match="readings of memory"):
        detect(memory_run(seconds=4, **LEAK))


def test_a_list_that_was_counted_is_told_after_a_few_seconds():
    held = looks(rising(9e7), name="losses", content="tensors", every_s=1, seconds=6)
    finding = detect(memory_run(seconds=6, source=LOOP, rss=rising(9e7, 6e8), holders=held))
    assert finding.where.line == APPEND_LINE
    assert finding.summary == "`losses` keeps more tensors with every step"
    assert finding.exhaustion.each == pytest.approx(9e6, rel=0.01)
    told = {fact.what: fact for fact in finding.evidence}
    assert "9.0 MB to 10 MB more with every step" in told["is held by `losses`"].detail
