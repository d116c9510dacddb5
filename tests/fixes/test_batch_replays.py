"""Loops around `train_on_batch` whose losses are collected, and `fit` that gives the same ones."""

import pytest

from quickfit.findings import FixClass
from quickfit.fixes.batch_loops import fit_for_batches
from quickfit.fixes.change import patched
from quickfit.fixes.script import Script

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


def changes(text, *, is_per_batch=True):
    script = Script("train.py", text)
    line = next(n for n, row in enumerate(script.lines, start=1) if ".train_on_batch(" in row)
    found = fit_for_batches(script, line, [script], is_per_batch=is_per_batch)
    assert all(change.kind is FixClass.EQUIVALENT for change in found)
    return [patched(script.text, change.edits) for change in found]


def test_a_mean_of_even_batches_is_the_one_of_fit():
    assert changes(MEANS, is_per_batch=False) == [
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
    (after,) = changes(LISTED)
    assert "            on_train_batch_begin=lambda batch, logs: model.reset_metrics()," in after
    assert 'on_train_batch_end=lambda batch, logs: losses.append(logs["loss"]),' in after
    assert after.endswith("    )\nplot(losses)\n")


def test_a_loss_that_is_returned_is_the_last_batchs_own():
    (after,) = changes(RETURNED)
    assert ALONE.replace("\n    ", "\n        ").strip() in after
    assert after.endswith('    loss = history.history["loss"][-1]\n    return loss\n')


def test_what_a_turn_shows_is_shown_after_the_epoch():
    (after,) = changes(SHOWN)
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
    (after,) = changes(text.replace("for i", "total = 0\nfor i"))
    assert after.endswith("for loss in batch_losses:\n    total += loss\n")


def test_a_generator_of_rows_is_given_to_fit():
    (after,) = changes(YIELDED)
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
    whole, _ = changes(text)
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
def test_the_loop_stays_where(text):
    assert changes(text) == []


@pytest.mark.parametrize("text", [LISTED, RETURNED, SHOWN], ids=["list", "return", "print"])
def test_nothing_is_said_where_keras_returns_means_so_far(text):
    assert changes(text, is_per_batch=False) == []


def test_uneven_batches_have_no_mean_that_fit_computes():
    text = MEANS.replace("len(x) - 32 + 1", "len(x)")
    assert changes(text, is_per_batch=False) == []
