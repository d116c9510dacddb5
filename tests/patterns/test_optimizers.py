"""Optimizers of Keras, and how a file writes that one is to scale the loss."""

import pytest

from quickfit.fixes.change import patched
from quickfit.patterns.optimizers import is_optimizer, keras_name, wrapping

from programs import program_of


def optimizer(text):
    program = program_of(text)
    module = program.module("/project/train.py")
    (call,) = module.calls("print")
    return program, module, call.args[0]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("import keras\nprint(keras.optimizers.Adam())\n", True),
        ("import tensorflow as tf\nprint(tf.optimizers.SGD(0.1))\n", True),
        ("import keras\nprint(keras.optimizers.get('adam'))\n", True),
        ("import keras\nprint(keras.mixed_precision.LossScaleOptimizer(a))\n", True),
        ("import keras\nprint(keras.optimizers.schedules.CosineDecay(1, 2))\n", False),
        ("import keras\nprint(keras.optimizers.serialize(a))\n", False),
        ("import torch\nprint(torch.optim.Adam())\n", False),
        ("def f(a):\n    print(a)\n", False),
    ],
)
def test_knows_optimizers(text, answer):
    assert is_optimizer(*optimizer(text)) is answer


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("import tensorflow as tf\n", "tf.keras"),
        ("import tensorflow as tf\nimport keras as k\n", "k"),
        ("from tensorflow import keras\n", "keras"),
        ("from keras import layers\n", ""),
        ("def f():\n    import keras\n", ""),
    ],
)
def test_knows_how_a_file_calls_keras(text, name):
    assert keras_name(program_of(text).module("/project/train.py")) == name


@pytest.mark.parametrize(
    ("head", "made", "new"),
    [
        (
            "import keras\n",
            "keras.optimizers.Adam()",
            "keras.mixed_precision.LossScaleOptimizer(keras.optimizers.Adam())",
        ),
        (
            "from keras import optimizers as o\n",
            "o.Adam()",
            "o.LossScaleOptimizer(o.Adam())",
        ),
        ("from keras.optimizers import Adam\n", "Adam()", "Adam()"),
    ],
)
def test_wraps_an_optimizer(head, made, new):
    text = f"{head}print({made})\n"
    program, module, node = optimizer(text)
    edits = wrapping(program, program.only(module, node))
    assert patched(text, edits) == f"{head}print({new})\n"
