"""What a recording says about the places of settings, and the settings that can be tried."""

import pytest

from fixing.setting_runs import SOURCE, recording, watched
from quickfit.code.edits import apply_edits
from quickfit.fixing import setting_candidates
from quickfit.fixing.setting_candidates import (
    EAGER,
    NO_FIT,
    NO_MAIN,
    UNSCALED,
    UNSEEN,
    Watched,
    script_candidates,
    script_training,
)
from quickfit.tuning.advice.change_table import ChangeKind
from quickfit.tuning.trials.settings import Setting

from builders import COMPILE_LINE, SCRIPT, START_S


def of_kind(kind, found):
    """Return the candidates of a kind."""
    return [one for one in script_candidates(found) if one.kind is kind]


def xla_candidate(found):
    return of_kind(ChangeKind.XLA, found)[0]


def step_candidates(found):
    return of_kind(ChangeKind.STEPS, found)


def batch_candidates(found):
    return of_kind(ChangeKind.BATCH, found)


def test_the_training_as_it_is_is_read_from_the_recording():
    found = script_training(watched())
    assert (found.batch, found.epoch_steps, watched().steps_left) == (32, 100, 300)
    assert abs(found.step_s - 0.1) < 0.01


def test_a_step_of_several_batches_is_taken_apart():
    found = script_training(watched(loop={"steps_per_execution": 4}))
    assert abs(found.step_s - 0.025) < 0.003


def test_what_was_not_recorded_is_not_known():
    found = watched(steps=1, loop={"steps": None, "epochs": None}, with_model=False)
    assert (found.batch_s, found.epoch_steps, found.steps_left) == (None, None, None)


def test_the_call_of_compile_is_the_one_of_the_model_that_trains():
    assert watched().compiled_at.line == COMPILE_LINE


def test_a_model_that_nobody_saw_compiled_has_no_place():
    loop = {"compile_file": None, "compile_line": None}
    assert watched(loop=loop).compiled_at is None


def test_a_loop_of_train_on_batch_has_the_only_call_of_compile():
    loop = {"compile_file": None, "compile_line": None}
    assert watched(kind="train_on_batch", loop=loop).compiled_at.line == COMPILE_LINE
    pattern = SOURCE.replace("import keras\n", 'import re, keras; re.compile("x")\n')
    assert watched(pattern, kind="train_on_batch", loop=loop).compiled_at.line == COMPILE_LINE
    two = SOURCE + 'other.compile("sgd")\n'
    assert watched(two, kind="train_on_batch", loop=loop).compiled_at is None


def test_the_file_that_is_run_is_found_by_its_path():
    assert watched().main.path == SCRIPT


def test_the_file_of_a_module_is_found_by_its_name():
    texts = {"/code/pkg/train.py": "x = 1\n", "/code/other/train.py": "x = 2\n"}
    run = {"script": "/nowhere", "module": "pkg.train"}
    assert Watched(recording(run=run), texts).main.path == "/code/pkg/train.py"
    package = {"/code/pkg/train/__main__.py": "x = 1\n"}
    assert Watched(recording(run=run), package).main.path == "/code/pkg/train/__main__.py"


def test_a_file_that_has_changed_is_not_there():
    found = Watched(recording(), {})
    assert (found.main, found.script(found.compiled_at)) == (None, None)


MODEL = SOURCE.replace(
    "ds = files", "model = keras.Sequential([keras.layers.Dense(1)]); ds = files"
)


@pytest.fixture(autouse=True)
def _old_cpu(monkeypatch):
    """A CPU without units for 16 bits, whatever the tests run on."""
    monkeypatch.setattr(setting_candidates, "read_cpu", lambda: (frozenset({"avx2"}), "Some CPU"))


def named(candidates):
    return {one.name: one for one in candidates}


def test_everything_is_offered_in_the_order_of_trying():
    assert [one.name for one in script_candidates(watched(step_s=0.002))] == [
        "32 steps per call",
        "8 steps per call",
        "batch 64 (×2)",
        "batch 128 (×4)",
        "mixed_bfloat16",
        "XLA (jit_compile)",
        "inter-op threads 1",
        "intra-op threads 1",
    ]


