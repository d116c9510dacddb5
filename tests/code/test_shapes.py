"""The shapes of arrays, followed through the text of a program."""

import ast

import pytest

from quickfit.code.shapes.layers import last_dense, layers_of, shape_after_model
from quickfit.code.shapes.shape import Array, Parts, Stream
from quickfit.code.shapes.shaping import Shaping
from quickfit.code.values import Made

from programs import program_of

HEAD = """
import cv2
import keras
import numpy as np
import pandas as pd
import tensorflow as tf
from PIL import Image
from sklearn.model_selection import train_test_split
n = 50
rows = np.zeros((n, 8))
marks = np.random.randint(0, 2, size=n)
pictures = np.ones([n, 32, 32, 3])
frame = pd.read_csv("a.csv")
"""


def shape(text, *, is_grey=False):
    """Return what is known of the last expression of a text."""
    program = program_of(HEAD.lstrip() + text)
    module = program.module("/project/train.py")
    last = module.tree.body[-1]
    assert isinstance(last, ast.Expr)
    return Shaping(program, is_grey=is_grey).of(module, last.value)


def sides(text, **options):
    found = shape(text, **options)
    return found.sides if isinstance(found, Array) else found


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("rows", (50, 8)),
        ("marks", (50,)),
        ("np.random.rand(3, 4)", (3, 4)),
        ("np.random.default_rng(0).normal(size=(n, 2))", (50, 2)),
        ("np.random.choice(10, n)", (50,)),
        ("tf.random.uniform((4, 5))", (4, 5)),
        ("np.zeros(len(rows))", (None,)),
        ("np.zeros(rows.shape[1:])", (8,)),
        ("np.zeros((n,) + rows.shape[1:])", (50, 8)),
        ("np.arange(7)", (7,)),
        ("np.array([[1, 2], [3, 4], [5, 6]])", (3, 2)),
        ("np.array([0] * 10 + [1] * 20)", (None,)),
        ("np.array([i % 2 for i in range(9)])", (None,)),
        ("np.array([rows[i] for i in range(9)])", (None, 8)),
        ("marks.astype('float32') / 2 + 1", (50,)),
        ("marks.reshape(-1, 1)", (50, 1)),
        ("np.linspace(0, 1, 200).reshape((-1, 2))", (100, 2)),
        ("marks[3:].reshape(-1, 1)", (None, 1)),
        ("np.reshape(marks, (n, 1))", (50, 1)),
        ("marks[:, None]", (50, 1)),
        ("marks[:, np.newaxis, np.newaxis]", (50, 1, 1)),
        ("tf.expand_dims(marks, -1)", (50, 1)),
        ("rows[0]", (8,)),
        ("rows[:, 0]", (50,)),
        ("rows[5:9]", (None, 8)),
        ("rows[marks > 0]", (None, 8)),
        ("rows[np.random.permutation(n)[:3]]", (None, 8)),
        ("pictures[..., :1]", (50, 32, 32, None)),
        ("rows.mean(axis=1)", (50,)),
        ("rows.sum(axis=1, keepdims=True)", (50, 1)),
        ("pictures.mean((1, 2, 3))", (50,)),
        ("np.mean(rows)", ()),
        ("tf.reduce_mean(pictures, axis=[1, 2])", (50, 3)),
        ("np.argmax(rows, axis=1)", (50,)),
        ("rows @ np.ones(8)", (50,)),
        ("rows @ np.ones((8, 2))", (50, 2)),
        ("rows.T", (8, 50)),
        ("np.stack([marks, marks], axis=1)", (50, 2)),
        ("np.concatenate([rows, rows])", (None, None)),
        ("tf.squeeze(marks[:, None])", (50,)),
        ("keras.utils.to_categorical(marks, 3)", (50, 3)),
        ("keras.utils.to_categorical(marks[:, None], 3)", (50, 3)),
        ("tf.one_hot(marks, depth=4)", (50, 4)),
        ("np.where(marks > 0, 1.0, 0.0)", (50,)),
        ("frame['a'].values", (None,)),
        ("frame[['a', 'b']].to_numpy()", (None, None)),
        ("train_test_split(rows, marks, test_size=0.2)[3]", (None,)),
        ("keras.datasets.cifar10.load_data()[0][1]", (50_000, 1)),
        ("tf.image.resize(tf.io.decode_png(tf.io.read_file('a'), channels=3), (8, 9))", (8, 9, 3)),
        ("np.array(Image.open('a').convert('L'))", (None, None)),
        ("np.asarray(Image.open('a').convert('RGB').resize((9, 8)))", (8, 9, 3)),
        ("keras.utils.img_to_array(keras.utils.load_img('a', target_size=(8, 9)))", (8, 9, 3)),
        ("cv2.resize(cv2.imread('a'), (9, 8))", (8, 9, 3)),
        ("cv2.imread('a', cv2.IMREAD_GRAYSCALE)", (None, None)),
    ],
)
def test_knows_the_shape_of(code, expected):
    assert sides(code) == expected


