"""Metrics that leave the turns of a loop, and arrays that become tensors once."""

import pytest

from quickfit.findings import FixClass
from quickfit.fixes.change import patched
from quickfit.fixes.host_rows import rows_of_tensors
from quickfit.fixes.metric_reads import metrics_out_of_loop
from quickfit.fixes.script import Script

READ = """\
import tensorflow as tf
mean = tf.keras.metrics.Mean()
@tf.function
def step(a, b):
    loss = tf.reduce_mean(a - b)
    return loss, a
for epoch in range(3):
    for x, y in ds:
        value, out = step(x, y)
        mean.update_state(value)
        shown = float(mean.result())
    print(shown)
"""
ROWS = """\
import numpy as np
import tensorflow as tf
images = np.zeros((9, 4), "uint8")
labels = np.arange(9)
for epoch in range(3):
    order = rng.permutation(len(images))
    for i in range(0, len(images), 3):
        idx = order[i : i + 3]
        batch = tf.constant((images[idx] / 255.0).astype("float32"))
        train_step(batch, tf.constant(labels[idx]))
"""


def read(text):
    script = Script("train.py", text)
    line = next(n for n, row in enumerate(script.lines, start=1) if "mean.result" in row)
    found = metrics_out_of_loop(script, line, [script])
    return [(patched(script.text, change.edits), change.kind) for change in found]


def test_metrics_are_updated_in_the_step_and_read_after_the_loop():
    (both, kind), (later, other) = read(READ)
    assert (
        both
        == """\
import tensorflow as tf
mean = tf.keras.metrics.Mean()
@tf.function
def step(a, b):
    loss = tf.reduce_mean(a - b)
    mean.update_state(loss)
    return loss, a
for epoch in range(3):
    for x, y in ds:
        value, out = step(x, y)
    shown = float(mean.result())
    print(shown)
"""
    )
    assert later == READ.replace("        shown", "    shown")
    assert (kind, other) == (FixClass.EQUIVALENT, FixClass.SAME_RESULTS)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            READ.replace(
                "        shown =", "        if shown > 3:\n            print(3)\n        shown ="
            ),
            id="a turn reads the last turn's value",
        ),
        pytest.param(
            READ.replace(
                "        value,", "        if bad(x):\n            continue\n        value,"
            ),
            id="turns are skipped",
        ),
    ],
)
def test_a_read_stays_in_the_loop_where(text):
    assert all("\n    shown" not in after for after, _ in read(text))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(READ + "step(1, 2)\n", id="something else calls the step"),
        pytest.param(READ.replace("@tf.function\n", ""), id="the step is not compiled"),
        pytest.param(
            READ.replace("return loss, a", "return loss * 2, a"), id="the loss has no name inside"
        ),
        pytest.param(
            READ.replace("    for x, y", "    mean = tf.keras.metrics.Mean()\n    for x, y"),
            id="the metric is new in each epoch",
        ),
    ],
)
def test_an_update_stays_in_the_loop_where(text):
    assert all("        mean.update_state(value)" in after for after, _ in read(text))


def rows(text):
    script = Script("train.py", text)
    line = next(n for n, row in enumerate(script.lines, start=1) if "batch = " in row)
    change = rows_of_tensors(script, line)
    return (patched(script.text, change.edits), change.kind) if change else None


def test_rows_are_taken_from_tensors():
    after, kind = rows(ROWS)
    assert (
        after
        == """\
import numpy as np
import tensorflow as tf
images = np.zeros((9, 4), "uint8")
labels = np.arange(9)
all_images = tf.constant(images)
all_labels = tf.constant(labels)
for epoch in range(3):
    order = rng.permutation(len(images))
    for i in range(0, len(images), 3):
        idx = order[i : i + 3]
        batch = tf.cast(tf.gather(all_images, idx), tf.float32) / 255.0
        train_step(batch, tf.gather(all_labels, idx))
"""
    )
    assert kind is FixClass.EQUIVALENT


def test_plain_rows_are_the_same_to_the_last_bit():
    text = ROWS.replace('(images[idx] / 255.0).astype("float32")', "images[i : i + 3]")
    after, kind = rows(text)
    assert "        batch = all_images[i : i + 3]\n" in after
    assert kind is FixClass.SAME_RESULTS


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            ROWS.replace("    order", "    images[0] = 3\n    order"), id="the array changes"
        ),
        pytest.param(
            ROWS.replace("    order", "    rng.shuffle(images)\n    order"),
            id="the array is shuffled in place",
        ),
        pytest.param(
            ROWS.replace(' / 255.0).astype("float32")', " / 255.0)"), id="the batch is float64"
        ),
        pytest.param(ROWS.replace("/ 255.0", "- 128"), id="whole numbers may overflow"),
        pytest.param(ROWS.replace('np.zeros((9, 4), "uint8")', "load()"), id="it may be no array"),
        pytest.param(ROWS.replace("order[i : i + 3]", "labels == 3"), id="a mask chooses the rows"),
        pytest.param(
            ROWS.replace("images[idx] / 255.0", "augment(images[idx])"), id="a function makes them"
        ),
    ],
)
def test_arrays_stay_arrays_where(text):
    assert rows(text) is None
