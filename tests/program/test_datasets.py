"""Chains of tf.data, over names, helpers and files."""

import pytest

from quickfit.program.datasets import chains, is_dataset

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
