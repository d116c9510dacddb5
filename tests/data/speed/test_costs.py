"""Stages from looks at real pipelines: names, shares, threads, and what belongs together."""

import pytest
from speed.speeds import recorded

from quickfit.data.speed.costs import stages_of
from quickfit.data.speed.taking import Pass


def stages(name, *, from_begin=True):
    """Return the stages of a recorded pipeline."""
    looks, operations, top = recorded(name)
    begin = looks[0] if from_begin else None
    return stages_of([Pass(looks, begin)], operations, top)


def test_the_stages_come_in_the_order_in_which_they_are_written():
    names = [stage.name for stage in stages("parallel")]
    assert names == ["range", "shuffle(100)", "map(decode) + batch(32)", "map(scale)"]


def test_the_function_that_works_most_has_the_largest_share():
    found = stages("parallel")
    most = max(found, key=lambda stage: stage.share)
    assert most.name == "map(decode) + batch(32)"
    assert most.parallelism == 2
    assert most.place == "recorder.py:21"


@pytest.mark.parametrize("name", ["parallel", "python", "interleaved", "generated"])
def test_the_shares_make_a_whole(name):
    assert sum(stage.share for stage in stages(name)) == pytest.approx(1.0)


def test_the_elements_of_a_stage_are_counted_per_batch():
    by_name = {stage.name: stage for stage in stages("parallel")}
    assert by_name["shuffle(100)"].per_element == pytest.approx(32, rel=0.1)
    assert by_name["map(scale)"].per_element == pytest.approx(1.0)


def test_a_function_that_calls_python_says_so():
    by_name = {stage.name: stage for stage in stages("python")}
    assert by_name["map(python) + batch(8)"].runs_python
    assert by_name["map(python) + batch(8)"].parallelism == 1


def test_the_sub_datasets_of_an_interleave_are_one_stage():
    names = [stage.name for stage in stages("interleaved")]
    assert names.count("map") == 1
    assert "interleave(shard)" in names
    assert len(names) == len({(n, i) for i, n in enumerate(names)}) <= 6


def test_a_generator_is_one_stage_with_the_users_name():
    found = stages("generated")
    assert [stage.name for stage in found] == ["from_generator(batches)", "prefetch"]
    assert found[0].kind == "generator"
    assert found[0].runs_python
    assert found[1].is_injected


def test_a_cache_is_one_stage():
    looks, operations, top = recorded("cached")
    found = stages_of([Pass(looks[:1])], operations, top)
    assert [stage.name for stage in found] == ["cache", "shuffle(10)", "batch(8)", "prefetch"]


def test_stages_whose_source_ran_dry_are_still_told():
    assert "cache" in [stage.name for stage in stages("cached", from_begin=False)]


def test_without_a_look_there_are_no_stages():
    assert stages_of([Pass()], {}, 0) == ()
    assert stages_of([], {}, 0) == ()


def test_stages_that_nobody_wrote_are_marked_when_the_chain_is_known():
    looks, _, _ = recorded("parallel")
    names = [stage.name for stage in stages_of([Pass(looks, looks[0])], {}, 0)]
    assert names == ["range", "shuffle", "mapandbatch", "map"]
