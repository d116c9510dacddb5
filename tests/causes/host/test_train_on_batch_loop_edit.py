"""Loops around `train_on_batch` that count turns, add up in full, or import parts of Keras."""

import textwrap

import pytest

from quickfit.causes.host.train_on_batch_loop.edit import fit_for_batches
from quickfit.code import Module
from quickfit.code.edits import apply_edits
from quickfit.findings import FixClass

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
    script = Module("train.py", text)
    line = next(n for n, row in enumerate(script.lines, start=1) if ".train_on_batch(" in row)
    found = fit_for_batches(script, line, [script], is_per_batch=True)
    return [apply_edits(script.text, change.edits) for change in found]


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


SLICES = """\
import keras
model.compile("adam", "mse")
for epoch in range(EPOCHS):
    for i in range(0, len(x), 32):
        model.train_on_batch(x[i:i + 32], y[i:i + 32])
"""
ORDERED = """\
import keras
model.compile("adam", loss="mse", metrics=["accuracy"])
for epoch in range(5):
    order = rng.permutation(len(x))
    for start in range(0, len(x), BATCH):
        idx = order[start : start + BATCH]
        loss, acc = model.train_on_batch(x[idx], y[idx])
    print(epoch, loss, acc)
"""


def changes_batch_loops(text):
    script = Module("train.py", textwrap.dedent(text))
    line = next(n for n, row in enumerate(script.lines, start=1) if "train_on_batch(" in row)
    found = fit_for_batches(script, line, [script])
    return [(apply_edits(script.text, change.edits), change.kind) for change in found]


def test_a_loop_that_only_trains_becomes_one_fit():
    (whole, kind), (each, _) = changes_batch_loops(SLICES)
    head = SLICES[: SLICES.index("for epoch")]
    assert whole == (
        head + "model.fit(x, y, batch_size=32, shuffle=False, epochs=EPOCHS, verbose=0)\n"
    )
    assert each == (
        head + "for epoch in range(EPOCHS):\n"
        "    model.fit(x, y, batch_size=32, shuffle=False, verbose=0)\n"
    )
    assert kind is FixClass.EQUIVALENT


def test_an_order_by_numpy_stays_the_order_of_the_rows():
    ((after, _),) = changes_batch_loops(ORDERED)
    begin = ORDERED[: ORDERED.index("    for start")]
    assert after == begin + """\
    history = model.fit(x[order], y[order], batch_size=BATCH, shuffle=False, verbose=0)
    loss = history.history["loss"][-1]
    acc = history.history["accuracy"][-1]
    print(epoch, loss, acc)
"""  # fmt: skip


def test_a_print_after_each_epoch_becomes_a_callback():
    text = SLICES.replace("        model", "        # one step\n        loss = model")
    (after, _), _ = changes_batch_loops(text + "    print(f'epoch {epoch}: {loss:.4f}')\n")
    assert (
        after
        == """\
import keras
model.compile("adam", "mse")


def report(epoch, logs):
    loss = logs["loss"]
    print(f'epoch {epoch}: {loss:.4f}')


# one step
model.fit(
    x,
    y,
    batch_size=32,
    shuffle=False,
    epochs=EPOCHS,
    verbose=0,
    callbacks=[keras.callbacks.LambdaCallback(on_epoch_end=report)],
)
"""
    )


def test_rows_that_fill_no_batch_stay_out():
    text = SLICES.replace("range(0, len(x), 32)", "range(len(x) // 32)")
    text = text.replace("i:i + 32", "i * 32:(i + 1) * 32")
    ends = "        x[: len(x) // 32 * 32],\n        y[: len(y) // 32 * 32],\n"
    assert ends in changes_batch_loops(text)[1][0]


def test_two_names_for_a_batch_are_filled_in():
    text = SLICES.replace(
        "        model.train_on_batch(x[i:i + 32], y[i:i + 32])",
        """\
        a, b = x[i:i + 32], y[i:i + 32]
        model.train_on_batch(a, b)""",
    )
    assert changes_batch_loops(text) == changes_batch_loops(SLICES)


def test_what_is_done_to_each_row_is_done_to_all_rows():
    text = SLICES.replace(
        "        model.train_on_batch(x[i:i + 32],",
        """\
        batch = x[i:i + 32].astype("float32") / 255.0
        model.train_on_batch(batch,""",
    )
    ((after, _),) = changes_batch_loops(text)
    assert '    batch = x.astype("float32") / 255.0\n    model.fit(batch, y, batch_size' in after


