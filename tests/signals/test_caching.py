"""Where a cache may stand, and what it holds."""

import pytest

from pipeline_changes import MEMORY, after, changed, facts, of_loop
from quickfit.errors import SignalMissing
from quickfit.signals.caching import cache_point, free_bytes, passes

SLOW = {"input_wait_s": 0.06, "map_s": 0.18}
KNOWN = facts("Map", cardinality=1120)


def test_the_place_is_the_last_work_before_the_shuffle():
    point = cache_point(changed(KNOWN, **SLOW), min_share=0.5)
    assert point is not None
    assert point.operation.kind == "map"
    assert point.elements == 1120
    assert not point.is_shuffled


def test_a_fused_map_is_counted_by_its_elements():
    given = {**SLOW, "fused": True, "element_bytes": 1000}
    point = cache_point(changed(KNOWN, **given), min_share=0.5)
    assert point is not None
    assert point.size_bytes == 1120 * 1000


def test_a_random_map_behind_does_not_matter_and_one_before_ends_it():
    random = {"kind": "Map", "line": 14, "facts": {"ops": ["RandomUniform"], "function": "augment"}}
    assert cache_point(changed(KNOWN, after(random, "Shuffle"), **SLOW), min_share=0.5)
    assert not cache_point(changed(KNOWN, after(random, "TensorSlice"), **SLOW), min_share=0.5)


def test_the_number_of_elements_is_counted_where_the_dataset_does_not_tell():
    point = cache_point(changed(facts("Map", cardinality=-2), **SLOW), min_share=0.5)
    assert point is not None
    assert point.elements == pytest.approx(35 * 32, rel=0.02)


def test_passes_are_planned_epochs_or_what_is_taken_in_all():
    signals = changed(KNOWN, of_loop(epochs=50), **SLOW)
    point = cache_point(signals, min_share=0.5)
    assert point is not None
    assert passes(signals, point) == 50
    repeat = {"kind": "Repeat", "line": 14, "facts": {"cardinality": -1, "count": -1}}
    signals = changed(KNOWN, after(repeat, "Shuffle"), of_loop(epochs=50, steps=70), **SLOW)
    assert passes(signals, point) == pytest.approx(50 * 2, rel=0.02)


def test_half_of_the_free_memory_may_be_used():
    assert free_bytes(changed(**SLOW)) == (MEMORY["memory_bytes"] - 10**9) / 2
    with pytest.raises(SignalMissing, match="memory"):
        free_bytes(changed(**SLOW, facts={}))
