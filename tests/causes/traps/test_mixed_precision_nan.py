"""Probabilities in float16 at the end of a model, from the text of a program."""

import ast
from pathlib import Path

import pytest

from quickfit.causes.traps.mixed_precision_nan import CAUSE, model_of, trainings
from quickfit.findings import Effect, FixClass

from programs import fixed, lines, program_of, spots

EXAMPLES = Path(__file__).parents[3] / "corpus" / "pairs" / "mixed-precision-nan"
HEAD = """\
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers
keras.mixed_precision.set_global_policy("mixed_float16")
"""
SEQUENTIAL = """\
model = keras.Sequential([
    layers.Dense(8, activation="relu"),
    layers.Dense(3, activation="softmax")  # the classes
])
"""
COMPILED = "model.compile('adam', 'sparse_categorical_crossentropy')\n"
BINARY = "model.compile('adam', loss='binary_crossentropy')\n"
PLAIN = HEAD + SEQUENTIAL + COMPILED
CLASS = """\
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.gate = layers.Dense(4, activation="softmax")
        self.head = layers.Dense(3, activation=tf.nn.softmax)
    def call(self, x):
        x = x * self.gate(x)
        return self.head(x)
model = Net()
"""


def test_reports_the_last_layer():
    (spot,) = spots(CAUSE, PLAIN)
    assert spot.where.line == 7
    assert spot.effect is Effect.WRONG
    assert "softmax" in spot.summary
    assert spot.related[0][0].line == 4


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param(
            HEAD
            + "model = keras.Sequential()\nmodel.add(layers.Dense(8))\n"
            + "model.add(layers.Dense(3))\nmodel.add(layers.Activation('softmax'))\n"
            + COMPILED,
            8,
            id="added one by one",
        ),
        pytest.param(
            HEAD
            + "x = keras.Input((4,))\nh = layers.Dense(8)(x)\n"
            + "y = layers.Dense(3, activation='softmax')(h)\nmodel = keras.Model(x, y)\n"
            + COMPILED,
            7,
            id="functional",
        ),
        pytest.param(
            HEAD
            + "x = keras.Input((4,))\ny = layers.Softmax()(layers.Dense(8)(x))\n"
            + "z = layers.Dense(1)(x)\nmodel = keras.Model(inputs=x, outputs=[y, z])\n"
            + COMPILED,
            6,
            id="one of two outputs",
        ),
        pytest.param(
            HEAD
            + "ACT = 'softmax'\ndef build(n):\n    x = keras.Input((4,))\n"
            + "    y = layers.Dense(n, ACT)(x)\n    return keras.Model(x, y)\n"
            + "model = build(3)\n"
            + COMPILED,
            8,
            id="made by a function",
        ),
        pytest.param(HEAD + CLASS + COMPILED, 9, id="a class"),
        pytest.param(
            HEAD
            + SEQUENTIAL
            + "with tf.GradientTape() as tape:\n    loss = f(model(x))\n"
            + "g = tape.gradient(loss, model.trainable_variables)\nopt.apply(g, v)\n",
            7,
            id="trained by hand",
        ),
        pytest.param(HEAD + SEQUENTIAL.replace("softmax", "sigmoid") + BINARY, 7, id="a sigmoid"),
        pytest.param(
            HEAD
            + SEQUENTIAL.replace("softmax", "sigmoid")
            + "model.compile('adam', keras.losses.BinaryCrossentropy(from_logits=False))\n",
            7,
            id="a sigmoid and a loss as an object",
        ),
    ],
)
def test_reports(text, line):
    assert lines(CAUSE, text) == [line]


