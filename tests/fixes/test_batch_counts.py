"""Loops around `train_on_batch` that count turns, add up in full, or import parts of Keras."""

import pytest

from quickfit.fixes.batch_loops import fit_for_batches
from quickfit.fixes.change import patched
from quickfit.fixes.script import Script

PARTS = """\
from numpy import *
from tensorflow.keras.models import *
model.compile(loss="mse", optimizer="adam")
for epoch in range(5):
    total = 0
    n = 0
    for i in range(0, len(x), 8):
        xb = x[i:i + 8]
        yb = y[i:i + 8]
        loss = model.train_on_batch(xb, yb)
        total = total + loss
        n = n + 1
    print(epoch, total / n)
"""
COUNTED = """\
import tensorflow as tf
def make(series):
    ds = tf.data.Dataset.from_tensor_slices(series)
    return ds.batch(32)
ds = make(data)
model.compile("adam", "mae", metrics=["mse"])
for epoch in range(5):
    mean = 0.0
    for step, (xb, yb) in enumerate(ds):
        result = model.train_on_batch(xb, yb, return_dict=True)
        # running mean
        mean += (float(result["mse"]) - mean) / (step + 1)
    print(epoch, mean)
"""


def changes(text):
    script = Script("train.py", text)
    line = next(n for n, row in enumerate(script.lines, start=1) if ".train_on_batch(" in row)
    found = fit_for_batches(script, line, [script], is_per_batch=True)
    return [patched(script.text, change.edits) for change in found]


def test_sums_in_full_are_made_after_the_epoch_and_keras_is_imported():
    (after,) = changes(PARTS)
    assert after == """\
from numpy import *
from tensorflow.keras.models import *
from tensorflow import keras
model.compile(loss="mse", optimizer="adam")
for epoch in range(5):
    total = 0
    n = 0
    batch_losses = []
    model.fit(
        x,
        y,
        batch_size=8,
        shuffle=False,
        verbose=0,
        callbacks=[
            # the metrics of single batches, not their means so far
            keras.callbacks.LambdaCallback(
                on_train_batch_begin=lambda batch, logs: model.reset_metrics(),
            ),
            keras.callbacks.LambdaCallback(
                on_train_batch_end=lambda batch, logs: batch_losses.append(logs["loss"]),
            ),
        ],
    )
    for loss in batch_losses:
        total = total + loss
        n = n + 1
    print(epoch, total / n)
"""  # fmt: skip


def test_a_sum_in_full_of_even_batches_leads_to_the_mean_of_fit():
    after = changes(PARTS.replace("len(x), 8", "len(x) - 8 + 1, 8"))[0]
    assert after.endswith('mean_loss = history.history["loss"][-1]\n    print(epoch, mean_loss)\n')
    assert "import keras" not in after
    assert "total" not in after


def test_parts_of_keras_itself_lead_to_its_own_import():
    (after,) = changes(PARTS.replace("from tensorflow.keras", "from keras"))
    assert "from keras.models import *\nimport keras\nmodel.compile" in after


def test_a_count_goes_on_over_the_kept_results():
    (after,) = changes(COUNTED)
    head, _, tail = after.partition("    model.fit(\n        ds,\n        verbose=0,\n")
    assert head.endswith("    mean = 0.0\n    batch_logs = []\n")
    assert "on_train_batch_end=lambda batch, logs: batch_logs.append(dict(logs))," in tail
    assert tail.endswith("""\
    )
    for step, result in enumerate(batch_logs):
        # running mean
        mean += (float(result["mse"]) - mean) / (step + 1)
    print(epoch, mean)
""")


def test_a_count_that_begins_at_one_does_so_after_the_epoch():
    (after,) = changes(COUNTED.replace("enumerate(ds)", "enumerate(ds, start=1)"))
    assert "    for step, result in enumerate(batch_logs, start=1):\n" in after


def test_a_count_that_only_the_print_reads_is_kept():
    text = COUNTED.replace('mean += (float(result["mse"]) - mean) / (step + 1)',
                           'mean += result["mse"]')  # fmt: skip
    (after,) = changes(text.replace("(epoch, mean)", "(epoch, mean / (step + 1))"))
    assert "    for step, result in enumerate(batch_logs):\n" in after
    (after,) = changes(text)
    assert "    for result in batch_logs:\n" in after


def test_a_count_of_rows_that_is_read_later_is_kept():
    (after,) = changes(PARTS.replace("total / n)", "total / n, i)"))
    assert "    for i, loss in zip(range(0, len(x), 8), batch_losses):\n" in after


def test_fit_takes_the_dataset_and_not_its_arrays():
    text = COUNTED.replace("enumerate(ds)", "enumerate(ds.as_numpy_iterator())")
    (after,) = changes(text)
    assert "    model.fit(\n        ds,\n" in after


@pytest.mark.parametrize("kept", ['log["loss"] = loss', "self.best = loss", "losses[i] = loss"])
def test_a_place_of_its_own_gets_the_loss_after_the_epoch(kept):
    (after,) = changes(PARTS.replace("n = n + 1", kept))
    assert f"        total = total + loss\n        {kept}\n    print" in after


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(PARTS + "keras = None\n", id="the name of Keras means something else"),
        pytest.param(
            PARTS.replace("tensorflow.keras.models", "my_models"), id="there is no part of Keras"
        ),
        pytest.param(
            PARTS.replace("total = total + loss", "y = y + loss"), id="the sum is a batch's own"
        ),
        pytest.param(
            PARTS.replace("        n = n + 1\n", "").replace("total / n", "total, xb"),
            id="the last batch is read later",
        ),
        pytest.param(
            PARTS.replace("n = n + 1", "opt.learning_rate = 0.1 / (i + 1)"),
            id="each turn sets the learning rate",
        ),
        pytest.param(
            PARTS.replace("n = n + 1", "self.opt.learning_rate = loss"),
            id="the learning rate of an object's optimizer is set",
        ),
        pytest.param(PARTS.replace("n = n + 1", "x[i] = loss"), id="a turn writes into the rows"),
        pytest.param(
            PARTS.replace("for epoch", "def scaled(t, p): return n * (t - p)\nfor epoch"),
            id="a function of the file reads what a turn counts",
        ),
        pytest.param(
            COUNTED.replace("(step + 1)", "len(xb)"), id="the batch is needed with its loss"
        ),
        pytest.param(
            COUNTED.replace("    return ds.batch(32)", "    yield ds.batch(32)"),
            id="the function yields",
        ),
        pytest.param(
            COUNTED.replace("    return ds.batch(32)", "    return list(ds.batch(32))"),
            id="the function returns a list",
        ),
        pytest.param(
            COUNTED.replace("def make", "@kept\ndef make"), id="the function is decorated"
        ),
        pytest.param(
            COUNTED.replace("        # running mean", "        if step > 9: break"),
            id="the loop may end before the epoch does",
        ),
        pytest.param(
            COUNTED.replace("        # running mean", "        step = step * 2"),
            id="the count is changed",
        ),
    ],
)
def test_the_loop_stays_where(text):
    assert changes(text) == []
