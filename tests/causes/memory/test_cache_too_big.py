"""`cache-too-big`: a cache in memory that is being filled and will not fit."""

import pytest

from memory_runs import filling, flat, memory_run, rising
from quickfit.causes.memory.cache_too_big import detect, fix
from quickfit.causes.memory.host_ram_growth import detect as grows_somehow
from quickfit.diagnosis.verdict import memory_severity

from builders import MAP_LINE

# 32 elements of 110 kB go into it in each of ten steps a second: 35 MB a second.
FILLS = {"rss": rising(3.5e7, 6e8), "is_cached": True}


def cached(size, **given):
    signals = memory_run(**{**FILLS, **given})
    tables = signals.recording.main.tables
    for row in tables["datasets"]:
        if row["kind"] in ("Cache", "Map"):
            row["facts"] = {**row["facts"], "cardinality": size}
    return signals


def test_fires_at_the_cache_that_will_not_fit():
    finding = detect(cached(1_000_000))
    assert finding.where.line == MAP_LINE
    told = {fact.what: fact.value for fact in finding.evidence}
    assert told["is still to come"] == pytest.approx(1e6 * 110_000, rel=0.05)
    assert told["of memory is left"] == pytest.approx(8e9 - 2e9, rel=0.05)
    assert finding.exhaustion.in_s == pytest.approx(6e9 / 3.5e7, rel=0.1)
    assert fix(finding, cached(1_000_000)).kind == "show-only"


def test_a_cache_without_end_is_called_that():
    finding = detect(cached(-1))
    assert "has no end" in finding.summary
    assert fix(finding, cached(-1)).title == "Cache before the repeat"


def test_of_an_unknown_size_it_is_told_when_memory_is_nearly_gone():
    assert detect(cached(-2)) is None
    assert detect(cached(-2, facts={"memory_bytes": 22 * 10**8})) is not None


def test_a_cache_that_fits_but_holds_many_times_its_files_is_told():
    # 40 s of 35 MB each are held, 20 MB were read from files.
    signals = cached(30_000, chars_read=filling(5e5, 40, 7e7))
    finding = detect(signals)
    assert finding.where.line == MAP_LINE
    assert finding.exhaustion.held == pytest.approx(1.4e9, rel=0.05)
    assert "times what its elements were made of" in finding.summary
    assert memory_severity(finding.exhaustion) == "report"


def test_files_that_lie_in_memory_are_what_a_cache_was_made_of():
    signals = cached(30_000, chars_read=flat(7e7))
    for row in signals.recording.main.tables["pipelines"]:
        for node in row["nodes"]:
            if not node[11] and not node[1].startswith("MemoryCache"):
                node[4] = 20_000_000
    finding = detect(signals)
    told = {fact.what: fact.value for fact in finding.evidence}
    assert told["came out of the dataset's source meanwhile"] == pytest.approx(2e7)


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"chars_read": rising(3e7)}, id="the files are as large"),
        pytest.param({"chars_read": flat(7e7)}, id="nothing was read: it was made"),
        pytest.param({"facts": {"memory_bytes": 10**12}, "seconds": 20,
                      "chars_read": rising(1e6)}, id="less than a gigabyte"),
    ],
)  # fmt: skip
def test_a_cache_that_fits_is_fine_when(given):
    assert detect(cached(30_000, **given)) is None


def read_only(signals):
    """Return a run whose cache is complete: nothing feeds it any more."""
    for row in signals.recording.main.tables["pipelines"]:
        for node in row["nodes"]:
            if node[1].startswith("MemoryCache"):
                node[11] = []
    return signals


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(memory_run(), id="no cache"),
        pytest.param(cached(30_000), id="it fits"),
        pytest.param(cached(1_000_000, rss=flat(6e8)), id="the process does not grow"),
        pytest.param(read_only(cached(1_000_000)), id="it is full"),
        pytest.param(memory_run(input="generator", **FILLS), id="the input is a generator"),
    ],
)
def test_stays_silent_when(signals):
    assert detect(signals) is None


def test_a_cache_that_fits_is_nobodys_growth():
    signals = cached(30_000, seconds=90)
    assert signals.leak.kind == "cache"
    assert grows_somehow(signals) is None