@pytest.mark.parametrize(
    "code",
    [
        "load()",
        "np.load('a.npy')",
        "load() / 255",
        "marks.reshape(shape)",
        "np.zeros(shape)",
        "rows[unknown]",
        "tf.squeeze(load())",
        "np.squeeze(np.zeros((n, side)))",
        "frame[mask]",
        "np.array([load(), 1])",
        "marks if flag else rows",
        "tf.numpy_function(load, [rows], tf.float32)",
        "np.array(marks, ndmin=2)",
    ],
)
def test_knows_nothing_of(code):
    assert shape(code) is None


def test_a_picture_that_may_be_grey_is_what_is_assumed():
    code = "np.array(Image.open('a').resize((9, 8)))"
    assert sides(code) == (8, 9, None)
    assert sides(code, is_grey=True) == (8, 9)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("y = marks\ny = y.reshape(-1, 1)\ny\n", (50, 1), id="a name given again"),
        pytest.param(
            "if flag:\n    y = marks[:9]\nelse:\n    y = marks\ny\n", (None,), id="both branches"
        ),
        pytest.param("if flag:\n    y = marks\nelse:\n    y = rows\ny\n", None, id="either branch"),
        pytest.param(
            "found = []\nfor row in rows:\n    found.append(row)\nnp.array(found)\n",
            (None, 8),
            id="a list that is filled",
        ),
        pytest.param(
            "found = []\nfor row in rows:\n    found.extend(row)\nnp.array(found)\n",
            None,
            id="a list that is extended",
        ),
        pytest.param(
            "def scaled(values, by=2):\n    return values * by\nscaled(rows)\n",
            (50, 8),
            id="a function",
        ),
        pytest.param(
            "@cached\ndef scaled(values):\n    return values\nscaled(rows)\n",
            None,
            id="a decorator that nobody knows",
        ),
        pytest.param(
            "h = rows\nfor _ in range(3):\n    h = h * 2\nh\n", (50, 8), id="a loop that keeps it"
        ),
        pytest.param(
            "h = rows\nfor _ in range(3):\n    h = h[1:]\nh\n",
            (None, 8),
            id="a loop that keeps the rank",
        ),
        pytest.param(
            "h = rows\nfor _ in range(3):\n    h = h[:, None]\nh\n", None, id="a loop that does not"
        ),
        pytest.param(
            "try:\n    y = Image.open('a')\n    y = np.zeros((4, 5))\nexcept OSError:\n    raise\n"
            "y\n",
            (4, 5),
            id="the end of a try that is left otherwise",
        ),
        pytest.param(
            "def read(path):\n"
            "    (y,) = tf.numpy_function(load, [path], [tf.int64])\n"
            "    y.set_shape(())\n"
            "    return y\n"
            "read('a')\n",
            (),
            id="set_shape",
        ),
        pytest.param(
            "def read(path):\n"
            "    y = tf.numpy_function(load, [path], tf.int64)\n"
            "    y.set_shape(())\n"
            "    y = encode(y)\n"
            "    return y\n"
            "read('a')\n",
            None,
            id="set_shape of something before",
        ),
    ],
)
def test_follows(text, expected):
    assert sides(text) == expected


def test_a_function_that_calls_itself_ends():
    assert shape("def f(a):\n    return f(a)\nf(rows)\n") is None


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("tf.data.Dataset.from_tensor_slices((rows, marks))", [(8,), ()]),
        ("tf.data.Dataset.from_tensor_slices((rows, marks)).batch(4)", [(4, 8), (4,)]),
        ("tf.data.Dataset.from_tensor_slices((rows, marks)).batch(4).unbatch()", [(8,), ()]),
        (
            "tf.data.Dataset.from_tensor_slices((rows, marks))"
            ".map(lambda x, y: (x, tf.one_hot(y, 2)))",
            [(8,), (2,)],
        ),
        (
            "tf.data.Dataset.zip((tf.data.Dataset.from_tensor_slices(rows),"
            " tf.data.Dataset.from_tensor_slices(list(range(9)))))",
            [(8,), ()],
        ),
        (
            "tf.data.Dataset.from_generator(feed, output_signature=("
            "tf.TensorSpec(shape=(28, 28), dtype=tf.float32), tf.TensorSpec((), tf.int32)))",
            [(28, 28), ()],
        ),
        ("keras.utils.image_dataset_from_directory('a')", [(32, 256, 256, 3), (32,)]),
        (
            "keras.utils.image_dataset_from_directory('a', label_mode='binary', batch_size=8,"
            " image_size=(64, 48), color_mode='grayscale')",
            [(8, 64, 48, 1), (8, 1)],
        ),
        (
            "keras.utils.timeseries_dataset_from_array(rows, marks, 5, batch_size=4)",
            [(4, 5, 8), (4,)],
        ),
        (
            "keras.preprocessing.image.ImageDataGenerator().flow_from_directory("
            "'a', class_mode='binary', target_size=(64, 64))",
            [(32, 64, 64, 3), (32,)],
        ),
    ],
)
def test_knows_what_a_stream_gives(code, expected):
    found = shape(code)
    assert isinstance(found, Stream)
    assert isinstance(found.element, Parts)
    assert [item.sides for item in found.element.items] == expected


