"""Training loops written by hand, from the text of a program."""

import pytest

from quickfit.causes._shared.train_loops.steps_in_text import (
    is_eager,
    is_over_dataset,
    runs_step,
    tapes,
)

from programs import program_of

STEP = """
import keras
import tensorflow as tf
model, optimizer = keras.Sequential([]), keras.optimizers.Adam()
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) - y)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss
"""


def read(text):
    """Return a program and its only file."""
    program = program_of(text)
    return program, program.module("/project/train.py")


@pytest.mark.parametrize(
    ("text", "name", "answer"),
    [
        pytest.param("train_step(x, y)\n", "train_step", True, id="the step"),
        pytest.param(
            "fast = tf.function(train_step)\nfast(x, y)\n", "fast", True, id="compiled by name"
        ),
        pytest.param(
            "def outer(d):\n    return strategy.run(train_step, args=d)\nouter(d)\n",
            "outer",
            True,
            id="through a strategy",
        ),
        pytest.param("def ask(x):\n    return model(x)\nask(x)\n", "ask", False, id="no step"),
        pytest.param(
            "def epoch():\n    for x, y in ds:\n        train_step(x, y)\nepoch()\n",
            "epoch",
            False,
            id="many steps",
        ),
        pytest.param("unknown(x)\n", "unknown", False, id="unknown"),
    ],
)
def test_which_calls_are_one_step(text, name, answer):
    program, module = read(STEP + text)
    assert runs_step(program, module, module.calls(name)[-1]) is answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        pytest.param("train_step(x, y)\n", True, id="called as it is"),
        pytest.param("fast = tf.function(train_step)\n", False, id="compiled by name"),
        pytest.param("@tf.function\ndef go():\n    train_step(1, 2)\n", False, id="from outside"),
        pytest.param("go(train_step)\n", False, id="handed on"),
    ],
)
def test_what_is_surely_eager(text, answer):
    program, module = read(STEP + text)
    (tape,) = tapes(program, module)
    assert is_eager(program, module, tape) is answer


@pytest.mark.parametrize(
    ("head", "answer"),
    [
        ("x in ds", True),
        ("n, x in enumerate(ds.take(9), 1)", True),
        ("x in tqdm(ds)", True),
        ("x in range(9)", False),
        ("x in something", False),
    ],
)
def test_which_loops_run_over_a_dataset(head, answer):
    source = "import tensorflow as tf\nds = tf.data.Dataset.range(9)\n"
    program, module = read(f"{source}for {head}:\n    pass\n")
    loop = module.tree.body[-1]
    assert is_over_dataset(program, module, loop) is answer
