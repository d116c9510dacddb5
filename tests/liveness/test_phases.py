"""What a run is doing, in words, with how far it is."""

import dataclasses

import pytest

from quickfit.liveness.phases import Phase, phase
from quickfit.liveness.scene import Frame, Tracing
from scenes import (
    EXECUTE,
    FIT,
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
    making,
    scene,
    stage,
    thread,
    user,
)

LAYER_CALL = library("keras/src/layers/layer.py", "__call__")
ADAPTER = "keras/src/trainers/data_adapters/generator_data_adapter.py"


def told(**given):
    return str(phase(scene(**given)))


@pytest.mark.parametrize(
    ("frames", "text"),
    [
        pytest.param(
            (library("importlib_metadata.py"),),
            "before the first training step — train.py:1",
            id="a library that is named like an import",
        ),
        pytest.param(
            (library("site-packages/pandas/io/parsers.py"),), "getting the data ready — train.py:1"
        ),
        pytest.param(
            (library("keras/src/layers/layer.py", "build"),), "building the model — train.py:1"
        ),
        pytest.param((library("json/encoder.py"),), "before the first training step — train.py:1"),
    ],
)
def test_before_the_loop_the_stack_tells(frames, text):
    main = thread("main", *frames, user("import tensorflow", "<module>"))
    assert told(threads=(main,)) == text


def test_importing_is_told():
    main = thread(
        "main",
        dataclasses.replace(library("x"), file="<frozen importlib._bootstrap>"),
        user("import tensorflow", "<module>"),
    )
    assert told(threads=(main,)) == "importing modules — train.py:1"


def test_a_process_that_does_not_answer_is_told():
    assert "does not answer" in told(is_answering=False)


def test_a_run_without_a_stack_is_starting():
    assert told() == "starting"


def test_tracing_is_told_with_the_operations_so_far():
    tracing = Tracing("train_step", at("state = state + 1"), 990.0, 1200, 310.0)
    assert told(tracing=tracing) == "tracing `train_step`: 1,200 operations, 310/s — train.py:24"


def test_one_operation_is_one():
    tracing = Tracing("sample_action", at("state = state + 1"), 990.0, 1, 0.0)
    assert told(tracing=tracing) == "tracing `sample_action`: 1 operation — train.py:24"


RETURNING = thread(
    "main",
    library("keras/src/utils/traceback_utils.py", "error_handler"),
    user("model.fit(", "<module>"),
)


@pytest.mark.parametrize("given", [{}, {"loop": fit(steps=20)}], ids=["after it", "in it"])
def test_a_fit_that_has_ended_and_has_not_returned_ends_its_iterators(given):
    text = told(**given, steps=20, threads=(RETURNING,))
    assert text == "this call ends: TensorFlow shuts its iterators down — train.py:33"


@pytest.mark.parametrize(
    ("inner", "text"),
    [
        (("keras/src/trainers/epoch_iterator.py", "_enumerate_iterator"), "between epochs"),
        ((FIT[0], "evaluate"), "validating"),
        (
            ("keras/src/callbacks/callback_list.py", "on_epoch_end"),
            "callbacks run (`on_epoch_end`)",
        ),
    ],
)
def test_after_the_last_step_of_an_epoch_it_is_said_what_fit_does(inner, text):
    loop = fit(steps=20, epoch_steps=10, facts={"steps": 10, "epochs": 3})
    main = main_in_fit(library(*inner))
    assert told(loop=loop, steps=20, threads=(main,)) == f"{text} — train.py:33"


def test_within_an_epoch_it_is_between_two_steps():
    loop = fit(steps=14, epoch_steps=4, facts={"steps": 10})
    assert told(loop=loop, steps=14, threads=(main_in_fit(),)).startswith("between two steps")


@pytest.mark.parametrize("given", [{"loop": fit()}, {}], ids=["begun", "entered"])
def test_the_start_of_a_second_loop_is_not_before_the_first_training_step(given):
    text = told(**given, steps=120, threads=(main_in_fit(),))
    assert text == "before the first step of this loop — train.py:33"