HEAD_LAYERS = (
    "import keras\nfrom keras import Sequential\nfrom keras.layers import Dense, Flatten, ReLU\n"
)


def found(text):
    """Return the names of the layers that the model called `model` has; `?` for unknown ones."""
    program = program_of(HEAD_LAYERS + text + "model.summary()\n")
    module = program.module("/project/train.py")
    (call,) = module.calls("summary")
    made = program.only(module, call.func.value)
    assert isinstance(made, Made)
    listed = layers_of(program, made)
    if listed is None:
        return None
    return [
        each.value.maker.rsplit(".", 1)[1] + ("" if each.is_sure else "*")
        if isinstance(each.value, Made) and each.value.maker
        else "?"
        for each in listed
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("model = Sequential([Flatten(), Dense(1)])\n", ["Flatten", "Dense"]),
        ("model = Sequential(layers=(Flatten(), Dense(1)))\n", ["Flatten", "Dense"]),
        ("stack = [Flatten(), Dense(1)]\nmodel = Sequential(stack)\n", ["Flatten", "Dense"]),
        ("model = Sequential([Flatten()])\nmodel.add(Dense(1))\n", ["Flatten", "Dense"]),
        (
            "model = Sequential()\nfor _ in '123':\n    model.add(Dense(8))\nmodel.add(ReLU())\n",
            ["Dense*", "ReLU"],
        ),
        ("model = Sequential()\nif deep:\n    model.add(Dense(8))\n", ["Dense*"]),
        (
            "def build(units):\n    net = Sequential()\n    net.add(Dense(units))\n    return net\n"
            "model = build(3)\n",
            ["Dense"],
        ),
        (
            "def build(flat=False):\n    net = Sequential([ReLU()])\n"
            "    if flat:\n        net.add(Flatten())\n    return net\n"
            "other = build(True)\nmodel = build()\n",
            ["ReLU"],
        ),
        (
            "def build(flat=False):\n    net = Sequential([ReLU()])\n"
            "    if flat:\n        net.add(Flatten())\n    return net\n"
            "model = build(flat=True)\n",
            ["ReLU", "Flatten"],
        ),
        (
            "inner = Sequential([Flatten()])\nmodel = Sequential([inner, ReLU()])\n",
            ["Flatten", "ReLU"],
        ),
        ("model = Sequential([block(), Dense(1)])\n", ["?", "Dense"]),
        (
            "for units in (1, 2):\n    model = Sequential()\n    model.add(Dense(units))\n",
            ["Dense"],
        ),
    ],
)
def test_finds_the_layers_of(text, expected):
    assert found(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("model = Sequential(make())\n", id="an unknown list"),
        pytest.param("model = Sequential([*blocks, Dense(1)])\n", id="an unpacked list"),
        pytest.param(
            "stack = [Dense(1)]\nstack.append(Flatten())\nmodel = Sequential(stack)\n",
            id="a list that is changed",
        ),
        pytest.param("model = Sequential([Dense(1)])\nmodel.pop()\n", id="a layer taken away"),
        pytest.param(
            "def finish(net):\n    net.add(Flatten())\nmodel = Sequential([Dense(1)])\n"
            "finish(model)\n",
            id="a layer added by a function",
        ),
        pytest.param("model = Sequential(**config)\n", id="hidden arguments"),
    ],
)
def test_does_not_know_the_layers_of(text):
    assert found(text) is None


def test_the_last_layer_is_named_if_it_is_a_dense_one():
    program = program_of(HEAD_LAYERS + "model = Sequential([Flatten(), Dense(1)])\n")
    module = program.module("/project/train.py")
    (call,) = module.calls("Sequential")
    listed = layers_of(program, Made(call, module, maker="keras.Sequential"))
    assert listed is not None
    assert module.code(last_dense(listed).node) == "Dense(1)"
    assert last_dense(listed[:1]) is None
    assert last_dense([]) is None


HEAD_RANKS = "import keras\nimport tensorflow as tf\nfrom keras import Input, Model, Sequential\n"
HEAD_RANKS += "from keras.layers import *\n"


def given(text, sides=None):
    """Return the shape that `model` gives for an input of some shape."""
    program = program_of(HEAD_RANKS + text + "model.summary()\n")
    module = program.module("/project/train.py")
    (call,) = module.calls("summary")
    value = program.only(module, call.func.value)
    found = shape_after_model(Shaping(program), value, Array(sides) if sides is not None else None)
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
