"""Tensors that Python reads number by number, and then as one array."""

import pytest

from quickfit.causes.host.sync_each_step.edit_metrics import metrics_out_of_loop, reads_where_shown
from quickfit.causes.host.sync_each_step.edit_values import (
    seldom_shown,
    values_after_loop,
    values_at_once,
)
from quickfit.causes.input.per_step_host_copy.edit import rows_of_tensors
from quickfit.code import Module
from quickfit.code.edits import apply_edits
from quickfit.findings import FixClass

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
    script = Module("train.py", text)
    line = next(n for n, r in enumerate(script.lines, 1) if "float(e" in r or "norm" in r)
    change = values_at_once(script, line, [script])
    if change is None:
        return None
    assert change.kind is FixClass.SAME_RESULTS
    return apply_edits(script.text, change.edits)


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
    script = Module("train.py", text)
    line = next(n for n, row in enumerate(script.lines, 1) if "[row]" in row or "for e in" in row)
    assert values_at_once(script, line, [script]) is None


KEPT_HEAD = """\
import tensorflow as tf
@tf.function
def step(a, b):
    return tf.reduce_mean(a - b), a
"""
APPEND = KEPT_HEAD + """\
losses = []
for epoch in range(3):
    for x, y in ds:
        loss, out = step(x, y)
        losses.append(float(loss))
    print(sum(losses))
"""  # fmt: skip
SUM = KEPT_HEAD + """\
for epoch in range(3):
    total, n = 0.0, 0
    for x, y in ds:
        loss, _ = step(x, y)
        total += loss.numpy()
        n += 1
    print(total / n)
"""  # fmt: skip
METHOD = """\
import tensorflow as tf
class Trainer:
    def __init__(self):
        self.losses = []
    @tf.function
    def step(self, a, b):
        return tf.reduce_mean(a - b)
    def run(self):
        for number, (x, y) in enumerate(ds):
            loss = self.step(x, y)
            value = loss.numpy().item()
            self.losses.append((number, value))
"""


def kept(text):
    script = Module("train.py", text)
    marks = (".append(", "+=")
    line = next(n for n, row in enumerate(script.lines, start=1) if any(m in row for m in marks))
    change = values_after_loop(script, line, [script])
    if change is None:
        return None
    assert change.kind is FixClass.SAME_RESULTS
    return apply_edits(script.text, change.edits)


def test_a_list_of_losses_is_filled_after_the_loop():
    assert kept(APPEND) == KEPT_HEAD + """\
losses = []
for epoch in range(3):
    step_losses = []
    for x, y in ds:
        loss, out = step(x, y)
        step_losses.append(loss)
    for loss in step_losses:
        losses.append(float(loss))
    print(sum(losses))
"""  # fmt: skip


def test_a_sum_is_made_after_the_loop_in_the_same_order():
    assert kept(SUM) == KEPT_HEAD + """\
for epoch in range(3):
    total, n = 0.0, 0
    step_losses = []
    for x, y in ds:
        loss, _ = step(x, y)
        step_losses.append(loss)
        n += 1
    for loss in step_losses:
        total += loss.numpy()
    print(total / n)
"""  # fmt: skip


def test_statements_that_belong_together_move_together():
    after = kept(METHOD)
    assert after.endswith("""\
        step_values = []
        for number, (x, y) in enumerate(ds):
            loss = self.step(x, y)
            step_values.append((number, loss))
        for number, loss in step_values:
            value = loss.numpy().item()
            self.losses.append((number, value))
""")