def test_threads_are_set_in_the_file_that_is_run():
    candidates = named(script_candidates(watched(facts={"usable_cores": 8.0})))
    assert candidates["intra-op threads 4"].setting == Setting(intra_threads=4)
    after = apply_edits(SOURCE, candidates["inter-op threads 1"].edit.edits)
    assert after.startswith(
        "import tensorflow as tf\ntf.config.threading.set_inter_op_parallelism_threads(1)\n"
    )


def test_one_core_needs_no_threads():
    candidates = named(script_candidates(watched(facts={"usable_cores": 1.0})))
    assert candidates["threads"].reason == "there is one core, and threads share it"


def test_without_units_for_16_bits_precision_is_not_offered():
    said = named(script_candidates(watched()))["mixed_bfloat16"].reason
    assert said.startswith("this CPU has no units for 16 bits (Some CPU")
    assert said.endswith("--try precision measures it all the same")


def test_precision_is_offered_where_it_is_asked_for():
    found = named(script_candidates(watched(MODEL), frozenset({"precision"})))["mixed_bfloat16"]
    assert found.kind is ChangeKind.PRECISION
    assert 'set_dtype_policy("mixed_bfloat16")' in apply_edits(MODEL, found.edit.edits)


def test_precision_is_offered_on_a_gpu():
    devices = [["CPU", "/physical_device:CPU:0"], ["GPU", "/physical_device:GPU:0"]]
    found = watched(MODEL, facts={"tensorflow_devices": devices})
    assert named(script_candidates(found))["mixed_float16"].edit is not None


def test_float16_in_a_loop_of_its_own_needs_loss_scaling():
    devices = [["GPU", "/physical_device:GPU:0"]]
    found = watched(MODEL, kind="custom", facts={"tensorflow_devices": devices})
    assert named(script_candidates(found))["mixed_float16"].reason == UNSCALED


def test_without_the_file_that_is_run_there_is_no_place_for_threads():
    found = Watched(recording(run={"script": "/gone.py"}), {"/other.py": SOURCE})
    assert (
        named(script_candidates(found, frozenset({"precision"})))["mixed_bfloat16"].reason
        == NO_MAIN
    )
    assert named(script_candidates(found))["inter-op threads 1"].reason == NO_MAIN


def text_of(candidate, text=SOURCE):
    return apply_edits(text, candidate.edit.edits)


def test_xla_is_offered_where_the_model_is_compiled():
    assert 'model.compile("adam", loss="mse", jit_compile=True)' in text_of(
        xla_candidate(watched())
    )


def test_steps_are_offered_the_larger_number_first():
    candidates = step_candidates(watched(step_s=0.002))
    assert [one.name for one in candidates] == ["32 steps per call", "8 steps per call"]
    assert "steps_per_execution=32)" in text_of(candidates[0])
    assert "steps_per_execution=8)" in text_of(candidates[1])


@pytest.mark.parametrize(
    ("given", "why"),
    [
        pytest.param({"eager": True}, EAGER, id="eager"),
        pytest.param({"loop": {"jit_compile": True}}, "XLA compiles the step already", id="on"),
        pytest.param({"loop": {"compile_line": None}}, UNSEEN, id="loaded"),
        pytest.param(
            {"loop": {"compile_file": "/usr/lib/net.py"}},
            "net.py:16 is in a file that is not yours, or has changed since it was run",
            id="in a library",
        ),
        pytest.param({"kind": "custom"}, "this loop calls no `tf.function`", id="an eager loop"),
    ],
)
def test_xla_is_not_offered_where(given, why):
    assert xla_candidate(watched(**given)).reason.startswith(why)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        pytest.param({"eager": True}, EAGER, id="eager"),
        pytest.param({"kind": "custom"}, NO_FIT, id="no fit"),
        pytest.param({"loop": {"compile_line": None}}, UNSEEN, id="loaded"),
        pytest.param(
            {"loop": {"steps_per_execution": 64}},
            "the script runs 64 steps per call already",
            id="more already",
        ),
        pytest.param({"loop": {"steps": 20}}, "an epoch has only 20 steps", id="short epochs"),
    ],
)
def test_steps_are_not_offered_where(given, why):
    assert step_candidates(watched(step_s=0.002, **given))[0].reason == why


