"""The line that is named is the most telling one."""

from pathlib import Path

import pytest

from quickfit.findings import Location
from quickfit.recording.reader import ProcessRecording
from quickfit.signals.loops import Loop, loops_outside
from quickfit.signals.stacks import (
    CUT_DEPTH,
    GRAPH,
    TRACING,
    Frame,
    SampledStack,
    Samples,
    activity,
    hottest_user_line,
    is_in_fit,
)


def stack(seen, *frames):
    """Return a sampled stack of `file:line:function`s, innermost first; `lib` is a library."""
    made = []
    for text in frames:
        file, line, function = text.split(":")
        made.append(Frame(f"/home/me/{file}.py", int(line), function, file != "lib"))
    return SampledStack("main", tuple(made), seen)


@pytest.mark.parametrize(
    ("stacks", "line", "seen"),
    [
        pytest.param(
            [stack(80, "lib:1:resize", "images:5:load", "train:9:rows"), stack(20, "train:8:rows")],
            ("images", 5), 80, id="the innermost line of the user, in another module",
        ),
        pytest.param(
            [stack(40, "help:1:a", "train:9:hook"), stack(35, "help:5:b", "train:9:hook"),
             stack(25, "help:9:c", "train:9:hook")],
            ("train", 9), 100, id="the line that calls several helpers, not the slowest of them",
        ),
        pytest.param(
            [stack(30, "train:3:main", "train:9:<module>"),
             stack(25, "train:4:main", "train:9:<module>"),
             stack(25, "train:5:main", "train:9:<module>")],
            ("train", 3), 30, id="not the call of the one function that holds everything",
        ),
        pytest.param(
            [stack(30, "train:5:<genexpr>", "train:5:hook"), stack(25, "train:5:hook"),
             stack(45, "train:6:hook")],
            ("train", 5), 55, id="a comprehension is part of its line",
        ),
    ],
)  # fmt: skip
def test_the_most_telling_line_is_named(stacks, line, seen):
    frame, at_it, _ = hottest_user_line(stacks)
    assert (Path(frame.file).stem, frame.line, at_it) == (*line, seen)


def test_a_line_of_a_named_function_is_named_instead_of_what_it_calls():
    stacks = [stack(80, "images:5:load", "train:9:rows"), stack(20, "train:8:rows")]
    frame, seen, total = hottest_user_line(stacks, ["rows"])
    assert (frame.line, seen, total) == (9, 80, 100)


def test_a_method_that_a_library_has_written_belongs_to_the_line_that_calls_it():
    made = Frame("<string>", 2, "__init__", is_user=True)
    line = Frame("/home/me/train.py", 5, "rows", is_user=True)
    assert hottest_user_line([SampledStack("main", (made, line), 9)])[0] == line
    assert hottest_user_line([SampledStack("main", (made,), 9)])[0] == made, "python -c"


def test_stacks_without_a_line_of_the_user_name_none():
    assert hottest_user_line([stack(9, "lib:1:f")]) is None


def test_samples_of_a_loop_that_came_after_are_not_of_the_one_before():
    loops = [
        {"id": 1, "kind": "fit", "entered_s": 0.0, "begin_s": 0.1, "end_s": 10.0, "line": 5},
        {"id": 2, "kind": "evaluate", "entered_s": 4.0, "begin_s": 4.0, "end_s": 5.0, "line": 7},
        {"id": 3, "kind": "predict", "entered_s": 10.1, "begin_s": 10.1, "end_s": 20.0, "line": 9},
    ]
    rows = [{**row, "file": "train.py"} for row in loops]
    samples = [(5.0, 1, 10), (5.0, 2, 4), (10.4, 1, 3), (10.4, 3, 20), (10.4, None, 7)]
    tables = {
        "loops": rows,
        "frames": [{"id": 1, "file": "train.py", "line": 5, "function": "f", "is_user": 1}],
        "stacks": [{"id": 1, "role": "main", "frames": [1]}],
        "samples": [
            {"at_s": at_s, "stack": 1, "loop": loop, "seen": seen} for at_s, loop, seen in samples
        ],
    }
    process = ProcessRecording(Path("1.sqlite"), {}, tables)
    fit = Loop(1, "fit", None, 0.0, 0.1, None, 10.0, True, {})
    assert loops_outside(process, fit) == {3}
    again = {**rows[0], "id": 4, "entered_s": 21.0, "begin_s": 21.0, "end_s": None}
    rows.append(again)
    assert loops_outside(process, fit) == set(), "between two calls of one loop"
    (stack,) = Samples(process).between(0.0, 10.0, outside={3})
    assert stack.seen == 10 + 4 + 3