def test_items_of_a_dict_are_lists_of_their_own():
    text = APPEND.replace("losses = []", 'log = {"a": [], "b": []}').replace(
        "losses.append(float(loss))",
        'log["a"].append(float(loss))\n        log["b"].append(float(rate))',
    )
    after = kept(text.replace("sum(losses)", "log"))
    assert '        step_losses.append(loss)\n        log["b"].append(float(rate))\n' in after
    assert '    for loss in step_losses:\n        log["a"].append(float(loss))\n' in after


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(APPEND.replace("@tf.function\n", ""), id="the step may return a variable"),
        pytest.param(
            APPEND.replace("float(loss))", "float(loss))\n        best = min(losses)"),
            id="the turn reads the list",
        ),
        pytest.param(
            APPEND.replace("float(loss))", "float(loss))\n        show()").replace(
                "losses = []", "losses = []\ndef show():\n    print(losses[-1])"
            ),
            id="a function that the turn calls reads the list",
        ),
        pytest.param(
            APPEND.replace("losses = []", "losses = []\nlog = Log(losses)"),
            id="another object holds the list",
        ),
        pytest.param(
            APPEND.replace("losses = []", "losses = Meter()"), id="it may be no plain list"
        ),
        pytest.param(
            APPEND.replace("float(loss))", "float(loss + epoch_weight))"),
            id="another value may change meanwhile",
        ),
        pytest.param(
            APPEND.replace("losses.append(float(loss))", "losses.append(out.numpy())"),
            id="whole outputs would be kept on the device",
        ),
        pytest.param(
            SUM.replace("n += 1", "n += 1\n        print(total)"), id="the turn shows the sum"
        ),
        pytest.param(
            APPEND.replace("in ds:", "in ds:\n        if x is None: break").replace(
                "print(sum(losses))", "print(loss)"
            ),
            id="the last loss may be another one after a break",
        ),
        pytest.param(
            METHOD.replace("value))", "value))\n            if value > 9: return"),
            id="the function ends inside the loop",
        ),
        pytest.param(
            METHOD.replace("value = loss", "# a number\n            value = loss"),
            id="a comment belongs to a statement that moves",
        ),
        pytest.param(
            KEPT_HEAD + "losses = []\ntry:\n    for x, y in ds:\n        loss, _ = step(x, y)\n"
            "        losses.append(float(loss))\nexcept KeyboardInterrupt:\n    pass\n",
            id="an interrupt would lose the values",
        ),
    ],
)  # fmt: skip
def test_values_stay_in_the_loop_where(text):
    assert kept(text) is None


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
    script = Module("train.py", text)
    line = next(n for n, row in enumerate(script.lines, start=1) if "mean.result" in row)
    found = metrics_out_of_loop(script, line, [script])
    return [(apply_edits(script.text, change.edits), change.kind) for change in found]


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
    script = Module("train.py", text)
    line = next(n for n, row in enumerate(script.lines, start=1) if "batch = " in row)
    change = rows_of_tensors(script, line)
    return (apply_edits(script.text, change.edits), change.kind) if change else None


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


PRINTS_HEAD = """\
import tensorflow as tf
@tf.function
def step(a, b):
    return tf.reduce_mean(a - b)
"""
PRINTED = PRINTS_HEAD + """\
for i, (x, y) in enumerate(ds):
    loss = step(x, y)
    print(f"step {i}: {loss.numpy():.4f}")
"""  # fmt: skip
BAR = PRINTS_HEAD + """\
bar = tqdm(ds)
for x, y in bar:
    loss = step(x, y)
    value = float(loss)
    bar.set_postfix(loss=value)
"""  # fmt: skip


def shown(text):
    script = Module("train.py", text)
    line = next(n for n, row in enumerate(script.lines, 1) if "= step(" in row)
    change = seldom_shown(script, line, [script])
    if change is None:
        return None
    assert change.kind is FixClass.EQUIVALENT
    return apply_edits(script.text, change.edits)


def test_a_print_stands_under_a_test_of_the_counter():
    assert shown(PRINTED) == PRINTS_HEAD + """\
for i, (x, y) in enumerate(ds):
    loss = step(x, y)
    if i % 50 == 0:
        print(f"step {i}: {loss.numpy():.4f}")
"""  # fmt: skip


