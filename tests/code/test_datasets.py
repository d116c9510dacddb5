"""Chains of tf.data, over names, helpers and files."""

import ast

import pytest

from quickfit.code import Module
from quickfit.code.datasets import (
    chain_at,
    chains,
    chains_in,
    frames_of,
    given_for,
    is_dataset,
    taken_chains,
)

from programs import program_of

HEAD = "import tensorflow as tf\n"


def stages(source):
    program = program_of(source)
    module = program.module("/project/train.py")
    (call,) = module.calls("fit")
    return [
        [s.name.split(".")[-1] for s in c.stages] for c in chains(program, module, call.args[0])
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("model.fit(tf.data.Dataset.range(3).map(f).batch(2))", ["range", "map", "batch"]),
        (
            "ds = tf.data.Dataset.range(3)\nds = ds.map(f)\nds = ds.batch(2)\nmodel.fit(ds)",
            ["range", "map", "batch"],
        ),
        (
            "def make(n):\n    ds = tf.data.TFRecordDataset(n)\n    return ds.cache()\n"
            "model.fit(make(1).prefetch(1))",
            ["TFRecordDataset", "cache", "prefetch"],
        ),
        (
            "class Data:\n    def train(self):\n        return self.base().repeat()\n"
            "    def base(self):\n        return tf.data.Dataset.range(3)\n"
            "model.fit(Data().train())",
            ["range", "repeat"],
        ),
        (
            "a, b = tf.keras.utils.image_dataset_from_directory(p, subset='both')\n"
            "model.fit(tf.keras.utils.image_dataset_from_directory(p).cache())",
            ["image_dataset_from_directory", "cache"],
        ),
    ],
)
def test_a_chain_is_followed(text, expected):
    assert stages(HEAD + text) == [expected]


def test_each_way_through_the_program_is_a_chain():
    text = "ds = tf.data.Dataset.range(3)\nif x:\n    ds = ds.shuffle(9)\nmodel.fit(ds.batch(2))"
    assert sorted(stages(HEAD + text)) == [["range", "batch"], ["range", "shuffle", "batch"]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f(tf.data.Dataset.range(3).batch(2))", True),
        ("f(rows.batch(2))", False),
        ("f([1])", False),
        ("f(tf.data.Options())", False),
    ],
)
def test_only_what_tensorflow_made_is_a_dataset(text, expected):
    program = program_of(HEAD + text)
    module = program.module("/project/train.py")
    (call,) = module.calls("f")
    assert is_dataset(program, module, call.args[0]) is expected


HEAD_SITUATIONS = """
import tensorflow as tf
def stream(x, training, then=None):
    ds = tf.data.Dataset.from_tensor_slices(x)
    if training:
        ds = ds.shuffle(9)
    if then is not None:
        ds = ds.map(then)
    return ds
def outer(y, on=False, then=None):
    return use(stream(y, on, then))
def double(a):
    return a * 2
"""


def stages_situations(tail):
    """Return the stages of what `use` is given, for each way to come to it."""
    program = program_of(HEAD_SITUATIONS + tail)
    module = program.module("/project/train.py")
    (call,) = module.calls("use")
    found = [chains_in(program, module, call.args[0], f) for f in frames_of(program, module, call)]
    return [
        sorted("-".join(s.name for s in chain.stages[1:]) for chain in chains or ())
        for chains in found
    ]


@pytest.mark.parametrize(
    ("tail", "expected"),
    [
        ("outer(a)\n", [[""]]),
        ("outer(a, True)\n", [["shuffle"]]),
        ("outer(a, on=True, then=double)\nouter(b)\n", [["shuffle-map"], [""]]),
        ("outer(a, then=double)\n", [["map"]]),
        ("outer(a, flag)\n", [["", "shuffle"]]),
        ("def main(t):\n    outer(a, t)\nmain(True)\nmain(False)\n", [["shuffle"], [""]]),
    ],
)
def test_conditions_are_decided_for_each_call(tail, expected):
    assert stages_situations(tail) == expected


def test_something_that_may_be_no_dataset_has_no_chains():
    program = program_of(HEAD_SITUATIONS + "use(stream(a, True) if c else other())\n")
    module = program.module("/project/train.py")
    (_, call) = module.calls("use")
    assert chains_in(program, module, call.args[0], None) is None


def test_a_parameter_is_followed_to_what_is_given_for_it():
    program = program_of(HEAD_SITUATIONS + "def main(labels):\n    outer(labels)\nmain(u[:9])\n")
    module = program.module("/project/train.py")
    (call,) = module.calls("use")
    (frame,) = frames_of(program, module, call)
    given = call.args[0].args[0]
    found = [ast.unparse(node) for _, node in given_for(program, module, given, frame)]
    assert found == ["y", "labels", "u[:9]"]


HEAD_TAKEN = """
import tensorflow as tf
def make(mode="train", limit=None):
    ds = tf.data.Dataset.range(9)
    if mode == "train":
        ds = ds.repeat()
    else:
        ds = ds.cache()
    if limit is not None:
        ds = ds.take(limit)
    return ds.batch(2)
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("use(make())", {("repeat", "batch")}),
        ("use(make('test'))", {("cache", "batch")}),
        ("data = make(limit=3)\nuse(data)", {("repeat", "take", "batch")}),
        ("use(make(limit=n))", {("repeat", "batch"), ("repeat", "take", "batch")}),
        ("use(make(mode, None))", {("repeat", "batch"), ("cache", "batch")}),
    ],
)
def test_leaves_out_branches_that_are_not_taken(code, expected):
    program = program_of(f"{HEAD_TAKEN}\n{code}\n")
    module = program.module("/project/train.py")
    found = taken_chains(program, module, module.calls("use")[0].args[0])
    assert {tuple(stage.name for stage in chain.stages[1:]) for chain in found} == expected


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
    chain, place = chain_at(Module("train.py", text), line, "shuffle")
    assert [step.name for step in chain.steps] == ["map", "shuffle", "batch", "prefetch"]
    assert place == 1
    assert chain.is_closed(0, 3)


def names(text, line, method):
    chain, _ = chain_at(Module("train.py", text), line, method)
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
    chain, _ = chain_at(Module("train.py", text), 2, "batch")
    assert [step.name for step in chain.steps] == ["map", "batch"]
    assert not chain.is_closed(0, 1)


def test_a_name_that_a_function_reads_is_not_private():
    text = "ds = a.map(f)\nds2 = ds.batch(2)\ndef peek():\n    return next(iter(ds))\n"
    chain, _ = chain_at(Module("train.py", text), 2, "batch")
    assert not chain.is_closed(0, 1)


def test_a_function_with_a_name_of_its_own_does_not_matter():
    text = "ds = a.map(f)\nds2 = ds.batch(2)\ndef peek(ds):\n    return next(iter(ds))\n"
    chain, _ = chain_at(Module("train.py", text), 2, "batch")
    assert chain.is_closed(0, 1)


def test_two_calls_of_a_method_on_one_line_are_not_told_apart():
    assert chain_at(Module("train.py", "ds = a.map(f).map(g)\n"), 1, "map") is None
