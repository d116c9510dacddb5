"""The ways in which a program comes to a piece of code."""

import ast

import pytest

from quickfit.program.situations import chains_in, frames_of, given_for

from programs import program_of

HEAD = """
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


def stages(tail):
    """Return the stages of what `use` is given, for each way to come to it."""
    program = program_of(HEAD + tail)
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
    assert stages(tail) == expected


def test_something_that_may_be_no_dataset_has_no_chains():
    program = program_of(HEAD + "use(stream(a, True) if c else other())\n")
    module = program.module("/project/train.py")
    (_, call) = module.calls("use")
    assert chains_in(program, module, call.args[0], None) is None


def test_a_parameter_is_followed_to_what_is_given_for_it():
    program = program_of(HEAD + "def main(labels):\n    outer(labels)\nmain(u[:9])\n")
    module = program.module("/project/train.py")
    (call,) = module.calls("use")
    (frame,) = frames_of(program, module, call)
    given = call.args[0].args[0]
    found = [ast.unparse(node) for _, node in given_for(program, module, given, frame)]
    assert found == ["y", "labels", "u[:9]"]
