"""Which line of the user is behind a call of tf.data, and who made it for them."""

import sys

import pytest

from quickfit.probes._written import MAX_VIA, written

TF_DATA = "/env/site-packages/tensorflow/python/data/ops/dataset_ops.py"
KERAS = "/env/site-packages/keras/src/utils/image_dataset_utils.py"


def code(file, text, **names):
    """Return the namespace of code that lies in a file."""
    space = {"__name__": file.removesuffix(".py").rpartition("/")[2], **names}
    exec(compile(text, file, "exec"), space)
    return space


def ask():
    return written(sys._getframe(1))


@pytest.fixture
def dataset():
    """Return functions as those of tf.data; the second stands for a class."""
    text = "def map(*_):\n    return __init__()\ndef __init__():\n    return ask()"
    return code(TF_DATA, text, ask=ask)


def user(text, **names):
    return code("/home/user/train.py", text, **names)


def test_the_line_that_calls_tf_data_is_found(dataset):
    found = user("\n\nds = map(\n    1,\n)", map=dataset["map"])["ds"]
    assert (found.place.file, found.place.line) == ("/home/user/train.py", 3)
    assert (found.call, found.made_in, found.inside) == ("map", "", None)


def test_a_class_that_is_called_is_known_by_its_kind(dataset):
    assert user("ds = make()", make=dataset["__init__"])["ds"].call == ""


def test_what_a_library_makes_for_the_user_is_on_the_users_line(dataset):
    library = code(KERAS, "def load():\n    return map(1)", map=dataset["map"])
    found = user("\nds = load()", load=library["load"])["ds"]
    assert found.place.line == 2
    assert (found.call, found.made_in) == ("load", "image_dataset_utils")


def test_what_only_passes_a_call_on_made_nothing(dataset):
    file = "/env/site-packages/tensorflow/python/util/deprecation.py"
    passing = code(file, "def new_func():\n    return map(1)", map=dataset["map"])
    found = user("\nds = old()", old=passing["new_func"])["ds"]
    assert (found.call, found.made_in) == ("map", "")


def test_the_callers_of_a_helper_are_kept_from_the_inside_out(dataset):
    text = """
def inner():
    return map(1)
def outer():
    return inner()
ds = outer()
"""
    found = user(text, map=dataset["map"])["ds"]
    assert found.place.line == 3
    assert found.via[:2] == (("/home/user/train.py", 5), ("/home/user/train.py", 6))
    assert len(found.via) == MAX_VIA


def test_a_comprehension_is_not_a_caller_of_its_own(dataset):
    found = user("ds = [map(n) for n in (1, 2)][1]", map=dataset["map"])["ds"]
    assert ("/home/user/train.py", 1) not in found.via


def test_a_function_that_calls_itself_is_asked_once(dataset):
    text = "def again(n):\n    return map(n) if n == 0 else again(n - 1)\nds = again(50)"
    found = user(text, map=dataset["map"])["ds"]
    assert found.place.line == 2
    assert found.via[0] == ("/home/user/train.py", 3)


def test_without_a_line_of_the_user_there_is_nothing_to_tell():
    assert written(None) is None