def test_steps_are_not_offered_where_python_takes_nothing():
    said = step_candidates(watched(step_s=0.2))[0].reason
    assert said.startswith("Python takes only 2")
    assert said.endswith("of a step of 200 ms, so that fewer calls gain nothing")


def test_after_a_single_step_python_may_take_anything():
    assert step_candidates(watched(step_s=0.2, steps=1))[0].edit is not None


LOOP = "import tensorflow as tf\n\n@tf.function\ndef step(x):\n    return x\n\nstep(1)\n"


def custom(text=LOOP, *, name="step", line=3, file=SCRIPT):
    """Return a loop of the script that calls one compiled function."""
    found = recording(text, kind="custom")
    call = {"loop": 1, "kind": "function", "file": SCRIPT, "line": 7, "name": name, "calls": 9}
    found.main.tables["calls"] = [{**call, "wall_s": 1.0, "cpu_s": None, "longest_s": 0.5}]
    trace = {"at_s": START_S, "duration_s": 0.1, "name": "step", "file": file, "line": line}
    trace |= {"caller_file": SCRIPT, "caller_line": 7, "ops": 9, "signature": "", "function": 1}
    found.main.tables["traces"] = [{**trace, "nested": 0, "loop": None, "arguments": None}]
    return Watched(found, {SCRIPT: text})


def test_the_function_that_a_loop_calls_is_compiled():
    after = text_of(xla_candidate(custom()), LOOP)
    assert after == LOOP.replace("@tf.function", "@tf.function(jit_compile=True)")


def test_a_function_of_a_library_is_left_alone():
    assert "is in a file that is not yours" in xla_candidate(custom(file="/usr/lib/x.py")).reason


def test_a_function_without_a_place_is_told():
    said = xla_candidate(custom(name="other")).reason
    assert said == "where the compiled function `other` is written was not seen"


ARRAYS = {"input": "arrays", "with_model": False, "loop": {"batch_size": 32}}


def test_twice_and_four_times_as_many_are_offered():
    candidates = batch_candidates(watched())
    assert [(one.name, one.setting.batch) for one in candidates] == [
        ("batch 64 (×2)", 64),
        ("batch 128 (×4)", 128),
    ]
    assert [apply_edits(SOURCE, one.edit.edits) for one in candidates] == [
        SOURCE.replace("batch(32)", "batch(64)"),
        SOURCE.replace("batch(32)", "batch(128)"),
    ]


def test_arrays_get_a_size_in_fit():
    first = batch_candidates(watched(**ARRAYS))[0]
    assert "model.fit(ds, epochs=3, batch_size=64)" in apply_edits(SOURCE, first.edit.edits)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        pytest.param(
            {"loop": {"steps": 3}},
            "an epoch would have only 2 updates, and fewer than 20 make it another training",
            id="hardly any data",
        ),
        pytest.param(
            {"input": "generator", "with_model": False, "loop": {"batch_size": 32}},
            "the batches come from a generator: make them larger there by hand",
            id="a generator",
        ),
        pytest.param(
            {"input": "arrays", "with_model": False},
            "how many examples a step has was not seen",
            id="unseen",
        ),
    ],
)
def test_more_examples_are_not_offered_where(given, why):
    assert batch_candidates(watched(**given))[0].reason == why


def test_an_epoch_of_four_times_as_many_still_has_twenty_steps():
    candidates = batch_candidates(watched(loop={"steps": 79 - 4}))
    assert [one.edit is not None for one in candidates] == [True, False]


def test_a_file_that_has_changed_is_left_alone():
    candidates = batch_candidates(Watched(recording(), {"/elsewhere.py": "x = 1\n"}))
    assert (
        candidates[0].reason
        == "where batches are made is not in a file of yours, or it has changed"
    )
    assert SCRIPT not in candidates[0].reason
