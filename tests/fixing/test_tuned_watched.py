"""What a recording says about the places where settings are made."""

from fixing.tuned_runs import SOURCE, recording, watched
from quickfit.fixing.tuned_watched import Watched, training_of

from builders import COMPILE_LINE, SCRIPT


def test_the_training_as_it_is_is_read_from_the_recording():
    found = training_of(watched())
    assert (found.batch, found.epoch_steps, found.steps_left) == (32, 100, 300)
    assert abs(found.batch_s - 0.1) < 0.01


def test_whoever_knows_how_many_steps_are_left_is_believed():
    assert training_of(watched(), 7).steps_left == 7


def test_a_step_of_several_batches_is_taken_apart():
    found = training_of(watched(loop={"steps_per_execution": 4}))
    assert abs(found.batch_s - 0.025) < 0.003


def test_what_nobody_recorded_is_not_known():
    found = training_of(watched(steps=1, loop={"steps": None, "epochs": None}, with_model=False))
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
