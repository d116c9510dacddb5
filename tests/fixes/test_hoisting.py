"""Compiled functions that are made once, and numbers that are given to them as tensors."""

import textwrap

import pytest

from quickfit.findings import FixClass
from quickfit.fixes.change import patched
from quickfit.fixes.hoisting import hoisted_function
from quickfit.fixes.script import Script
from quickfit.fixes.tensor_arguments import Argument, tensor_argument

IN_LOOP = """\
import tensorflow as tf
net = tf.keras.Sequential()
for epoch in range(3):
    for x in ds:
        @tf.function
        def go(x):
            return tf.reduce_sum(net(x))

        total = go(x)
"""


def hoisted(text):
    script = Script("train.py", textwrap.dedent(text))
    line = next(n for n, row in enumerate(script.lines, start=1) if "tf.function" in row)
    change = hoisted_function(script, line, [script])
    return (patched(script.text, change.edits), change.kind) if change else (None, None)


def test_a_function_moves_in_front_of_all_loops():
    assert hoisted(IN_LOOP) == ("""\
import tensorflow as tf
net = tf.keras.Sequential()


@tf.function
def go(x):
    return tf.reduce_sum(net(x))


for epoch in range(3):
    for x in ds:
        total = go(x)
""", FixClass.SAME_RESULTS)  # fmt: skip


def test_a_function_of_a_method_becomes_a_method():
    text = """
        import tensorflow as tf
        class Engine:
            def __init__(self):
                self.net = tf.keras.Sequential()

            def update(self, x):
                @tf.function
                def go(x):
                    return tf.reduce_sum(self.net(x))

                return go(x)
        engine = Engine()
        for x in ds:
            engine.update(x)
        """
    after, _ = hoisted(text)
    assert after == textwrap.dedent("""
        import tensorflow as tf
        class Engine:
            def __init__(self):
                self.net = tf.keras.Sequential()

            @tf.function
            def go(self, x):
                return tf.reduce_sum(self.net(x))

            def update(self, x):
                return self.go(x)
        engine = Engine()
        for x in ds:
            engine.update(x)
        """)


def test_a_wrapped_function_is_wrapped_once():
    text = """\
import tensorflow as tf
def step(x):
    return tf.square(x)
for epoch in range(3):
    fast = tf.function(step)
    for x in ds:
        fast(x)
"""
    moved = text.replace("    fast = tf.function(step)\n", "")
    after, _ = hoisted(text)
    assert after == moved.replace("for epoch", "fast = tf.function(step)\nfor epoch")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            IN_LOOP.replace("net(x))", "net(x) * epoch)"), id="it reads the loop's counter"
        ),
        pytest.param(
            IN_LOOP.replace("            return", "            print(x)\n            return"),
            id="it prints while it is traced",
        ),
        pytest.param(
            IN_LOOP.replace("for epoch in range(3):", "for epoch in range(3):\n    net = make()"),
            id="its model is another in each turn",
        ),
        pytest.param(
            IN_LOOP.replace("        total", "        def go(x): pass\n        total"),
            id="its name is given twice",
        ),
        pytest.param(
            IN_LOOP.replace("        @tf.function", "        @log\n        @tf.function"),
            id="it has another decorator",
        ),
    ],
)
def test_a_function_stays_where_it_is_when(text):
    assert hoisted(text) == (None, None)


RATE = """\
import tensorflow as tf
net = tf.keras.Sequential()
@tf.function
def step(x, rate):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(net(x, training=True))
    for w, g in zip(net.trainable_variables, tape.gradient(loss, net.trainable_variables)):
        w.assign_sub(rate * g)
    return loss
for number, x in enumerate(ds):
    step(x, 0.1 * 0.9**number)
"""


def given(text, value="0.09"):
    script = Script("train.py", text)
    line = next(n for n, row in enumerate(script.lines, start=1) if row.startswith("    step("))
    change = tensor_argument(script, line, Argument("train.py", 3, "step", "rate", value), [script])
    return patched(script.text, change.edits) if change else None


def test_a_number_becomes_a_tensor():
    after = RATE.replace("0.1 * 0.9**number)", "tf.constant(0.1 * 0.9**number, tf.float32))")
    assert given(RATE) == after


def test_a_number_by_keyword_from_a_function_becomes_a_tensor():
    made = "def falls(n):\n    return 0.1 / (1 + n)\nfor number"
    text = RATE.replace("for number", made).replace("0.1 * 0.9**number", "rate=falls(number)")
    assert "step(x, rate=tf.constant(falls(number), tf.float32))" in given(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            RATE.replace("rate * g", "rate * g if rate > 0.01 else g"), id="it is compared"
        ),
        pytest.param(RATE.replace("rate * g", "tf.fill([rate], 1.0) * g"), id="it is a shape"),
        pytest.param(
            RATE.replace(
                "    return loss", "    for _ in range(rate):\n        pass\n    return loss"
            ),
            id="it counts turns",
        ),
        pytest.param(
            RATE.replace("    return loss", "    print(f'{rate}')\n    return loss"),
            id="it is printed",
        ),
        pytest.param(
            RATE.replace("    with", "    rate = rate or 1.0\n    with"), id="it is bound anew"
        ),
        pytest.param(
            RATE.replace(
                "net = ", "tf.keras.mixed_precision.set_global_policy('mixed_float16')\nnet = "
            ),
            id="the model computes in 16 bits",
        ),
        pytest.param(RATE.replace("0.1 * 0.9**number", "options"), id="what is given is unknown"),
    ],
)
def test_a_number_stays_one_where(text):
    assert given(text) is None


def test_a_whole_number_stays_one_where_it_may_meet_whole_numbers():
    assert given(RATE.replace("0.1 * 0.9**number", "number"), value="3") is None