def test_a_dataset_is_given_to_fit():
    text = """\
import tensorflow as tf
ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
for epoch in range(5):
    for a, b in ds:
        model.train_on_batch(a, b)
"""
    (after, kind), _ = changes_batch_loops(text)
    assert after.endswith("model.fit(ds, epochs=5, verbose=0)\n")
    assert kind is FixClass.EQUIVALENT
    assert (
        changes_batch_loops(text.replace(".batch", ".shuffle(9).batch"))[0][1]
        is FixClass.MAY_CHANGE_RESULTS
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(SLICES + "        step += 1\n", id="the loop counts"),
        pytest.param(
            SLICES.replace("        model", "        if i > 9:\n            break\n        model"),
            id="the loop ends early",
        ),
        pytest.param(SLICES.replace("y[i:i + 32]", "y[i:i + 64]"), id="the labels are others"),
        pytest.param(
            SLICES.replace("y[i:i + 32]", "model.predict(x[i:i + 32])"),
            id="the model makes its own labels",
        ),
        pytest.param(SLICES.replace("len(x), 32", "len(x), 16"), id="batches overlap"),
        pytest.param(
            SLICES.replace("range(0, len(x)", "range(0, 1000"), id="not all rows are used"
        ),
        pytest.param(
            SLICES.replace("range(0, len(x)", "range(0, len(other)"),
            id="the rows of another array are counted",
        ),
        pytest.param(
            SLICES.replace("        model", "        x = x * 2\n        model"),
            id="the array changes",
        ),
        pytest.param(
            SLICES.replace("x[i:i + 32],", "augment(x[i:i + 32]),"),
            id="a function of the user's makes the batch",
        ),
        pytest.param(
            SLICES.replace("x[i:i + 32],", "x[i:i + 32] - x[i:i + 32].mean(0),"),
            id="rows of a batch depend on each other",
        ),
        pytest.param(
            SLICES.replace("        model", "        loss = model")
            + "    best = min(best, loss)\n",
            id="the loss decides something",
        ),
        pytest.param(
            SLICES.replace("        model", "        out = model").replace(
                '"mse")', '"mse", metrics=[Own()])'
            )
            + "    print(out[0])\n",
            id="the metrics are unknown",
        ),
        pytest.param(
            SLICES.replace("import keras", "import keras\nimport h5py"), id="the rows are in a file"
        ),
        pytest.param(
            SLICES + "        gan.train_on_batch(z, y[i:i + 32])\n", id="two models train"
        ),
        pytest.param(
            ORDERED.replace("rng.permutation(len(x))", "rng.permutation(len(other))"),
            id="the order is as long as something else",
        ),
        pytest.param(
            SLICES.replace("y[i:i + 32])", "y[i:i + 32], sample_weight=w)"), id="rows have weights"
        ),
        pytest.param(SLICES + "print(i)\n", id="the place is read after the loop"),
    ],
)
def test_a_loop_stays_as_it_is_where(text):
    assert changes_batch_loops(text) == []


HEAD = """\
import keras
import numpy as np
model.compile("adam", "mse")
"""
MEANS = HEAD + """\
for epoch in range(5):
    total = 0.0
    n = 0
    for i in range(0, len(x) - 32 + 1, 32):
        loss = model.train_on_batch(x[i:i + 32], y[i:i + 32])
        total += loss
        n += 1
    print(f"{epoch}: {total / n:.4f}")
"""  # fmt: skip
LISTED = HEAD + """\
losses = []
for epoch in range(5):
    for i in range(0, len(x), 32):
        loss = model.train_on_batch(x[i:i + 32], y[i:i + 32])
        losses.append(loss)
plot(losses)
"""  # fmt: skip
RETURNED = HEAD + """\
def turn():
    for i in range(0, len(x), 32):
        loss = model.train_on_batch(x[i:i + 32], y[i:i + 32])
    return loss
"""  # fmt: skip
SHOWN = HEAD + """\
for i in range(0, len(x), 32):
    loss = model.train_on_batch(x[i:i + 32], y[i:i + 32])
    if i % 320 == 0:
        print(i, loss)
"""  # fmt: skip
YIELDED = HEAD + """\
def batches(a, b, size):
    order = np.random.permutation(len(a))
    for start in range(0, len(a), size):
        rows = order[start : start + size]
        yield a[rows], b[rows]
for epoch in range(5):
    for bx, by in batches(x, y, 32):
        model.train_on_batch(bx, by)
"""  # fmt: skip
ALONE = """\
        # the metrics of single batches, not their means so far
        keras.callbacks.LambdaCallback(
            on_train_batch_begin=lambda batch, logs: model.reset_metrics(),
        ),
"""


def changes_batch_replays(text, *, is_per_batch=True):
    script = Module("train.py", text)
    line = next(n for n, row in enumerate(script.lines, start=1) if ".train_on_batch(" in row)
    found = fit_for_batches(script, line, [script], is_per_batch=is_per_batch)
    assert all(change.kind is FixClass.EQUIVALENT for change in found)
    return [apply_edits(script.text, change.edits) for change in found]


def test_a_mean_of_even_batches_is_the_one_of_fit():
    assert changes_batch_replays(MEANS, is_per_batch=False) == [
        HEAD + """\
for epoch in range(5):
    history = model.fit(
        x[: len(x) // 32 * 32],
        y[: len(y) // 32 * 32],
        batch_size=32,
        shuffle=False,
        verbose=0,
    )
    mean_loss = history.history["loss"][-1]
    print(f"{epoch}: {mean_loss:.4f}")
"""
    ]  # fmt: skip


