"""Reasons in TensorFlow: buffers that fill, endless data, tracing, compiling, long steps."""

import dataclasses

import pytest

from quickfit.liveness.in_tensorflow import (
    all_filtered,
    cache_fill,
    compiling,
    endless_input,
    huge_images,
    shuffle_fill,
    slow_step,
    unrolled_loop,
)
from quickfit.liveness.scene import Machine
from scenes import (
    MOVING,
    SCRIPT,
    SOURCE,
    STUCK,
    TWINS,
    at,
    fit,
    generator,
    library,
    main_in_fit,
    scene,
    stage,
    thread,
    user,
)

SCENES = {**STUCK, **MOVING}


def changed(name, **given):
    return dataclasses.replace(SCENES[name], **given)


def restaged(name, place, **given):
    stages = list(SCENES[name].stages)
    stages[place] = dataclasses.replace(stages[place], **given)
    return changed(name, stages=tuple(stages))


# -- buffers ------------------------------------------------------------------------------------


def test_a_shuffle_that_fills_is_told_with_how_far_it_is():
    found = shuffle_fill(MOVING["shuffle-buffer-too-big"])
    assert found.where == at(".shuffle(70_000)")
    assert "46,432 of 70,000, 9.4 s more" in found.summary
    assert found.moves


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"buffered_per_s": 0.0}, id="it is full"),
        pytest.param({"per_s": 2000.0}, id="it gives as it takes"),
        pytest.param({"kind": "prefetch"}, id="it is no shuffle"),
    ],
)
def test_a_shuffle_is_not_being_filled_when(given):
    assert shuffle_fill(restaged("shuffle-buffer-too-big", 1, **given)) is None


def test_a_cache_that_fills_before_the_first_batch_is_told_with_how_far_it_is():
    found = cache_fill(MOVING["cache-fill"])
    assert found.where == at(".cache()")
    assert "3,000 of 12,000 elements, 45 s more" in found.summary
    assert found.moves


def test_a_cache_from_which_batches_come_keeps_nobody_waiting():
    assert cache_fill(restaged("cache-fill", 0, per_s=6.0)) is None


def test_a_small_shuffle_behind_a_cache_is_not_the_caches_doing():
    assert cache_fill(restaged("cache-fill", 1, size=500)) is None


# -- filters ------------------------------------------------------------------------------------


def test_a_filter_that_drops_all_is_told_with_how_many():
    found = all_filtered(STUCK["empty-input, filtered"])
    assert (found.cause, found.where) == ("empty-input", at(".filter("))
    assert "none of 9,000 elements" in found.summary
    assert found.is_certain


def test_a_filter_that_has_dropped_some_hundred_is_given_half_a_minute():
    some = restaged("empty-input, filtered", 2, elements=600)
    assert all_filtered(some).is_certain is False
    assert all_filtered(dataclasses.replace(some, quiet_s=31.0)).is_certain


def test_a_filter_that_lets_one_through_is_not_told():
    assert all_filtered(TWINS["empty-input, filtered"]) is None


def test_a_filter_that_has_seen_little_is_not_told():
    assert all_filtered(restaged("empty-input, filtered", 2, elements=150)) is None


# -- endless data -------------------------------------------------------------------------------


def test_endless_training_data_without_steps_is_told_at_the_fit_with_the_repeat():
    found = endless_input(STUCK["infinite-input-no-steps"])
    assert (found.where, found.also) == (at("model.fit("), at(".repeat()"))
    assert "the epoch never ends" in found.summary
    assert "`steps_per_epoch` is not given" in found.summary
    assert found.is_certain


def test_endless_validation_data_is_told_with_the_batches_so_far():
    loop = fit(phase="validation", facts={"steps": 100, "steps_per_epoch": 100})
    found = endless_input(changed("infinite-input-no-steps", loop=loop))
    assert "the validation never ends" in found.summary
    assert found.evidence[0].value == 900


def test_an_endless_generator_is_told_beside_the_fit():
    given = {"stages": (), "inputs": (generator(batches=900),)}
    found = endless_input(changed("infinite-input-no-steps", **given))
    assert found.also == at("def batches")


@pytest.mark.parametrize(
    "facts",
    [{"steps_per_epoch": 100}, {"steps": 100}],
    ids=["steps_per_epoch", "steps, known before the first one"],
)
def test_an_epoch_with_a_number_of_steps_ends(facts):
    loop = fit(steps=900, lasted_s=600.0, facts=facts)
    assert endless_input(changed("infinite-input-no-steps", loop=loop)) is None


