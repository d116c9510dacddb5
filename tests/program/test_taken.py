"""Chains of a dataset that the arguments of a call rule out."""

import pytest

from quickfit.program.taken import taken_chains

from programs import program_of

HEAD = """
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
    program = program_of(f"{HEAD}\n{code}\n")
    module = program.module("/project/train.py")
    found = taken_chains(program, module, module.calls("use")[0].args[0])
    assert {tuple(stage.name for stage in chain.stages[1:]) for chain in found} == expected
