"""Tensors that Python reads number by number, and then as one array."""

import pytest

from quickfit.findings import FixClass
from quickfit.fixes.change import patched
from quickfit.fixes.element_reads import values_at_once
from quickfit.fixes.script import Script

HEAD = """\
import tensorflow as tf
@tf.function
def step(a, b):
    each = tf.square(a - b)
    return tf.reduce_mean(each), each
"""
LISTED = HEAD + """\
def add(loss, parts):
    rows.append([float(loss)] + [abs(float(e)) for e in parts])
for x, y in ds:
    add(*step(x, y))
"""  # fmt: skip
INDEXED = HEAD + """\
def enter(kinds, each):
    for row, kind in enumerate(kinds):
        sums[kind] += float(each[row])
for x, y in ds:
    loss, each = step(x, y)
    enter(y, each)
"""  # fmt: skip


def at_once(text):
    script = Script("train.py", text)
    line = next(n for n, r in enumerate(script.lines, 1) if "float(e" in r or "norm" in r)
    change = values_at_once(script, line, [script])
    if change is None:
        return None
    assert change.kind is FixClass.SAME_RESULTS
    return patched(script.text, change.edits)


def test_a_tensor_that_is_iterated_becomes_an_array():
    assert at_once(LISTED) == LISTED.replace("for e in parts]", "for e in parts.numpy()]")


def test_a_tensor_that_is_indexed_becomes_an_array_before_the_loop():
    assert at_once(INDEXED) == INDEXED.replace(
        "    for row,", "    each_values = each.numpy()\n    for row,"
    ).replace("float(each[row])", "float(each_values[row])")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(LISTED.replace("@tf.function\n", ""), id="it may be an array already"),
        pytest.param(
            LISTED.replace("each = tf.square(a - b)", "each = tape.gradient(a, b)"),
            id="it may be a list of tensors",
        ),
        pytest.param(LISTED.replace("abs(float(e))", "e"), id="the elements stay tensors"),
        pytest.param(LISTED + "add(1.0, [2.0])\n", id="another call gives a list"),
        pytest.param(
            INDEXED.replace("float(each[row])", "float(each[row])\n        each = each + 1"),
            id="the tensor changes in the loop",
        ),
        pytest.param(INDEXED.replace("float(each[row])", "each[row]"), id="sums stay tensors"),
        pytest.param(INDEXED.replace("enter(y, each)", "enter(y, x)"), id="it is another value"),
    ],
)  # fmt: skip
def test_nothing_changes_where(text):
    script = Script("train.py", text)
    line = next(n for n, row in enumerate(script.lines, 1) if "[row]" in row or "for e in" in row)
    assert values_at_once(script, line, [script]) is None
