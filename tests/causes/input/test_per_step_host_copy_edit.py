"""Arrays that become tensors once, in the ways people hand them to a step."""

import pytest

from quickfit.causes.input.per_step_host_copy.edit import rows_of_tensors
from quickfit.code import Module
from quickfit.code.edits import apply_edits
from quickfit.findings import FixClass

HEAD = """\
import numpy as np
import tensorflow as tf
def load():
    x = np.zeros((9, 4), "float32")
    return x, x.sum(1)
x, y = load()
@tf.function
def step(a, b):
    return tf.reduce_mean(a - b)
"""
GIVEN = HEAD + """\
for epoch in range(3):
    for i in range(0, len(x), 3):
        loss = step(x[i:i+3], y[i:i+3])
"""  # fmt: skip
NAMED = HEAD + """\
def train(xs, ys):
    order = np.random.permutation(len(xs))
    for i in range(0, len(xs), 3):
        rows = order[i:i+3]
        bx, by = xs[rows].astype("float32"), ys[rows]
        loss = step(tf.constant(bx), by)
train(x, y)
"""  # fmt: skip


def rows(text):
    script = Module("train.py", text)
    line = next(n for n, row in enumerate(script.lines, start=1) if "= step(" in row)
    change = rows_of_tensors(script, line, [script])
    if change is None:
        return None
    assert change.kind is FixClass.SAME_RESULTS
    assert "second copy" in change.note
    return apply_edits(script.text, change.edits)


def test_arrays_that_a_compiled_step_is_given_become_tensors():
    assert rows(GIVEN) == HEAD + """\
all_x = tf.constant(x)
all_y = tf.constant(y)
for epoch in range(3):
    for i in range(0, len(x), 3):
        loss = step(all_x[i:i+3], all_y[i:i+3])
"""  # fmt: skip


def test_names_of_a_batch_stay_and_become_rows_of_tensors():
    assert rows(NAMED) == HEAD + """\
def train(xs, ys):
    order = np.random.permutation(len(xs))
    all_xs = tf.constant(xs)
    all_ys = tf.constant(ys)
    for i in range(0, len(xs), 3):
        rows = order[i:i+3]
        bx, by = tf.cast(tf.gather(all_xs, rows), tf.float32), tf.gather(all_ys, rows)
        loss = step(bx, by)
train(x, y)
"""  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(GIVEN.replace("@tf.function\n", ""), id="the step needs arrays"),
        pytest.param(
            GIVEN.replace("    for i", "    part = x[:3]\n    part *= 2\n    for i"),
            id="rows are changed under another name",
        ),
        pytest.param(GIVEN.replace("    for i", "    x += 1\n    for i"), id="the data changes"),
        pytest.param(
            GIVEN.replace("for epoch", "z = x[2:]\nfor epoch").replace(
                "        loss", "        z[i] = 0\n        loss"
            ),
            id="a view of the data changes",
        ),
        pytest.param(
            GIVEN.replace("    for i", "    np.random.shuffle(x)\n    for i"), id="it is shuffled"
        ),
        pytest.param(NAMED.replace("train(x, y)", "train(read(), y)"), id="it may be no array"),
        pytest.param(
            NAMED.replace("        loss", "        bx[0] = 1\n        loss"),
            id="the batch is changed as an array",
        ),
        pytest.param(GIVEN.replace("import numpy", "import pandas\nimport numpy"), id="tables"),
    ],
)
def test_arrays_stay_where(text):
    assert rows(text) is None
