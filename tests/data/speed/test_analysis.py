"""Stages from looks at real pipelines: names, shares, threads, and what belongs together."""

import dataclasses

import pytest
from speed.speeds import machine, recorded, span, speed, stage

from quickfit.data.speed.analysis import (
    AdviceFacts,
    advise,
    ideal_of,
    limit_of,
    pass_length,
    stages_of,
)
from quickfit.data.speed.figures import SpeedLimit
from quickfit.data.speed.timing import FeedPass


def stages(name, *, from_begin=True):
    """Return the stages of a recorded pipeline."""
    looks, operations, top = recorded(name)
    begin = looks[0] if from_begin else None
    return stages_of([FeedPass(looks, begin)], operations, top)


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
    found = stages_of([FeedPass(looks[:1])], operations, top)
    assert [stage.name for stage in found] == ["cache", "shuffle(10)", "batch(8)", "prefetch"]


def test_stages_whose_source_ran_dry_are_still_told():
    assert "cache" in [stage.name for stage in stages("cached", from_begin=False)]


def test_without_a_look_there_are_no_stages():
    assert stages_of([FeedPass()], {}, 0) == ()
    assert stages_of([], {}, 0) == ()


def test_stages_that_nobody_wrote_are_marked_when_the_chain_is_known():
    looks, _, _ = recorded("parallel")
    names = [stage.name for stage in stages_of([FeedPass(looks, looks[0])], {}, 0)]
    assert names == ["range", "shuffle", "mapandbatch", "map"]


def test_a_map_on_one_thread_is_the_limit():
    limit = limit_of(span(), [stage(work_s=0.019)], machine())
    assert limit.kind == "stage"
    assert limit.text == "map(decode) runs on one thread: 19 ms of 20 ms per batch"


def test_full_cores_are_the_limit_whatever_the_stages():
    limit = limit_of(span(element_cpu_s=0.038), [stage(work_s=0.019, share=0.7)], machine())
    assert limit.kind == "cores"
    assert limit.text == "the cores: it uses 1.9 of 2 cores, 70 % of the work is map(decode)"


def test_on_a_busy_machine_nothing_is_concluded_from_a_lack_of_cores():
    limit = limit_of(span(), [stage(work_s=0.001)], machine(other_cores=1.2))
    assert limit.kind == "busy"
    assert "inconclusive: other processes use 1.2 of 2 cores" in limit.text


def test_a_stage_on_one_thread_is_the_limit_on_a_busy_machine_too():
    limit = limit_of(span(), [stage(work_s=0.019)], machine(other_cores=1.0))
    assert limit.kind == "stage"
    assert limit.text.endswith("per batch; other processes use 1.0 of 2 cores")


def test_threads_that_wait_for_the_gil_are_told_so():
    python = stage("map(load)", work_s=0.08, parallelism=4, runs_python=True)
    limit = limit_of(span(), [python], machine(cores=8))
    assert (
        limit.text == "map(load) runs Python: 4 threads wait for one GIL, 20 ms of 20 ms per batch"
    )


def test_a_stage_that_waits_is_told_from_one_that_computes():
    limit = limit_of(span(element_cpu_s=0.001), [stage(work_s=0.019)], machine())
    assert limit.text.endswith("it mostly waits (1.0 ms CPU in all)")


def test_passes_that_take_long_to_begin_are_the_limit():
    limit = limit_of(span(), [stage(work_s=0.004)], machine(), begin_share=0.7)
    assert limit.kind == "start"
    assert "70 % of the time" in limit.text


def test_slow_storage_is_told_by_what_was_read():
    limit = limit_of(
        span(element_cpu_s=0.002), [stage(work_s=0.004)], machine(read_bytes=400_000_000)
    )
    assert limit.kind == "storage"
    assert "200 MB per second" in limit.text


def test_a_loop_that_is_slower_than_its_input_is_the_limit():
    quick = span(element_s=0.0002, element_cpu_s=0.0002)
    limit = limit_of(quick, [stage("prefetch", "prefetch", 1e-5, buffered=2)], machine())
    assert limit.kind == "consumer"
    assert "prefetch had 2 ready" in limit.text


@pytest.mark.parametrize(("cpu_s", "said"), [(0.02, "uses 1.0 of 2"), (0.001, "mostly waits")])
def test_a_python_iterator_works_or_waits(cpu_s, said):
    limit = limit_of(span(element_cpu_s=cpu_s), [], machine(), is_python=True)
    assert limit.kind == "python"
    assert said in limit.text


def test_what_nothing_explains_is_unknown():
    assert limit_of(span(), [stage(work_s=0.004)], machine()).kind == "unknown"


@pytest.mark.parametrize("kind", ["prefetch", "concatenate"])
def test_what_only_hands_over_is_no_limit(kind):
    hands_over = stage(kind, kind, 0.019)
    assert limit_of(span(), [hands_over], machine()).kind == "unknown"
    assert limit_of(span(), [hands_over], machine(), begin_share=0.7).kind == "start"
    assert ideal_of(span(), [hands_over], machine()).element_s == pytest.approx(0.01)


