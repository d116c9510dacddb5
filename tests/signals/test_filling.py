"""What a pipeline's cache and buffers hold while steps run."""

import pytest

from memory_runs import memory_run
from quickfit.signals.filling import element_growth, filling_cache, growing_buffers

from builders import START_S


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
