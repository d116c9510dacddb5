"""`missing-cache`: fires where every epoch repeats the same work and memory could hold it."""

import pytest

from pipeline_changes import after, changed, facts, of_loop
from quickfit.causes.input.missing_cache import detect, fix
from quickfit.errors import SignalMissing
from quickfit.findings import FixClass

from builders import MAP_LINE, shown_fix

SLOW = {"input_wait_s": 0.06, "map_s": 0.18, "cpu_cores": 1.9}
KNOWN = facts("Map", cardinality=1120, ops=["DecodeJpeg"], call="map")


def test_fires_behind_the_map_with_the_wait_the_work_and_the_size():
    finding = detect(changed(KNOWN, of_loop(epochs=10), **SLOW))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == MAP_LINE
    wait, work, size = finding.evidence
    assert wait.value == pytest.approx(0.6, abs=0.01)
    assert work.value == pytest.approx(0.18, rel=0.05)
    assert size.value == pytest.approx(1120 * 110_000)
    assert finding.claims == ("input_wait",)
    assert 1.0 < finding.gain.low <= finding.gain.likely <= finding.gain.high


def test_more_epochs_gain_more_because_the_first_one_stays_as_it_is():
    few, many = (detect(changed(KNOWN, of_loop(epochs=n), **SLOW)) for n in (3, 100))
    assert few is not None
    assert many is not None
    assert few.gain.likely < many.gain.likely <= few.gain.high + 0.01


def test_a_shuffle_before_the_map_has_to_move():
    shuffle = {"kind": "Shuffle", "line": 12, "facts": {"cardinality": 1120}}
    signals = changed(KNOWN, after(shuffle, "TensorSlice"), **SLOW)
    finding = detect(signals)
    assert finding is not None
    advice = fix(finding, signals)
    assert advice is not None
    assert advice.kind is FixClass.MAY_CHANGE_RESULTS
    assert "shuffle behind the cache" in advice.note


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(
            changed(KNOWN, **{**SLOW, "input_wait_s": 0.004}), id="input is not the limit"
        ),
        pytest.param(
            changed(KNOWN, facts("Map", ops=["RandomUniform"]), **SLOW), id="the map is random"
        ),
        pytest.param(
            changed(KNOWN, facts("Map", ops=["StatelessRandomUniformV2"]), **SLOW),
            id="the map is random by a seed",
        ),
        pytest.param(changed(KNOWN, **SLOW, runs_python=True), id="Python may be random"),
        pytest.param(
            changed(KNOWN, facts("Map", is_stateful=True, ops=["Unheard"]), **SLOW),
            id="the map keeps some state",
        ),
        pytest.param(
            changed(KNOWN, **SLOW, facts={"memory_bytes": 1_100_000_000}), id="it does not fit"
        ),
        pytest.param(changed(KNOWN, **SLOW, epochs=1), id="one epoch"),
        pytest.param(changed(KNOWN, **SLOW, is_cached=True), id="there is a cache"),
        pytest.param(
            changed(KNOWN, **{**SLOW, "cpu_cores": 1.0}, parallelism=1.0),
            id="a map on one thread beside idle cores",
        ),
        pytest.param(changed(KNOWN, **{**SLOW, "map_s": 0.002}), id="the calls cost, not the work"),
        pytest.param(
            changed(KNOWN, **{**SLOW, "map_s": 0.07, "cpu_cores": 1.0}, other_cores=1.0),
            id="other programs take the cores",
        ),
        pytest.param(changed(KNOWN, **SLOW, input="generator"), id="a generator"),
    ],
)
def test_stays_silent_when(signals):
    assert detect(signals) is None


def test_a_state_that_never_changes_is_no_randomness():
    assert detect(
        changed(KNOWN, facts("Map", is_stateful=True, ops=["Assert", "LookupTableFindV2"]), **SLOW)
    )


def test_is_not_checked_where_the_number_of_elements_is_not_known():
    repeat = {"kind": "Repeat", "line": 12, "facts": {"cardinality": -1, "count": -1}}
    with pytest.raises(SignalMissing, match="elements"):
        detect(changed(facts("Map", cardinality=-2), after(repeat, "Shuffle"), **SLOW))


def test_the_fix_adds_the_call_behind_the_map():
    signals = changed(KNOWN, **SLOW)
    finding = detect(signals)
    assert finding is not None
    edit = shown_fix("missing-cache", finding, signals)
    assert edit is not None
    assert (edit.before, edit.after) == ("", "ds = ds.cache()")
    assert edit.kind is FixClass.SAME_RESULTS
