"""The shapes of arrays, followed through the text of a program."""

import ast

import pytest

from quickfit.shapes.shapes import Array, Parts, Stream
from quickfit.shapes.shaping import Shaping

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
