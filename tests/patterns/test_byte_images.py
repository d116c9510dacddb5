"""Which pictures are surely made of bytes."""

import pytest

from quickfit.patterns.byte_images import is_bytes
from quickfit.patterns.tensors import origins

from programs import program_of

HEAD = "import keras\nimport numpy as np\nimport tensorflow as tf\n"
SLICED = """{made}
ds = tf.data.Dataset.from_tensor_slices({given})
ds = ds.shuffle(9){then}.map(lambda {names}: look(picture))
"""


def are_bytes(text):
    """Tell whether what `look` is given is bytes, whatever it may be."""
    program = program_of(HEAD + text)
    module = program.module("/project/train.py")
    (call,) = module.calls("look")
    found = origins(program, module, call.args[0], ("items",))
    return bool(found) and all(is_bytes(program, value) for value in found)


def sliced(made, given="(x, y)", names="picture, label", then=""):
    return SLICED.format(made=made, given=given, names=names, then=then)


@pytest.mark.parametrize(
    "text",
    [
        "look(tf.io.decode_png(raw))\n",
        "look(tf.io.decode_png(raw)[2:])\n",
        "look(tf.io.decode_png(raw, dtype=tf.uint8))\n",
        "look(np.zeros((9, 8, 8), dtype='uint8'))\n",
        "look(frames.astype(np.uint8))\n",
        "(x, y), rest = keras.datasets.mnist.load_data()\nlook(x)\n",
        sliced("x = read().astype('uint8')"),
        sliced("x = read().astype('uint8')", then=".batch(8)"),
        sliced("x = read().astype('uint8')", "x", "picture"),
        sliced("(x, y), (u, v) = keras.datasets.cifar10.load_data()"),
        sliced("train, test = keras.datasets.cifar10.load_data()", "train"),
        sliced("x = np.random.randint(0, 255, (9, 8, 8), dtype=np.uint8)"),
    ],
)
def test_is_bytes(text):
    assert are_bytes(text)


@pytest.mark.parametrize(
    "text",
    [
        "look(tf.io.decode_png(raw, dtype=tf.uint16))\n",
        "look(np.zeros((9, 8, 8)))\n",
        "look((frames > 0).astype(np.uint8))\n",
        "(x, y), rest = keras.datasets.mnist.load_data()\nlook(y)\n",
        "(x, y), rest = keras.datasets.california_housing.load_data()\nlook(x)\n",
        sliced("x = read().astype('float32')"),
        sliced("x = read()"),
        sliced("x = read().astype('uint8')", then=".map(change)"),
        sliced("masks = read().astype('uint8')", "(masks, y)"),
        sliced("x = read().astype('uint8')", names="label, picture"),
        sliced("x = read().astype('uint8')\nif wide:\n    x = x / 255"),
    ],
)
def test_may_be_something_else(text):
    assert not are_bytes(text)