def test_a_validation_with_a_number_of_steps_ends():
    loop = fit(phase="validation", facts={"validation_steps": 10})
    assert endless_input(changed("infinite-input-no-steps", loop=loop)) is None


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"loop": None}, id="no loop"),
        pytest.param({"loop": dataclasses.replace(fit(), kind="custom")}, id="the script's own"),
        pytest.param({"stages": ()}, id="nothing is known of the data"),
        pytest.param({"still_s": 9.0}, id="the data no longer comes"),
        pytest.param(
            {"sources": {SCRIPT: SOURCE + "self.model.stop_training = True\n"}},
            id="a callback may end it",
        ),
    ],
)
def test_an_epoch_is_not_called_endless_with(given):
    assert endless_input(changed("infinite-input-no-steps", **given)) is None


@pytest.mark.parametrize("cardinality", [-2, 500])
def test_data_that_ends_or_may_end_is_not_called_endless(cardinality):
    assert endless_input(restaged("infinite-input-no-steps", 0, cardinality=cardinality)) is None


def test_slow_steps_over_endless_data_still_come():
    given = changed("infinite-input-no-steps", still_s=9.0, longest_s=8.0)
    assert endless_input(given) is not None


def test_an_endless_epoch_is_certain_only_after_a_while():
    given = changed("infinite-input-no-steps", loop=fit(lasted_s=3.0))
    assert endless_input(given).is_certain is False


# -- tracing ------------------------------------------------------------------------------------


def test_an_unrolled_loop_is_told_at_the_loop():
    found = unrolled_loop(STUCK["python-loop-unrolled"])
    assert found.where == at("for i in range")
    assert "31,000 operations so far" in found.summary
    assert (found.is_certain, found.moves) == (True, True)


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"operations": 400}, id="a small graph"),
        pytest.param({"since_s": 995.0}, id="a short trace"),
        pytest.param({"place": None}, id="no line of the user's"),
        pytest.param({"place": at("return state")}, id="no loop"),
    ],
)
def test_no_loop_is_unrolled_with(given):
    tracing = dataclasses.replace(STUCK["python-loop-unrolled"].tracing, **given)
    assert unrolled_loop(changed("python-loop-unrolled", tracing=tracing)) is None


# -- the first batch and the first step ----------------------------------------------------------


def test_a_batch_of_large_images_is_told_with_how_far_it_is():
    found = huge_images(MOVING["decode-full-size"])
    assert (found.cause, found.moves) == ("decode-full-size", True)
    assert "40 of 256 elements, 54 s more" in found.summary


def test_a_map_is_known_by_its_text_where_its_operations_are_not():
    facts = {"function_file": SCRIPT, "function_line": 1}
    named = {SCRIPT: "def load(path):\n    return cv2.imread(path)\n"}
    given = restaged("decode-full-size", 1, facts=facts)
    assert huge_images(given) is None
    assert huge_images(dataclasses.replace(given, sources=named)) is not None


def test_compiling_and_a_long_step_need_a_busy_machine():
    idle = {"machine": Machine(cores=0.1)}
    assert compiling(changed("xla-first-compile", **idle)) is None
    assert slow_step(changed("slow-step", **idle)) is None


def test_a_step_is_timed_from_the_end_of_its_tracing():
    """The first step of a run is also its imports, its model and its tracing to the silence."""
    found = slow_step(changed("slow-step", quiet_s=48.0, still_s=7.0))
    assert found.summary == "one step takes more than 7.0 s"
    assert found.lasted_s == 7.0


def test_a_long_step_is_told_with_the_longest_before():
    found = slow_step(MOVING["slow-step"])
    assert found.summary == "one step takes more than 20 s"
    assert found.evidence[1].detail == "the longest before took 15 s"


def test_python_code_between_steps_is_no_long_step():
    main = thread("main", library("json/encoder.py"), user("text = open", "on_epoch_end"))
    assert slow_step(changed("slow-step", threads=(main,))) is None


def test_a_pipeline_that_gives_nothing_and_takes_nothing_fills_nothing():
    stages = (stage("batch", 0, 0.0, size=32), stage("map", 0, 0.0))
    given = scene(loop=fit(), threads=(main_in_fit(),), stages=stages)
    for mechanism in (shuffle_fill, cache_fill, huge_images, all_filtered):
        assert mechanism(given) is None


# -- neighbours ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mechanism", "own"),
    [
        (cache_fill, "cache-fill"),
        (all_filtered, "empty-input, filtered"),
        (endless_input, "infinite-input-no-steps"),
        (unrolled_loop, "python-loop-unrolled"),
        (huge_images, "decode-full-size"),
        (compiling, "xla-first-compile"),
    ],
)
def test_a_mechanism_stays_silent_on_the_scenes_of_all_others(mechanism, own):
    told = {name for name, one in SCENES.items() if mechanism(one) is not None}
    assert told == {own}
    assert not [name for name, one in TWINS.items() if mechanism(one) is not None]
