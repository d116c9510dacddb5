"""`autotune-ram-growth`: what the stages hold ready grows, and memory with it."""

import pytest

from memory_runs import flat, memory_run, rising
from quickfit.causes.memory.autotune_ram_growth import detect, fix

from builders import BATCH_LINE, START_S


def buffered(per_s=5e6, size=None, **given):
    """Return a run whose batches wait in the stage that makes them, more and more."""
    signals = memory_run(**{"rss": rising(6e6, 6e8), **given})
    tables = signals.recording.main.tables
    for row in tables["pipelines"]:
        held = int(per_s * (row["at_s"] - START_S))
        for node in row["nodes"]:
            if node[1] == "BatchV2":
                node[8:10] = [held // 1_000_000, held]
    for row in tables["datasets"]:
        if row["kind"] == "Batch":
            row["facts"] = {**row["facts"], "buffer_size": size}
    return signals


def test_fires_at_the_stage_that_holds_most():
    finding = detect(buffered())
    assert finding.where.line == BATCH_LINE
    told = {fact.what: fact for fact in finding.evidence}
    assert told["held ready by the pipeline's stages"].value == pytest.approx(2e8, rel=0.05)
    assert fix(finding, buffered()).kind == "same-results"


def test_a_buffer_that_will_not_fit_is_told():
    assert detect(buffered(size=10_000)) is not None


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(memory_run(), id="healthy"),
        pytest.param(buffered(rss=flat(6e8)), id="memory does not grow"),
        pytest.param(buffered(per_s=1e6), id="something else grows faster"),
        pytest.param(buffered(size=400), id="the buffer is small when it is full"),
    ],
)
def test_stays_silent_when(signals):
    assert detect(signals) is None