def test_follows_the_model_into_another_file():
    source = {
        "train.py": HEAD + "from net import build\nmodel = build()\n" + COMPILED,
        "net.py": "from tensorflow.keras import layers, Sequential\ndef build():\n"
        "    return Sequential([layers.Dense(3, activation='softmax')])\n",
    }
    assert lines(CAUSE, source, "net.py") == [3]
    assert lines(CAUSE, source) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(PLAIN.replace('"softmax"', '"softmax", dtype="float32"'), id="in float32"),
        pytest.param(PLAIN.replace("mixed_float16", "mixed_bfloat16"), id="bfloat16"),
        pytest.param(PLAIN.replace("keras.mixed", "# keras.mixed"), id="no policy"),
        pytest.param(HEAD + SEQUENTIAL, id="not trained"),
        pytest.param(PLAIN.replace("softmax", "relu"), id="another activation"),
        pytest.param(
            PLAIN.replace("# the classes", ", layers.Activation('linear', dtype='float32')"),
            id="a layer behind it",
        ),
        pytest.param(
            HEAD
            + "model = keras.Sequential()\nmodel.add(layers.Dense(3, activation='softmax'))\n"
            + "model.add(layers.Dense(3))\n"
            + COMPILED,
            id="a layer added behind it",
        ),
        pytest.param(
            HEAD
            + "x = keras.Input((4,))\na = layers.Dense(4, activation='softmax')(x)\n"
            + "y = layers.Dense(3)(layers.Multiply()([x, a]))\nmodel = keras.Model(x, y)\n"
            + COMPILED,
            id="attention inside",
        ),
        pytest.param(
            HEAD + CLASS.replace("self.head(x)", "layers.Dense(2)(x)") + COMPILED,
            id="a gate in a class",
        ),
        pytest.param(
            HEAD + SEQUENTIAL.replace("softmax", "sigmoid") + "model.compile('adam', 'mse')\n",
            id="a sigmoid that is no probability",
        ),
        pytest.param(
            HEAD
            + SEQUENTIAL.replace("softmax", "sigmoid")
            + "model.compile('adam', keras.losses.BinaryCrossentropy(from_logits=True))\n",
            id="a loss of logits",
        ),
        pytest.param(
            HEAD.replace("keras.mixed", "pass  # keras.mixed")
            + SEQUENTIAL
            + "keras.mixed_precision.set_global_policy('mixed_float16')\n"
            + COMPILED,
            id="made before the policy is set",
        ),
        pytest.param(PLAIN.replace('activation="softmax"', "**options"), id="anything"),
    ],
)
def test_stays_silent_on(text):
    assert lines(CAUSE, text) == []


def test_computes_the_last_layer_in_float32():
    assert fixed(CAUSE, PLAIN) == PLAIN.replace('"softmax")', '"softmax", dtype="float32")')
    assert spots(CAUSE, PLAIN)[0].change.kind is FixClass.REPAIRS


def test_turns_the_example_into_its_pair():
    text = fixed(CAUSE, (EXAMPLES / "slow.py").read_text())
    assert text.split("\n", 1)[1] == (EXAMPLES / "fixed.py").read_text().split("\n", 1)[1]


HEAD_OUTPUTS = "import keras\nfrom keras import layers\n"


def asked(text):
    program = program_of(HEAD_OUTPUTS + text)
    module = program.module("/project/train.py")
    (layer,) = [c for c in module.calls("Dense") if ast.unparse(c).endswith("Dense(9)")]
    return program, module, model_of(program, module, layer)


@pytest.mark.parametrize(
    "text",
    [
        "m = keras.Sequential([layers.Dense(1), layers.Dense(9)])\n",
        "m = keras.Sequential()\nm.add(layers.Dense(1))\nm.add(layers.Dense(9))\n",
        "x = keras.Input((3,))\nm = keras.Model(x, layers.Dense(9)(x))\n",
        "x = keras.Input((3,))\nd = layers.Dense(9)\nm = keras.Model(x, outputs=[d(x)])\n",
        "class M(keras.Model):\n    def __init__(self):\n        self.d = layers.Dense(9)\n"
        "    def call(self, x):\n        return self.d(x)\nm = M()\n",
    ],
)
def test_finds_the_model_of_a_last_layer(text):
    program, module, model = asked(text + "m.compile('sgd', 'mse')\n")
    assert model is not None
    assert [call.func.attr for _, call in trainings(program, module, model)] == ["compile"]


@pytest.mark.parametrize(
    "text",
    [
        "m = keras.Sequential([layers.Dense(9), layers.Dense(1)])\n",
        "m = keras.Sequential()\nm.add(layers.Dense(9))\nm.add(layers.Dense(1))\n",
        "m = keras.Sequential()\nfor _ in a:\n    m.add(layers.Dense(9))\n",
        "x = keras.Input((3,))\nm = keras.Model(x, layers.Dense(1)(layers.Dense(9)(x)))\n",
        "layers.Dense(9)\n",
    ],
)
def test_finds_none_for_a_layer_inside(text):
    assert asked(text)[2] is None


def test_another_model_that_is_trained_is_another_one():
    text = "a = keras.Sequential([layers.Dense(9)])\nb = keras.Sequential()\nb.compile('sgd')\n"
    program, module, model = asked(text)
    assert list(trainings(program, module, model)) == []
