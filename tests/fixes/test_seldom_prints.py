"""Values that are shown for every 50th step only."""

import pytest

from quickfit.findings import FixClass
from quickfit.fixes.change import patched
from quickfit.fixes.script import Script
from quickfit.fixes.seldom_prints import seldom_shown

HEAD = """\
import tensorflow as tf
@tf.function
def step(a, b):
    return tf.reduce_mean(a - b)
"""
PRINTED = HEAD + """\
for i, (x, y) in enumerate(ds):
    loss = step(x, y)
    print(f"step {i}: {loss.numpy():.4f}")
"""  # fmt: skip
BAR = HEAD + """\
bar = tqdm(ds)
for x, y in bar:
    loss = step(x, y)
    value = float(loss)
    bar.set_postfix(loss=value)
"""  # fmt: skip


def shown(text):
    script = Script("train.py", text)
    line = next(n for n, row in enumerate(script.lines, 1) if "= step(" in row)
    change = seldom_shown(script, line, [script])
    if change is None:
        return None
    assert change.kind is FixClass.EQUIVALENT
    return patched(script.text, change.edits)


def test_a_print_stands_under_a_test_of_the_counter():
    assert shown(PRINTED) == HEAD + """\
for i, (x, y) in enumerate(ds):
    loss = step(x, y)
    if i % 50 == 0:
        print(f"step {i}: {loss.numpy():.4f}")
"""  # fmt: skip


def test_a_loop_that_does_not_count_begins_to():
    assert shown(BAR) == HEAD + """\
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
def test_nothing_changes_where(text):
    assert shown(text) is None


def test_a_name_that_is_read_later_stays_where_it_is():
    text = BAR.replace("for x", "value = 0\nfor x").replace("set_postfix(loss=value)", "update(1)")
    text = text.replace("bar.update", "print(float(loss))\n    bar.update")
    assert "    value = float(loss)\n    if step_number" in shown(text + "last = value\n")
