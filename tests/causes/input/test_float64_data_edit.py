"""Edits that compute in single precision."""

import textwrap

import pytest

from quickfit.causes.input.float64_data.edit import single_data, single_policy
from quickfit.code import Program
from quickfit.code.edits import apply_edits
from quickfit.findings import FixClass


def project(text, **others):
    texts = {"train.py": text, **{f"{name}.py": other for name, other in others.items()}}
    return Program(texts={name: textwrap.dedent(text) for name, text in texts.items()})


def policy(text, line):
    found = project(text)
    change = single_policy(found.find_module("train.py"), line, found)
    return change and apply_edits(found.find_module("train.py").text, change.edits)


def data(text, name="train.py", **others):
    found = project(text, **others)
    change = single_data(found)
    if change is None:
        return None
    assert change.kind is FixClass.MAY_CHANGE_RESULTS
    return apply_edits(found.find_module(name).text, [e for e in change.edits if e.file == name])


def test_a_setting_is_removed():
    text = 'import keras\nkeras.backend.set_floatx("float64")\nmodel = build()\n'
    assert policy(text, 2) == "import keras\nmodel = build()\n"


def test_a_setting_with_a_comment_gets_another_value():
    text = (
        "def setup():\n    # digits were lost\n    config.set_dtype_policy('float64')\n    seed()\n"
    )
    assert policy(text, 3) == text.replace("float64", "float32")


def test_a_setting_that_stands_alone_gets_another_value():
    text = 'def setup():\n    keras.config.set_floatx("float64")\n'
    assert policy(text, 2) == text.replace("float64", "float32")


SET = 'keras.config.set_floatx("float64")\n'


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(SET.replace("float64", "float32"), id="it is single already"),
        pytest.param(SET.replace('"float64"', "kind"), id="the value is worked out"),
        pytest.param(SET + 'x = x.astype("float64")\n', id="the type is named elsewhere too"),
        pytest.param(SET + "w = tf.cast(w, tf.float64)\n", id="tensors are made double"),
        pytest.param(SET + "with tf.GradientTape() as t:\n    pass\n", id="the loop is one's own"),
        pytest.param(SET + "scale = tf.constant(values)\n", id="a tensor has a type of its own"),
    ],
)
def test_a_setting_stays_where(text):
    assert policy(text, 1) is None


DATASET = "ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)\n"
WEIGHTS = "w = tf.Variable(tf.random.normal((8, 1), dtype=x.dtype))\n"


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        pytest.param("x = rng.normal(size=(9, 8))\ny = np.sin(x).sum(axis=1, keepdims=True)\n",
                     'x = rng.normal(size=(9, 8)).astype("float32")\n'
                     "y = np.sin(x).sum(axis=1, keepdims=True)\n", id="labels follow the data"),
        pytest.param("x = np.random.rand(9, 8)\ny = np.random.randn(9, 1)\n",
                     'x = np.random.rand(9, 8).astype("float32")\n'
                     'y = np.random.randn(9, 1).astype("float32")\n', id="both are made"),
        pytest.param("x = 2 * rng.random((9, 8)) - 1\ny = rng.integers(0, 2, 9)\n",
                     'x = 2 * rng.random((9, 8)).astype("float32") - 1\n'
                     "y = rng.integers(0, 2, 9)\n",
                     id="whole numbers stay"),
        pytest.param("x, y = rng.uniform(0, 1, (9, 8)), np.zeros(9, dtype='int32')\n",
                     'x, y = rng.uniform(0, 1, (9, 8)).astype("float32"), '
                     "np.zeros(9, dtype='int32')\n",
                     id="one of two is single"),
        pytest.param("x = rng.normal(size=(9, 8))\nx = (x - x.mean(0)) / x.std(0)\ny = x[:, :1]\n",
                     'x = rng.normal(size=(9, 8)).astype("float32")\n'
                     "x = (x - x.mean(0)) / x.std(0)\ny = x[:, :1]\n", id="the data is scaled"),
    ],
)  # fmt: skip
def test_arrays_of_a_dataset_are_made_single(before, wanted):
    assert data(before + DATASET + WEIGHTS) == wanted + DATASET + WEIGHTS


def test_arrays_are_followed_into_another_file():
    made = "def table(n):\n    raw = rng.normal(size=(n, 4))\n    return raw, raw[:, :1]\n"
    text = "from prepare import table\nds = tf.data.Dataset.from_tensor_slices(table(9))\n"
    assert data(text, "prepare.py", prepare=made) == made.replace(
        "size=(n, 4))", 'size=(n, 4)).astype("float32")'
    )


ARRAYS = "x = rng.normal(size=(9, 8))\ny = x[:, :1]\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(ARRAYS, id="there is no dataset"),
        pytest.param(ARRAYS.replace("x[:, :1]", "load()") + DATASET, id="labels are unknown"),
        pytest.param(ARRAYS.replace("x[:, :1]", "rng.integers(0, 9, 9) / 9") + DATASET,
                     id="a quotient of whole numbers is double"),
        pytest.param(ARRAYS.replace("x[:, :1]", "(x > 0).mean(1)") + DATASET,
                     id="a mean of truth values is double"),
        pytest.param(ARRAYS.replace("x[:, :1]", "np.array([0.5, 1.0])") + DATASET,
                     id="numbers are written out"),
        pytest.param(ARRAYS.replace("x[:, :1]", "x * rng.integers(0, 2, 9)") + DATASET,
                     id="whole numbers make floats double"),
        pytest.param(ARRAYS + DATASET + "w = tf.Variable(start)\n", id="a variable stays double"),
        pytest.param(ARRAYS + DATASET + "w = tf.Variable(start, dtype=tf.float64)\n",
                     id="a variable is made double"),
        pytest.param(ARRAYS + DATASET + "x = x.astype(np.float64)\n", id="the type is named"),
        pytest.param("x = rng.normal(0, 1)\ny = x\n" + DATASET, id="one number is no array"),
        pytest.param("def f(x, y):\n    " + DATASET, id="the arrays are arguments"),
        pytest.param('x = rng.normal(size=9).astype("float32")\ny = x\n' + DATASET,
                     id="all of it is single already"),
    ],
)  # fmt: skip
def test_arrays_are_left_alone_where(text):
    assert data(text) is None
