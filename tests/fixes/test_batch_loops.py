"""Loops around `train_on_batch` that become `fit`."""

import textwrap

import pytest

from quickfit.findings import FixClass
from quickfit.fixes.batch_loops import fit_for_batches
from quickfit.fixes.change import patched
from quickfit.fixes.script import Script

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


def changes(text):
    script = Script("train.py", textwrap.dedent(text))
    line = next(n for n, row in enumerate(script.lines, start=1) if "train_on_batch(" in row)
    found = fit_for_batches(script, line, [script])
    return [(patched(script.text, change.edits), change.kind) for change in found]


def test_a_loop_that_only_trains_becomes_one_fit():
    (whole, kind), (each, _) = changes(SLICES)
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
    ((after, _),) = changes(ORDERED)
    begin = ORDERED[: ORDERED.index("    for start")]
    assert after == begin + """\
    history = model.fit(x[order], y[order], batch_size=BATCH, shuffle=False, verbose=0)
    loss = history.history["loss"][-1]
    acc = history.history["accuracy"][-1]
    print(epoch, loss, acc)
"""  # fmt: skip


def test_a_print_after_each_epoch_becomes_a_callback():
    text = SLICES.replace("        model", "        # one step\n        loss = model")
    (after, _), _ = changes(text + "    print(f'epoch {epoch}: {loss:.4f}')\n")
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
    assert ends in changes(text)[1][0]


def test_two_names_for_a_batch_are_filled_in():
    text = SLICES.replace(
        "        model.train_on_batch(x[i:i + 32], y[i:i + 32])",
        """\
        a, b = x[i:i + 32], y[i:i + 32]
        model.train_on_batch(a, b)""",
    )
    assert changes(text) == changes(SLICES)


def test_what_is_done_to_each_row_is_done_to_all_rows():
    text = SLICES.replace(
        "        model.train_on_batch(x[i:i + 32],",
        """\
        batch = x[i:i + 32].astype("float32") / 255.0
        model.train_on_batch(batch,""",
    )
    ((after, _),) = changes(text)
    assert '    batch = x.astype("float32") / 255.0\n    model.fit(batch, y, batch_size' in after


def test_a_dataset_is_given_to_fit():
    text = """\
import tensorflow as tf
ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
for epoch in range(5):
    for a, b in ds:
        model.train_on_batch(a, b)
"""
    (after, kind), _ = changes(text)
    assert after.endswith("model.fit(ds, epochs=5, verbose=0)\n")
    assert kind is FixClass.EQUIVALENT
    assert changes(text.replace(".batch", ".shuffle(9).batch"))[0][1] is FixClass.MAY_CHANGE_RESULTS


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
    assert changes(text) == []
