import pytest

from quickfit.fixes.chain import chain_at
from quickfit.fixes.script import Script

IN_STEPS = """\
import tensorflow as tf

ds = tf.data.Dataset.from_tensor_slices(paths)
ds = ds.map(decode)
n = 10
ds = ds.shuffle(n).batch(32)
ds = ds.prefetch(2)
model.fit(ds)
"""
IN_ONE = """\
def load(paths):
    return (
        tf.data.Dataset.from_tensor_slices(paths)
        .map(decode)
        .shuffle(10)
        .batch(32)
        .prefetch(2)
    )
"""
UNDER_NAMES = """\
def load(paths):
    files = tf.data.Dataset.from_tensor_slices(paths)
    images = files.map(decode)
    mixed = images.shuffle(10)
    return mixed.batch(32).prefetch(2)
"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param(IN_STEPS, 6, id="in steps under one name"),
        pytest.param(IN_ONE, 5, id="in one expression"),
        pytest.param(UNDER_NAMES, 4, id="in steps under several names"),
    ],
)
def test_the_whole_chain_is_read_however_it_is_written(text, line):
    chain, place = chain_at(Script("train.py", text), line, "shuffle")
    assert [step.name for step in chain.steps] == ["map", "shuffle", "batch", "prefetch"]
    assert place == 1
    assert chain.is_closed(0, 3)


def names(text, line, method):
    chain, _ = chain_at(Script("train.py", text), line, method)
    return [step.name for step in chain.steps]


def test_a_chain_ends_where_a_branch_may_change_it():
    text = "ds = a.map(f)\nif augment:\n    ds = ds.map(g)\nds = ds.batch(2)\n"
    assert names(text, 4, "batch") == ["batch"]
    assert names(text, 1, "map") == ["map"]


def test_a_chain_ends_where_a_loop_adds_to_it():
    text = "ds = a.map(f)\nfor g in many:\n    ds = ds.map(g)\nds = ds.batch(2)\n"
    assert names(text, 3, "map") == ["map"]


def test_a_name_that_two_read_is_not_private():
    text = "ds = a.map(f)\ntrain = ds.batch(2)\nval = ds.take(3)\n"
    chain, _ = chain_at(Script("train.py", text), 2, "batch")
    assert [step.name for step in chain.steps] == ["map", "batch"]
    assert not chain.is_closed(0, 1)


def test_a_name_that_a_function_reads_is_not_private():
    text = "ds = a.map(f)\nds2 = ds.batch(2)\ndef peek():\n    return next(iter(ds))\n"
    chain, _ = chain_at(Script("train.py", text), 2, "batch")
    assert not chain.is_closed(0, 1)


def test_a_function_with_a_name_of_its_own_does_not_matter():
    text = "ds = a.map(f)\nds2 = ds.batch(2)\ndef peek(ds):\n    return next(iter(ds))\n"
    chain, _ = chain_at(Script("train.py", text), 2, "batch")
    assert chain.is_closed(0, 1)


def test_two_calls_of_a_method_on_one_line_are_not_told_apart():
    assert chain_at(Script("train.py", "ds = a.map(f).map(g)\n"), 1, "map") is None