def test_a_script_that_has_ended_is_not_starting():
    text = "the script has ended; Python and TensorFlow shut down"
    assert told(steps=9, ended_s=990.0) == text
    assert told(steps=9, ended_s=990.0, is_answering=False) == text
    assert "starting" not in told(steps=9)


@pytest.mark.parametrize(
    ("file", "function"),
    [
        ("site-packages/tensorflow/python/checkpoint/restore.py", "<module>"),
        ("work/checkpoint/tools.py", "save"),
        ("keras/src/saving/object_registration.py", "get_registered_name"),
    ],
)
def test_what_only_lies_where_saving_does_is_not_saving(file, function):
    main = main_in_fit(library(file, function))
    assert phase(scene(loop=fit(), threads=(main,))).name != "saving"


def test_turns_are_counted_over_the_dataset_that_is_gone_through_now():
    stages = (stage("map", 400, 430.0, cardinality=400),)
    loop = fit(steps=1600, epoch_steps=300, per_s=100.0, facts={"trains": False})
    text = told(loop=loop, stages=stages)
    assert text.startswith("a loop that does not train goes round: 300 of 400 turns")
    loop = dataclasses.replace(loop, epoch_steps=500)
    assert "goes round: 1,600 turns" in told(loop=loop, stages=stages)


@pytest.mark.parametrize(
    ("frames", "text"),
    [
        ((library(FIT[0], "evaluate"),), "evaluating"),
        ((library(FIT[0], "predict"),), "predicting"),
        (
            (library("keras/src/layers/core/dense.py"), LAYER_CALL),
            "calling the model",
        ),
    ],
)
def test_running_a_model_before_training_is_not_building_it(frames, text):
    main = thread("main", *frames, user("text = ", "<module>"))
    assert told(threads=(main,)) == f"{text} — train.py:28"


def test_saving_inside_a_loop_is_told():
    main = main_in_fit(library("keras/src/saving/saving_lib.py", "save_model"))
    assert told(loop=fit(steps=5), steps=5, threads=(main,)) == "saving the model — train.py:33"


def test_filling_a_shuffle_buffer_counts_to_what_the_data_has():
    stages = list(MOVING["shuffle-buffer-too-big"].stages)
    stages[1] = dataclasses.replace(stages[1], cardinality=50_000)
    text = told(loop=fit(), stages=tuple(stages))
    assert (
        text
        == "filling the shuffle buffer: 46,432 of 50,000, 2,500/s, ready in 1.4 s — train.py:30"
    )


def test_filling_a_cache_is_told_before_the_shuffle_behind_it_that_takes_all():
    text = str(phase(MOVING["cache-fill"]))
    assert text == "filling the cache: 3,000 of 12,000 elements, 200/s, ready in 45 s — train.py:30"


def test_a_small_shuffle_behind_a_cache_is_what_fills():
    stages = list(MOVING["cache-fill"].stages)
    stages[1] = dataclasses.replace(stages[1], size=4000)
    assert phase(scene(loop=fit(), stages=tuple(stages))).name == "shuffle-fill"


def test_validation_counts_its_batches():
    stages = (stage("batch", 40, 4.0, cardinality=100),)
    loop = fit(phase="validation", steps=100)
    text = told(loop=loop, stages=stages, steps=100)
    assert text == "validating: 40 of 100 batches, 4.0/s, ready in 15 s — train.py:33"
    loop = fit(phase="validation", facts={"validation_steps": 60})
    assert "40 of 60 batches" in told(loop=loop, stages=stages)


def test_waiting_for_a_generator_is_told_with_its_line():
    maker = making(user("image = load(path)"))
    given = {"loop": fit(), "threads": (main_in_fit(), maker)}
    text = told(**given, inputs=(generator(batches=5),))
    assert text == "waiting for batch 6 of `batches` — train.py:7"
    assert phase(scene(**given)).name == "first-batch"


def test_the_first_batch_that_keras_looks_at_is_told():
    peek = (user("image = load(path)"), library(ADAPTER, "peek_and_restore"))
    main = thread("main", *peek, user("model.fit(", "<module>"))
    assert "waiting for the first batch" in told(threads=(main,))


