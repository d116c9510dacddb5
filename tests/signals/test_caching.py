"""Where a cache may stand, and what it holds."""

import pytest

from memory_runs import memory_run
from pipeline_changes import (
    MEMORY,
    after,
    cache_is_read,
    changed,
    facts,
    of_loop,
    one_iterator_per_epoch,
    rebuilt_each_epoch,
)
from quickfit.errors import SignalMissing
from quickfit.signals.caching import (
    cache_point,
    cache_use,
    element_growth,
    filling_cache,
    free_bytes,
    growing_buffers,
    passes,
)

from builders import START_S

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


SLOW_CACHE_USE = {"input_wait_s": 0.06, "map_s": 0.18, "is_cached": True}


def test_epochs_that_write_and_epochs_that_read_are_told_apart():
    use = cache_use(
        changed(facts("Map", cardinality=4000), one_iterator_per_epoch, **SLOW_CACHE_USE)
    )
    assert use is not None
    assert (use.written, use.read, use.size) == (2, 0, 4000)
    assert [stage.kind for stage in use.saved] == ["map", "tensorslice"]
    use = cache_use(changed(one_iterator_per_epoch, cache_is_read, **SLOW_CACHE_USE))
    assert use is not None
    assert (use.written, use.read) == (0, 2)


def test_a_pipeline_that_is_built_anew_has_a_new_cache_each_time():
    use = cache_use(changed(rebuilt_each_epoch, **SLOW_CACHE_USE))
    assert use is not None
    assert use.written == 0


def test_without_a_cache_there_is_nothing_to_say():
    assert cache_use(changed(**{**SLOW_CACHE_USE, "is_cached": False})) is None


def test_the_take_that_reads_it_is_found_unless_something_else_reads_first():
    take = {"kind": "Take", "line": 13, "facts": {"count": 5}}
    use = cache_use(changed(after(take, "Cache"), **SLOW_CACHE_USE))
    assert use is not None
    assert use.taken is not None
    use = cache_use(changed(after(take, "Shuffle"), **SLOW_CACHE_USE))
    assert use is not None
    assert use.taken is None


def test_a_cache_that_is_filled_tells_what_it_holds():
    signals = memory_run(is_cached=True)
    for row in signals.recording.main.tables["datasets"]:
        row["facts"] = {**row["facts"], "cardinality": 20_000}
    cache = filling_cache(signals)
    assert cache.elements == pytest.approx(32 * 400, rel=0.05)
    assert cache.element_bytes == pytest.approx(110_000)
    assert cache.to_come_bytes == pytest.approx((20_000 - cache.elements) * 110_000)
    assert cache.growth.per_s == pytest.approx(320 * 110_000, rel=0.05)


def test_a_pipeline_without_a_cache_fills_none():
    assert filling_cache(memory_run()) is None


def test_what_is_held_ready_is_summed_without_shuffles():
    signals = memory_run(shuffled=500)
    assert growing_buffers(signals) is None
    for row in signals.recording.main.tables["pipelines"]:
        row["nodes"][1][8:10] = [3, int(1e6 * (row["at_s"] - START_S))]
    buffers = growing_buffers(signals)
    assert buffers.growth.per_s == pytest.approx(1e6, rel=0.02)
    assert (buffers.largest, buffers.elements, buffers.to_come_bytes) == ("Prefetch", 3, None)


def test_batches_that_get_larger_are_seen():
    assert element_growth(memory_run()) == pytest.approx(1.0, abs=0.05)
    signals = memory_run()
    for place, row in enumerate(signals.recording.main.tables["pipelines"]):
        row["nodes"][0][4] = (place + 5) ** 2 * 10**6
    assert element_growth(signals) > 1.5
    assert element_growth(memory_run(input="generator", with_model=False)) is None
