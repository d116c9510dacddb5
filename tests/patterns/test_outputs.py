"""Which layers give the output of a model that is trained."""

import ast

import pytest

from quickfit.patterns.outputs import model_of, trainings

from programs import program_of

HEAD = "import keras\nfrom keras import layers\n"


def asked(text):
    program = program_of(HEAD + text)
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