def test_a_loop_that_does_not_count_begins_to():
    assert shown(BAR) == PRINTS_HEAD + """\
bar = tqdm(ds)
for step_number, (x, y) in enumerate(bar):
    loss = step(x, y)
    if step_number % 50 == 0:
        value = float(loss)
        bar.set_postfix(loss=value)
"""  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(PRINTED.replace("loss.numpy()", "3.0"), id="nothing waits for a value"),
        pytest.param(
            PRINTED.replace("    print", "    if i % 9 == 0:\n        print"), id="it is seldom now"
        ),
        pytest.param(
            PRINTED.replace('print(f"', 'print(next(names), f"'), id="the print does something else"
        ),
        pytest.param(
            PRINTED.replace(":.4f}\")", ":.4f}\", file=log)"), id="it is written into a file"
        ),
        pytest.param(PRINTED.replace("for i,", "for _,"), id="the counter has no name"),
    ],
)  # fmt: skip
def test_nothing_changes_where_seldom_prints(text):
    assert shown(text) is None


def test_a_name_that_is_read_later_stays_where_it_is():
    text = BAR.replace("for x", "value = 0\nfor x").replace("set_postfix(loss=value)", "update(1)")
    text = text.replace("bar.update", "print(float(loss))\n    bar.update")
    assert "    value = float(loss)\n    if step_number" in shown(text + "last = value\n")


IN_LOOP = """\
for step, (x, y) in enumerate(ds):
    loss, out = train(x, y)
    mean.update_state(loss)
    current = float(mean.result())
    if step % 100 == 0:
        print(step, current)
"""
HELPER = """\
import tensorflow as tf
meters = [tf.keras.metrics.Mean()]
shown = {}
def note(loss):
    for meter in meters:
        meter.update_state(loss)
        shown[meter.name] = float(meter.result())
def main():
    for step, x in enumerate(ds):
        loss = train(x)
        note(loss)
        if step % 100 == 0:
            print(step, shown)
main()
"""


def moved(text, *others):
    script = Module("train.py", text)
    line = next(n for n, row in enumerate(script.lines, 1) if ".result()" in row)
    found = reads_where_shown(script, line, [script, *others])
    return [(apply_edits(script.text, change.edits), change.kind) for change in found]


def test_a_reading_moves_into_the_test_that_needs_it():
    assert moved(IN_LOOP) == [
        (
            """\
for step, (x, y) in enumerate(ds):
    loss, out = train(x, y)
    mean.update_state(loss)
    if step % 100 == 0:
        current = float(mean.result())
        print(step, current)
""",
            FixClass.SAME_RESULTS,
        )
    ]


def test_a_function_keeps_the_updates_and_the_loop_gets_the_readings():
    (both, kind), (later, other) = moved(HELPER)
    after = HELPER.replace("        shown[meter.name] = float(meter.result())\n", "").replace(
        "            print",
        "            for meter in meters:\n"
        "                shown[meter.name] = float(meter.result())\n"
        "            print",
    )
    assert (later, other) == (after, FixClass.SAME_RESULTS)
    assert both == after.replace("def note", "@tf.function\ndef note")
    assert kind is FixClass.EQUIVALENT


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(IN_LOOP + "print(current)\n", id="it is read after the loop"),
        pytest.param(
            IN_LOOP.replace("if step % 100 == 0", "if current < 3"), id="the test needs it"
        ),
        pytest.param(
            IN_LOOP.replace("    if step", "    mean.reset_state()\n    if step"),
            id="the metric changes in between",
        ),
        pytest.param(
            IN_LOOP.replace("    loss, out", "    old = current\n    loss, out"),
            id="the next turn needs it",
        ),
        pytest.param(HELPER + "print(shown)\n", id="the readings are read after the loop"),
        pytest.param(HELPER + "note(1.0)\n", id="the function is called elsewhere"),
        pytest.param(
            HELPER.replace("        note(loss)\n", "        note(loss)\n        save(shown)\n"),
            id="every turn needs the readings",
        ),
        pytest.param(
            HELPER.replace("    for step, x", "    meters = []\n    for step, x"),
            id="the metrics are others where the loop is",
        ),
    ],
)
def test_readings_stay_where(text):
    assert moved(text) == []


def test_readings_stay_where_another_file_looks_at_them():
    assert moved(HELPER, Module("other.py", "from train import shown\n")) == []
