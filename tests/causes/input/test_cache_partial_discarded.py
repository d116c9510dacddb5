"""`cache-partial-discarded`: fires where later epochs still fill the cache."""

import pytest

from pipeline_changes import after, cache_is_read, changed, facts, of_loop, one_iterator_per_epoch
from quickfit.causes.input.cache_partial_discarded import detect, fix
from quickfit.findings import FixClass

from builders import MAP_LINE, shown_fix

SLOW = {"input_wait_s": 0.06, "map_s": 0.18, "cpu_cores": 1.9, "is_cached": True}
SIZES = (facts("Map", cardinality=4000), facts("Cache", cardinality=4000, element_bytes=110_000))
TAKE = after({"kind": "Take", "line": 13, "facts": {"count": 1120, "cardinality": 1120}}, "Cache")
PARTIAL = (*SIZES, TAKE, one_iterator_per_epoch, of_loop(epochs=10))


def test_fires_at_the_cache_with_the_epochs_that_filled_it():
    finding = detect(changed(*PARTIAL, **SLOW))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == MAP_LINE
    wait, filled, work = finding.evidence
    assert wait.value == pytest.approx(0.6, abs=0.01)
    assert filled.value == 2
    assert "of 4000 elements" in filled.detail
    assert work.value == pytest.approx(0.18, rel=0.05)
    assert finding.gain.likely > 1.5


def test_a_repeat_before_the_cache_never_ends():
    repeat = after({"kind": "Repeat", "line": 13, "facts": {"cardinality": -1, "count": -1}}, "Map")
    signals = changed(facts("Map", cardinality=500), repeat, facts("Cache", cardinality=-1), **SLOW)
    finding = detect(signals)
    assert finding is not None
    assert "no end" in finding.evidence[1].what
    advice = fix(finding, signals)
    assert advice is not None
    assert ".cache().repeat()" in advice.example


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(
            changed(*PARTIAL, **{**SLOW, "input_wait_s": 0.004}), id="input is not the limit"
        ),
        pytest.param(changed(*PARTIAL, cache_is_read, **SLOW), id="the cache is read"),
        pytest.param(changed(*SIZES, TAKE, **SLOW), id="the first epoch is still going on"),
        pytest.param(
            changed(*PARTIAL[:2], one_iterator_per_epoch, **{**SLOW, "is_cached": False}),
            id="there is no cache",
        ),
        pytest.param(
            changed(*PARTIAL, **SLOW, facts={"memory_bytes": 1_050_000_000}), id="it does not fit"
        ),
        pytest.param(changed(*PARTIAL, **{**SLOW, "map_s": 1e-5}), id="it would save nothing"),
    ],
)
def test_stays_silent_when(signals):
    assert detect(signals) is None


def test_the_fix_takes_before_it_caches():
    def cache_of_its_own(built):
        for row in built.main.tables["sources"]:
            row["text"] = row["text"].replace("files.map(decode)", "files.cache()")

    signals = changed(*PARTIAL, cache_of_its_own, **SLOW)
    finding = detect(signals)
    assert finding is not None
    edit = shown_fix("cache-partial-discarded", finding, signals)
    assert edit is not None
    assert not edit.before  # the page's example, because the code is not recognised
    assert ".take(" in edit.example
    assert edit.kind is FixClass.SAME_RESULTS


def test_a_loop_that_is_left_early_only_gets_advice():
    signals = changed(*SIZES, one_iterator_per_epoch, of_loop(epochs=10), **SLOW)
    finding = detect(signals)
    assert finding is not None
    advice = fix(finding, signals)
    assert advice is not None
    assert advice.kind is FixClass.SHOW_ONLY
