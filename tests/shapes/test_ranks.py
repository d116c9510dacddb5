"""The shapes that layers and models give."""

import pytest

from quickfit.shapes.ranks import applied
from quickfit.shapes.shapes import Array
from quickfit.shapes.shaping import Shaping

from programs import program_of

HEAD = "import keras\nimport tensorflow as tf\nfrom keras import Input, Model, Sequential\n"
HEAD += "from keras.layers import *\n"


def given(text, sides=None):
    """Return the shape that `model` gives for an input of some shape."""
    program = program_of(HEAD + text + "model.summary()\n")
    module = program.module("/project/train.py")
    (call,) = module.calls("summary")
    value = program.only(module, call.func.value)
    found = applied(Shaping(program), value, Array(sides) if sides is not None else None)
    return found.sides if isinstance(found, Array) else found


@pytest.mark.parametrize(
    ("layer", "before", "after"),
    [
        ("Dense(7)", (4, 3), (4, 7)),
        ("Dense(units=7)", (4, 9, 9, 3), (4, 9, 9, 7)),
        ("Dropout(0.5)", (4, 3), (4, 3)),
        ("BatchNormalization()", (4, 9, 3), (4, 9, 3)),
        ("Rescaling(1 / 255)", (4, 9, 9, 3), (4, 9, 9, 3)),
        ("RandomFlip()", (4, 9, 9, 3), (4, 9, 9, 3)),
        ("Conv2D(8, 3)", (4, 9, 9, 3), (4, 7, 7, 8)),
        ("Conv2D(8, (3, 5), padding='same')", (4, 9, 9, 3), (4, 9, 9, 8)),
        ("Conv2D(8, 3, strides=2, padding='same')", (4, 9, 9, 3), (4, 5, 5, 8)),
        ("Conv1D(8, 3, padding='causal')", (4, 9, 3), (4, None, 8)),
        ("Conv2DTranspose(8, 3)", (4, 9, 9, 3), (4, None, None, 8)),
        ("MaxPooling2D()", (4, 9, 9, 3), (4, 4, 4, 3)),
        ("MaxPooling2D((3, 3))", (4, 9, 9, 3), (4, 3, 3, 3)),
        ("AveragePooling1D(2, strides=1)", (4, 9, 3), (4, 8, 3)),
        ("UpSampling2D()", (4, 9, 9, 3), (4, None, None, 3)),
        ("Flatten()", (4, 9, 9, 3), (4, 243)),
        ("Flatten()", None, (None, None)),
        ("GlobalAveragePooling2D()", (4, 9, 9, 3), (4, 3)),
        ("GlobalMaxPool1D()", None, (None, None)),
        ("Embedding(100, 16)", (4, 9), (4, 9, 16)),
        ("LSTM(8)", (4, 9, 3), (4, 8)),
        ("GRU(8, return_sequences=True)", (4, 9, 3), (4, 9, 8)),
        ("Bidirectional(LSTM(8))", (4, 9, 3), (4, 16)),
        ("TimeDistributed(Dense(5))", (4, 9, 3), (4, 9, 5)),
        ("TimeDistributed(Flatten())", (4, 9, 2, 3), (4, 9, 6)),
        ("Reshape((3, -1))", (4, 9), (4, 3, None)),
        ("RepeatVector(6)", (4, 9), (4, 6, 9)),
        ("Lambda(lambda x: tf.reduce_mean(x, axis=1))", (4, 9, 3), (4, 3)),
        ("TextVectorization(output_sequence_length=20)", (4,), (4, 20)),
    ],
)
def test_knows_what_a_layer_gives(layer, before, after):
    assert given(f"model = Sequential([{layer}])\n", before) == after


