"""A stack tells what a script was doing: importing, loading data, building a model, tracing."""

import pytest

from quickfit.findings import Location
from quickfit.signals.host import Frame
from quickfit.signals.stack_phases import CUT_DEPTH, GRAPH, TRACING, activity, is_in_fit

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
