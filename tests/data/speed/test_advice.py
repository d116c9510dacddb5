"""What is worth trying: only what the figures show, and nothing where they show nothing."""

import dataclasses

import pytest
from speed.speeds import machine, span, speed, stage

from quickfit.data.speed.advice import Facts, advice_of, pass_length
from quickfit.data.speed.figures import Limit

MAP = Limit("stage", "", "map(decode)")


def facts(**changes):
    """Return the facts of a pipeline whose one map, on one thread, is the limit."""
    whole = speed()
    found = Facts(
        *(span(), whole.stages, machine(), whole.memory, MAP, whole.ideal),
        first_s=0.1,
    )
    return dataclasses.replace(found, **changes)


def test_a_map_on_one_thread_is_to_be_made_parallel():
    assert advice_of(facts()) == (
        "num_parallel_calls=tf.data.AUTOTUNE in map(decode): it takes 20 ms per batch on one"
        " thread; the ideal is 2.0× as fast",
    )


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"step_s": 0.1}, id="the model is slower"),
        pytest.param({"limit": Limit("cores", "", "map(decode)")}, id="no core is idle"),
        pytest.param({"stages": (stage(parallelism=4.0),)}, id="it is parallel"),
        pytest.param({"total": span(element_s=0.0105)}, id="there is nothing to gain"),
    ],
)
def test_stays_silent_when(changes):
    assert advice_of(facts(**changes)) == ()


def test_python_on_one_core_is_to_run_in_processes():
    python = stage("map(load)", runs_python=True)
    said = advice_of(facts(stages=(python,), limit=Limit("stage", "", "map(load)")))
    assert said == (
        "quickfit.data.generator(function, workers=2): Python keeps 1.0 of 2 cores busy; with all"
        " of them one batch would take 10 ms in place of 20 ms",
    )


def test_elements_that_cost_less_than_handing_them_over_stay_in_the_process():
    quick = span(element_s=0.0002, element_cpu_s=0.0002)
    assert advice_of(facts(total=quick, kind="generator", stages=())) == ()


def test_what_quickfit_made_is_not_to_be_made_by_quickfit():
    python = stage("map(load)", runs_python=True)
    limit = Limit("stage", "", "map(load)")
    assert advice_of(facts(stages=(python,), limit=limit, is_ours=True)) == ()


def cacheable(**changes):
    """Return a stage whose elements are the same in every epoch."""
    more = {"is_random": False, "element_bytes": 150_000.0, "per_element": 32.0, **changes}
    return stage(parallelism=2.0, share=0.9, **more)


def test_a_cache_that_fits_is_told_with_its_size():
    said = advice_of(facts(stages=(cacheable(), stage("batch", "batch", share=0.1)), elements=100))
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
    assert advice_of(facts(**{"elements": 100, **changes})) == ()


def test_images_that_are_decoded_again_and_again_are_to_be_packed():
    said = advice_of(facts(folder="photos", limit=Limit("cores", "", None)))
    assert len(said) == 1
    assert said[0].startswith("quickfit pack photos photos.pack --as jpeg256: map(decode) is 90 %")


def test_a_shuffle_behind_costly_work_is_to_come_first():
    stages = (stage(share=0.9, parallelism=2.0), stage("shuffle(1000)", "shuffle", 1e-4, 0.0))
    said = advice_of(facts(stages=stages, first_s=8.0))
    assert said == (
        "shuffle before map(decode), where elements are small: filling the buffer behind it takes"
        " 8.0 s of every epoch",
    )


def test_on_a_busy_machine_it_is_only_to_be_measured_again():
    said = advice_of(facts(machine=machine(other_cores=1.0)))
    assert said == ("measure again when the machine is free: what others use is missing here",)


def test_the_length_of_a_pass_is_counted_before_it_is_believed():
    assert pass_length(99, 1, span(100)) == 100
    assert pass_length(99, 0, None) == 99
    assert pass_length(None, 0, None) is None
