"""Whether a cache was written or read, by the nodes that feed it."""

from pipeline_changes import (
    after,
    cache_is_read,
    changed,
    facts,
    one_iterator_per_epoch,
    rebuilt_each_epoch,
)
from quickfit.signals.cache_use import cache_use

SLOW = {"input_wait_s": 0.06, "map_s": 0.18, "is_cached": True}


def test_epochs_that_write_and_epochs_that_read_are_told_apart():
    use = cache_use(changed(facts("Map", cardinality=4000), one_iterator_per_epoch, **SLOW))
    assert use is not None
    assert (use.written, use.read, use.size) == (2, 0, 4000)
    assert [stage.kind for stage in use.saved] == ["map", "tensorslice"]
    use = cache_use(changed(one_iterator_per_epoch, cache_is_read, **SLOW))
    assert use is not None
    assert (use.written, use.read) == (0, 2)


def test_a_pipeline_that_is_built_anew_has_a_new_cache_each_time():
    use = cache_use(changed(rebuilt_each_epoch, **SLOW))
    assert use is not None
    assert use.written == 0


def test_without_a_cache_there_is_nothing_to_say():
    assert cache_use(changed(**{**SLOW, "is_cached": False})) is None


def test_the_take_that_reads_it_is_found_unless_something_else_reads_first():
    take = {"kind": "Take", "line": 13, "facts": {"count": 5}}
    use = cache_use(changed(after(take, "Cache"), **SLOW))
    assert use is not None
    assert use.taken is not None
    use = cache_use(changed(after(take, "Shuffle"), **SLOW))
    assert use is not None
    assert use.taken is None