TEXTS = {
    5: "x = np.load(path)",
    6: "frame = pd.read_csv(path)",
    7: "time.sleep(3)",
    8: "image = Image.open(path)",
}
SITE = "/venv/lib/python3.11/site-packages"
KERAS = f"{SITE}/keras/src"


def locate(file, line):
    return Location(file, line, TEXTS.get(line, ""))


def user(line=7, function="<module>"):
    return Frame("/home/me/train.py", line, function, True)


def library(file, function="call"):
    return Frame(file, 1, function, False)


IMPORT = library("<frozen importlib._bootstrap>", "_find_and_load")
TRAINER = f"{KERAS}/backend/tensorflow/trainer.py"
LAYER = library(f"{KERAS}/layers/layer.py", "__call__")
SYMBOLIC = library(f"{KERAS}/ops/operation.py", "symbolic_call")
HANDLER = library(f"{KERAS}/utils/traceback_utils.py", "error_handler")
ADAPTER = library(f"{KERAS}/trainers/data_adapters/generator_data_adapter.py")


@pytest.mark.parametrize(
    ("frames", "name"),
    [
        ([IMPORT, user()], "imports"),
        ([library(f"{SITE}/numpy/core.py"), IMPORT, IMPORT, user()], "imports"),
        ([Frame("<string>", 1, "<module>", True), IMPORT, user()], "imports"),
        ([user(7), IMPORT, user(1)], "other"),
        ([user(5), IMPORT, user(1)], "data"),
        ([library(f"{SITE}/tensorflow/python/data/ops/map_op.py"), user()], "data"),
        ([library(f"{KERAS}/utils/image_dataset_utils.py"), user()], "data"),
        ([library(f"{SITE}/numpy/lib/_npyio_impl.py", "load"), user()], "data"),
        ([library(f"{SITE}/pandas/io/parsers.py"), user()], "data"),
        ([library("/usr/lib/python3.11/os.py", "walk"), user()], "data"),
        ([library("/usr/lib/python3.11/os.py", "getenv"), user()], "other"),
        ([library("/usr/lib/python3.11/glob.py"), user()], "data"),
        ([user(5)], "data"),
        ([user(6)], "data"),
        ([user(8)], "data"),
        ([user(7), user(9, "load_images")], "data"),
        ([user(7, "build_model")], "model"),
        ([library(f"{KERAS}/layers/core/dense.py", "build"), user()], "model"),
        ([library(f"{KERAS}/layers/core/dense.py", "__init__"), user()], "model"),
        ([library(f"{KERAS}/trainers/trainer.py", "compile"), user()], "model"),
        ([library(f"{KERAS}/layers/core/dense.py"), LAYER, user()], "calling"),
        ([library(f"{KERAS}/layers/core/dense.py"), SYMBOLIC, LAYER, user()], "model"),
        ([LAYER, user(9, "call"), SYMBOLIC, LAYER, user()], "model"),
        ([library(TRAINER, "evaluate"), HANDLER, user()], "evaluating"),
        ([ADAPTER, library(TRAINER, "predict"), HANDLER, user()], "predicting"),
        ([library(TRAINER, "function"), library(TRAINER, "fit"), HANDLER, user()], "other"),
        ([HANDLER, user()], "iterator_ends"),
        ([library(f"{KERAS}/optimizers/base_optimizer.py", "apply"), user()], "other"),
        ([user(7, "train_model")], "other"),
        ([library(f"{SITE}/tensorflow/python{TRACING}"), user()], "tracing"),
        ([user(), library(f"{SITE}/tensorflow/python{TRACING}"), user(9)], "tracing"),
        (
            [
                library(f"{SITE}/tensorflow/python{TRACING}"),
                library(f"{SITE}/tensorflow/python/data/ops/structured_function.py"),
                user(),
            ],
            "data",
        ),
        ([library(f"{SITE}{GRAPH}")] * CUT_DEPTH, "tracing"),
        ([user(), ADAPTER, user(9)], "first_batch"),
        ([ADAPTER, user()], "data"),
        ([user()], "other"),
        ([], "other"),
    ],
)
def test_a_stack_is_told_by_what_the_users_innermost_line_calls(frames, name):
    assert activity(frames, locate).name == name


def test_the_users_innermost_line_is_named():
    assert activity([ADAPTER, user(7), user(9)], locate).line == user(7)
    assert activity([IMPORT], locate).line is None


def test_fit_is_known_by_its_file():
    fit = library(f"{KERAS}/backend/tensorflow/trainer.py", "fit")
    assert is_in_fit([fit, user()])
    assert not is_in_fit([user(7, "fit")])
