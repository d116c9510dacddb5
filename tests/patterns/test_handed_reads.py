"""Which functions read a value of the step that a training loop hands them."""

import pytest

from quickfit.causes.host.sync_each_step import CAUSE
from quickfit.patterns.handed_reads import handed_reads

from programs import program_of, spots

METER = """
class Meter:
    def __init__(self):
        self.value = 0.0

    def add(self, value):
        value = value.numpy()
        self.value += value
"""
TRAINING = """
import keras
import tensorflow as tf
from meter import Meter

model = keras.Sequential([keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam()
ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)

@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    optimizer.apply_gradients(tape.gradient(loss, model.trainable_variables))
    return loss

meter = Meter()
for epoch in range(9):
    for step, (x, y) in enumerate(ds):
        loss = train_step(x, y)
        meter.add(loss)
"""


def read(meter=METER, training=TRAINING):
    """Return the lines of `meter.py` that read a value in every step."""
    program = program_of({"train.py": training, "meter.py": meter})
    module = program.module("/project/meter.py")
    return [found.call.lineno for found in handed_reads(program, module)]


@pytest.mark.parametrize(
    ("meter", "training"),
    [
        pytest.param(METER, TRAINING, id="a method"),
        pytest.param(METER.replace("value.numpy()", "float(value)"), TRAINING, id="float"),
        pytest.param(
            METER, TRAINING.replace("meter.add(loss)", "meter.add(value=loss)"), id="by its name"
        ),
        pytest.param(
            METER,
            TRAINING.replace("meter.add(loss)", "meter.add(train_step(x, y))"),
            id="not named",
        ),
    ],
)
def test_a_value_that_is_handed_over_in_every_step_is_found(meter, training):
    assert read(meter, training) == [6]


def test_a_value_that_is_handed_on_is_found():
    meter = METER + "\n    def log(self, one):\n        self.add(one)\n"
    assert read(meter, TRAINING.replace("meter.add", "meter.log")) == [6]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(
            "        meter.add(loss)",
            "        if step % 50 == 0:\n            meter.add(loss)",
            id="now and then",
        ),
        pytest.param("        meter.add(loss)", "    meter.add(loss)", id="once per epoch"),
        pytest.param("meter.add(loss)", "meter.add(step)", id="no value of the step"),
        pytest.param(
            "meter.add(loss)",
            "best = meter.add(loss)\n        if best:\n            break",
            id="the loop goes by it",
        ),
        pytest.param("enumerate(ds)", "enumerate(ds.take(2))", id="a try-out"),
        pytest.param(
            "        loss = train_step(x, y)\n", "        loss = x[0]\n", id="no training"
        ),
    ],
)
def test_a_loop_that_does_not_hand_it_over_in_every_step_is_fine(old, new):
    assert old in TRAINING
    assert read(training=TRAINING.replace(old, new)) == []


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("        if self.is_due:\n            self.v = value.numpy()\n", id="if due"),
        pytest.param(
            "        self.n += 1\n        if self.n % 9:\n            return\n"
            "        self.v = value.numpy()\n",
            id="left before",
        ),
        pytest.param("        value = self.last\n        self.v = value.numpy()\n", id="another"),
        pytest.param("        self.v = self.v + value\n", id="it stays a tensor"),
        pytest.param(
            "        value = float(value)\n"
            "        if value < self.best:\n            self.keep()\n",
            id="it goes by the value",
        ),
    ],
)
def test_a_function_that_does_not_read_each_value_is_fine(body):
    assert read(METER[: METER.index("        value = value")] + body) == []


def test_the_place_is_the_read_with_the_loop_beside_it():
    source = {"train.py": TRAINING, "meter.py": METER}
    (spot,) = spots(CAUSE, source, "meter.py")
    assert spot.summary.startswith(
        "`value` is read after every step of the loop at line 18 of train.py: "
    )
    assert [(span.file, span.line) for span, _ in spot.related] == [("/project/train.py", 20)]