def test_a_batch_that_is_being_made_counts_its_elements():
    text = str(phase(MOVING["decode-full-size"]))
    assert text == "making the first batch: 40 of 256 elements, 4.0/s, ready in 54 s — train.py:29"
    later = dataclasses.replace(MOVING["decode-full-size"], steps=9)
    assert str(phase(later)).startswith("making the next batch")


def test_a_step_and_its_compilation_are_told():
    assert str(phase(MOVING["slow-step"])) == "step 5 runs — train.py:33"
    assert str(phase(MOVING["xla-first-compile"])) == "compiling with XLA — train.py:33"


def test_between_and_after_loops_the_users_line_is_told():
    main = thread("main", library("json/encoder.py"), user("pool = ", "on_epoch_end"))
    assert told(loop=fit(steps=5), steps=5, threads=(main,)) == "between two steps — train.py:31"
    after = "after the training loop: `pool = multiprocessing.Pool(4)` — train.py:31"
    assert told(steps=5, threads=(main,)) == after


@pytest.mark.parametrize(
    "inner",
    ["keras/src/models/model.py", "pandas/core/frame.py", "json/encoder.py"],
    ids=["Keras", "data", "anything"],
)
def test_after_training_nothing_is_said_to_be_built_or_got_ready(inner):
    """Writing results and predicting look like building a model and reading data."""
    main = thread("main", library(inner), user("text = open(", "<module>"))
    text = told(steps=1, threads=(main,))
    assert text == """after the training loop: `text = open("data.csv").read()` — train.py:28"""


def test_a_long_line_is_not_repeated_as_a_whole():
    source = SOURCE.replace("text = open(", "text = some_long_name_of_a_function_of_theirs(open(")
    main = thread("main", user("text = ", "<module>", source))
    text = told(steps=3, threads=(main,), sources={SCRIPT: source})
    assert '`text = some_long_name_of_a_function_of_theirs(open("data.cs…`' in text


def test_generated_code_is_not_the_users_line():
    """What a namedtuple generates runs while its module is imported."""
    main = thread(
        "main",
        Frame("<string>", 1, "<module>", True),
        Frame("<frozen importlib._bootstrap>", 1, "_load", False),
        user("import tensorflow", "<module>"),
    )
    assert told(threads=(main,)).endswith("— train.py:1")


def test_what_is_imported_and_awaited_after_training_is_told_as_before():
    importing = thread("main", Frame("<frozen importlib._bootstrap>", 1, "_load", False))
    assert told(steps=5, threads=(importing,)).startswith("importing modules")


def test_inside_a_loop_keras_does_not_build_the_model():
    main = main_in_fit(library("keras/src/utils/progbar.py"))
    assert told(loop=fit(steps=5), steps=5, threads=(main,)).startswith("between two steps")
    assert told(loop=fit(), threads=(main,)).startswith("before the first training step")


@pytest.mark.parametrize("name", [*STUCK])
def test_every_stuck_scene_has_a_phase(name):
    assert str(phase(STUCK[name]))


@pytest.mark.parametrize("name", [*TWINS])
def test_every_slow_scene_has_a_phase(name):
    assert str(phase(TWINS[name]))


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ({"done": 10, "total": 110, "per_s": 10.0}, 10.0),
        ({"done": 120, "total": 110, "per_s": 10.0}, 0.0),
        ({"done": 10, "total": None, "per_s": 10.0}, None),
        ({"done": None, "total": 110, "per_s": 10.0}, None),
        ({"done": 10, "total": 110, "per_s": 0.0}, None),
        ({"done": 10, "total": 10**12, "per_s": 1.0}, None),
    ],
)
def test_the_time_left_is_told_only_where_it_is_known(given, left):
    assert Phase("x", "y", **given).left_s == left


def test_a_counter_that_stands_still_has_no_rate():
    assert str(Phase("x", "reading", done=5, total=9)) == "reading: 5 of 9"


def test_a_compiled_function_outside_a_loop_is_told():
    main = thread("main", library(*EXECUTE), user("text = ", "<module>"))
    assert told(threads=(main,)) == "a compiled function runs — train.py:28"