def test_ideally_all_cores_share_the_work():
    ideal = ideal_of(span(element_cpu_s=0.04), [stage()], machine(cores=4))
    assert ideal.element_s == pytest.approx(0.01)
    assert ideal.basis == "40 ms CPU per batch on 4 cores"


def test_a_stage_that_cannot_be_shared_bounds_the_ideal():
    shuffle = stage("shuffle(9)", "shuffle", 0.03)
    ideal = ideal_of(span(element_s=0.05, element_cpu_s=0.04), [shuffle], machine(cores=4))
    assert ideal.element_s == pytest.approx(0.03)
    assert ideal.basis == "shuffle(9) cannot be shared between threads"


def test_the_ideal_is_never_slower_than_what_is():
    slow = stage("shuffle(9)", "shuffle", 0.03)
    assert ideal_of(span(element_s=0.02), [slow], machine()).element_s == pytest.approx(0.02)


MAP = SpeedLimit("stage", "", "map(decode)")


def facts(**changes):
    """Return the facts of a pipeline whose one map, on one thread, is the limit."""
    whole = speed()
    found = AdviceFacts(
        *(span(), whole.stages, machine(), whole.memory, MAP, whole.ideal),
        first_s=0.1,
    )
    return dataclasses.replace(found, **changes)


def test_a_map_on_one_thread_is_to_be_made_parallel():
    assert advise(facts()) == (
        "num_parallel_calls=tf.data.AUTOTUNE in map(decode): it takes 20 ms per batch on one"
        " thread; the ideal is 2.0× as fast",
    )


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"step_s": 0.1}, id="the model is slower"),
        pytest.param({"limit": SpeedLimit("cores", "", "map(decode)")}, id="no core is idle"),
        pytest.param({"stages": (stage(parallelism=4.0),)}, id="it is parallel"),
        pytest.param({"total": span(element_s=0.0105)}, id="there is nothing to gain"),
    ],
)
def test_stays_silent_when(changes):
    assert advise(facts(**changes)) == ()


def test_python_on_one_core_is_to_run_in_processes():
    python = stage("map(load)", runs_python=True)
    said = advise(facts(stages=(python,), limit=SpeedLimit("stage", "", "map(load)")))
    assert said == (
        "quickfit.data.generator(function, workers=2): Python keeps 1.0 of 2 cores busy; with all"
        " of them one batch would take 10 ms in place of 20 ms",
    )


def test_elements_that_cost_less_than_handing_them_over_stay_in_the_process():
    quick = span(element_s=0.0002, element_cpu_s=0.0002)
    assert advise(facts(total=quick, kind="generator", stages=())) == ()


def test_what_quickfit_made_is_not_to_be_made_by_quickfit():
    python = stage("map(load)", runs_python=True)
    limit = SpeedLimit("stage", "", "map(load)")
    assert advise(facts(stages=(python,), limit=limit, is_ours=True)) == ()


def cacheable(**changes):
    """Return a stage whose elements are the same in every epoch."""
    more = {"is_random": False, "element_bytes": 150_000.0, "per_element": 32.0, **changes}
    return stage(parallelism=2.0, share=0.9, **more)


def test_a_cache_that_fits_is_told_with_its_size():
    said = advise(facts(stages=(cacheable(), stage("batch", "batch", share=0.1)), elements=100))
    assert said == (
        ".cache() after map(decode): 480 MB of 8.0 GB free memory, and later epochs skip 90 % of"
        " the work",
    )


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"stages": (cacheable(is_random=True),)}, id="it is random"),
        pytest.param({"stages": (cacheable(element_bytes=5e6),)}, id="it does not fit"),
        pytest.param({"stages": (cacheable(),), "has_cache": True}, id="there is one"),
        pytest.param({"stages": (cacheable(),), "elements": None}, id="the length is unknown"),
        pytest.param({"stages": (stage("s", "shuffle"), cacheable())}, id="behind a shuffle"),
    ],
)
def test_no_cache_is_told_when(changes):
    assert advise(facts(**{"elements": 100, **changes})) == ()


def test_images_that_are_decoded_again_and_again_are_to_be_packed():
    said = advise(facts(folder="photos", limit=SpeedLimit("cores", "", None)))
    assert len(said) == 1
    assert said[0].startswith("quickfit pack photos photos.pack --as jpeg256: map(decode) is 90 %")


def test_a_shuffle_behind_costly_work_is_to_come_first():
    stages = (stage(share=0.9, parallelism=2.0), stage("shuffle(1000)", "shuffle", 1e-4, 0.0))
    said = advise(facts(stages=stages, first_s=8.0))
    assert said == (
        "shuffle before map(decode), where elements are small: filling the buffer behind it takes"
        " 8.0 s of every epoch",
    )


def test_on_a_busy_machine_it_is_only_to_be_measured_again():
    said = advise(facts(machine=machine(other_cores=1.0)))
    assert said == ("measure again when the machine is free: what others use is missing here",)


def test_the_length_of_a_pass_is_counted_before_it_is_believed():
    assert pass_length(99, 1, span(100)) == 100
    assert pass_length(99, 0, None) == 99
    assert pass_length(None, 0, None) is None
