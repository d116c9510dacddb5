"""Values of steps that are collected after the loop instead of in every turn."""

import pytest

from quickfit.findings import FixClass
from quickfit.fixes.change import patched
from quickfit.fixes.kept_values import values_after_loop
from quickfit.fixes.script import Script

HEAD = """\
import tensorflow as tf
@tf.function
def step(a, b):
    return tf.reduce_mean(a - b), a
"""
APPEND = HEAD + """\
losses = []
for epoch in range(3):
    for x, y in ds:
        loss, out = step(x, y)
        losses.append(float(loss))
    print(sum(losses))
"""  # fmt: skip
SUM = HEAD + """\
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
    script = Script("train.py", text)
    marks = (".append(", "+=")
    line = next(n for n, row in enumerate(script.lines, start=1) if any(m in row for m in marks))
    change = values_after_loop(script, line, [script])
    if change is None:
        return None
    assert change.kind is FixClass.SAME_RESULTS
    return patched(script.text, change.edits)


def test_a_list_of_losses_is_filled_after_the_loop():
    assert kept(APPEND) == HEAD + """\
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
    assert kept(SUM) == HEAD + """\
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
            HEAD + "losses = []\ntry:\n    for x, y in ds:\n        loss, _ = step(x, y)\n"
            "        losses.append(float(loss))\nexcept KeyboardInterrupt:\n    pass\n",
            id="an interrupt would lose the values",
        ),
    ],
)  # fmt: skip
def test_values_stay_in_the_loop_where(text):
    assert kept(text) is None