@pytest.mark.parametrize(
    ("layer", "before"),
    [
        ("Dense(7)", None),
        ("Dense(7)", (4,)),
        ("Conv2D(8, 3)", (4, 9, 3)),
        ("LSTM(8, return_sequences=flag)", (4, 9, 3)),
        ("LSTM(8, return_state=True)", (4, 9, 3)),
        ("GlobalAveragePooling2D(keepdims=True)", (4, 9, 9, 3)),
        ("Bidirectional(LSTM(8), merge_mode=None)", (4, 9, 3)),
        ("Lambda(something)", (4, 9)),
        ("Reshape(shape)", (4, 9)),
        ("Attention()", (4, 9, 3)),
        ("strange()", (4, 9)),
    ],
)
def test_does_not_know_what_a_layer_gives(layer, before):
    assert given(f"model = Sequential([{layer}])\n", before) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "model = Sequential([Input((9, 9, 3)), Conv2D(8, 3), Dense(1)])\n",
            (None, 7, 7, 1),
            id="an input of its own",
        ),
        pytest.param(
            "model = Sequential([Dense(4, input_shape=(20, 3)), Dense(1)])\n",
            (None, 20, 1),
            id="an input shape",
        ),
        pytest.param(
            "model = Sequential([Dense(4, input_dim=3), Dense(1)])\n", (None, 1), id="an input size"
        ),
        pytest.param(
            "a = Input(shape=(16,))\nh = Embedding(9, 4)(a)\nh = LSTM(3)(h)\n"
            "model = Model(inputs=a, outputs=Dense(2)(h))\n",
            (None, 2),
            id="a functional model",
        ),
        pytest.param(
            "a = Input((16,))\nh = a\nfor units in (8, 8):\n    h = Dropout(0.1)(Dense(units)(h))\n"
            "model = Model(a, Dense(2)(h))\n",
            (None, 2),
            id="blocks in a loop",
        ),
        pytest.param(
            "a, b = Input((3,)), Input((4,))\nh = Concatenate()([a, b])\n"
            "model = Model([a, b], Dense(2)(h))\n",
            (None, 2),
            id="two inputs",
        ),
        pytest.param(
            "a = Input((8, 8, 3))\nh = Conv2D(4, 3, padding='same')(a)\n"
            "model = Model(a, Add()([h, Conv2D(4, 1)(a)]))\n",
            (None, 8, 8, 4),
            id="a shortcut",
        ),
        pytest.param(
            "model = Sequential([keras.applications.ResNet50(include_top=False), Dense(1)])\n",
            (None, None, None, 1),
            id="a base that gives maps",
        ),
        pytest.param(
            "base = keras.applications.ResNet50(include_top=False, pooling='avg')\n"
            "model = Sequential([base, Dense(1)])\n",
            (None, 1),
            id="a base that pools",
        ),
        pytest.param(
            "class Net(Model):\n"
            "    def __init__(self, units):\n"
            "        super().__init__()\n"
            "        self.first = Sequential([Flatten(), Dense(4)])\n"
            "        self.head = Dense(3)\n"
            "    def call(self, x, training=False):\n"
            "        x = self.first(x)\n"
            "        return self.head(x)\n"
            "model = Net(3)\n",
            (None, 3),
            id="a class",
        ),
        pytest.param(
            "class Twice(keras.layers.Layer):\n"
            "    def call(self, x):\n"
            "        return tf.expand_dims(x, -1)\n"
            "model = Sequential([Input((5,)), Twice()])\n",
            (None, 5, 1),
            id="a layer of its own",
        ),
    ],
)
def test_knows_what_a_model_gives(text, expected):
    assert given(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("model = keras.models.load_model('a')\n", id="one from a file"),
        pytest.param(
            "a = Input((3,))\nmodel = Model(a, [Dense(1)(a), Dense(2)(a)])\n", id="two outputs"
        ),
        pytest.param(
            "a = Input((3,))\nmodel = Model(a, strange(a))\n", id="a function nobody knows"
        ),
        pytest.param(
            "class Net(Model):\n    def call(self, x):\n        return self.missing(x)\n"
            "model = Net()\n",
            id="a layer nobody knows",
        ),
    ],
)
def test_does_not_know_what_a_model_gives(text):
    found = given(text)
    assert not isinstance(found, tuple)