def test_a_list_gets_the_loss_of_each_batch_from_a_callback():
    (after,) = changes_batch_replays(LISTED)
    assert "            on_train_batch_begin=lambda batch, logs: model.reset_metrics()," in after
    assert 'on_train_batch_end=lambda batch, logs: losses.append(logs["loss"]),' in after
    assert after.endswith("    )\nplot(losses)\n")


def test_a_loss_that_is_returned_is_the_last_batchs_own():
    (after,) = changes_batch_replays(RETURNED)
    assert ALONE.replace("\n    ", "\n        ").strip() in after
    assert after.endswith('    loss = history.history["loss"][-1]\n    return loss\n')


def test_what_a_turn_shows_is_shown_after_the_epoch():
    (after,) = changes_batch_replays(SHOWN)
    assert after == HEAD + """\
batch_losses = []
model.fit(
    x,
    y,
    batch_size=32,
    shuffle=False,
    verbose=0,
    callbacks=[
""" + ALONE + """\
        keras.callbacks.LambdaCallback(
            on_train_batch_end=lambda batch, logs: batch_losses.append(logs["loss"]),
        ),
    ],
)
for i, loss in zip(range(0, len(x), 32), batch_losses):
    if i % 320 == 0:
        print(i, loss)
"""  # fmt: skip


def test_a_sum_without_a_name_for_the_loss_is_made_after_the_epoch():
    text = SHOWN[: SHOWN.index("    if")].replace("loss =", "total +=")
    (after,) = changes_batch_replays(text.replace("for i", "total = 0\nfor i"))
    assert after.endswith("for loss in batch_losses:\n    total += loss\n")


def test_a_generator_of_rows_is_given_to_fit():
    (after,) = changes_batch_replays(YIELDED)
    assert after == YIELDED[: YIELDED.index("    for bx")] + """\
    model.fit(
        batches(x, y, 32),
        steps_per_epoch=(len(x) + 32 - 1) // 32,
        shuffle=False,
        verbose=0,
    )
"""  # fmt: skip


def test_a_last_smaller_batch_and_a_reset_are_known():
    text = HEAD + """\
import math
steps = math.ceil(len(x) / 32)
for epoch in range(5):
    model.reset_metrics()
    for i in range(steps):
        model.train_on_batch(x[i * 32:(i + 1) * 32], y[i * 32:(i + 1) * 32])
"""  # fmt: skip
    whole, _ = changes_batch_replays(text)
    assert whole.endswith("\nmodel.fit(x, y, batch_size=32, shuffle=False, epochs=5, verbose=0)\n")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(LISTED.replace('"mse")', '"mse", metrics=my)'), id="the metrics are unknown"),
        pytest.param(
            LISTED.replace("losses.append(loss)", "losses.append(model.predict(x))"),
            id="the turn asks the model",
        ),
        pytest.param(
            SHOWN.replace("print(i, loss)", "break"), id="the loop may end before the epoch does"
        ),
        pytest.param(
            SHOWN.replace("print(i, loss)", "model.optimizer.learning_rate = loss"),
            id="the turn changes the model",
        ),
        pytest.param(
            SHOWN.replace("print(i, loss)", "x = x + loss"), id="the next batch depends on the loss"
        ),
        pytest.param(SHOWN.replace("print(i, loss)", "save(loss)"), id="a function is unknown"),
        pytest.param(
            LISTED.replace('"mse")', '"mse", steps_per_execution=8)'),
            id="callbacks would see every eighth batch",
        ),
        pytest.param(
            YIELDED.replace("    for start", "    while True:\n      for start"),
            id="a generator never ends",
        ),
        pytest.param(
            YIELDED.replace("yield a[rows]", "yield pad(a[rows])"), id="the shapes may differ"
        ),
        pytest.param(
            YIELDED.replace("yield a[rows], b[rows]", "yield {'a': a[rows]}, b[rows]"),
            id="a batch is no pair of arrays",
        ),
        pytest.param(
            YIELDED.replace("batches(x, y, 32)", "zip(np.array_split(x, 9), np.array_split(y, 9))"),
            id="parts have different sizes",
        ),
    ],
)
def test_the_loop_stays_where_batch_replays(text):
    assert changes_batch_replays(text) == []


@pytest.mark.parametrize("text", [LISTED, RETURNED, SHOWN], ids=["list", "return", "print"])
def test_nothing_is_said_where_keras_returns_means_so_far(text):
    assert changes_batch_replays(text, is_per_batch=False) == []


def test_uneven_batches_have_no_mean_that_fit_computes():
    text = MEANS.replace("len(x) - 32 + 1", "len(x)")
    assert changes_batch_replays(text, is_per_batch=False) == []
