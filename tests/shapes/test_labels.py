"""What `fit` is given."""

import pytest

from quickfit.shapes.labels import fed
from quickfit.shapes.shapes import Array
from quickfit.shapes.shaping import Shaping

from programs import program_of

HEAD = (
    "import keras\nimport numpy as np\nimport pandas as pd\nimport tensorflow as tf\n"
    "x, y = np.zeros((100, 8)), np.zeros(100)\n"
    "data = tf.data.Dataset.from_tensor_slices((x, y))\n"
)


def batch(text):
    """Return the shapes of inputs and labels of the only `fit`."""
    program = program_of(HEAD + text)
    module = program.module("/project/train.py")
    (call,) = module.calls("fit")
    found = fed(Shaping(program), module, call)
    if found is None:
        return None
    inputs = found.inputs.sides if isinstance(found.inputs, Array) else None
    return inputs, found.labels.sides


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("model.fit(x, y)\n", ((32, 8), (32,))),
        ("model.fit(x=x, y=y, batch_size=10)\n", ((10, 8), (10,))),
        ("model.fit(x, y, batch_size=size)\n", ((None, 8), (None,))),
        ("model.fit(x[:9], np.zeros(9))\n", ((32, 8), (9,))),
        ("model.fit([x, x], y)\n", (None, (32,))),
        ("model.fit(load(), y)\n", (None, (32,))),
        ("model.fit(data.batch(5))\n", ((5, 8), (5,))),
        ("model.fit(data.shuffle(9).repeat().batch(5).prefetch(1), epochs=2)\n", ((5, 8), (5,))),
        ("model.fit(x, pd.read_csv('a.csv')['label'])\n", ((32, 8), (32, 1))),
        (
            "def feed():\n    while True:\n        at = np.random.randint(0, 100, 16)\n"
            "        yield x[at], y[at]\nmodel.fit(feed(), steps_per_epoch=3)\n",
            ((None, 8), (None,)),
        ),
        (
            "class Feed(keras.utils.Sequence):\n"
            "    def __init__(self, rows, marks):\n"
            "        self.rows = rows\n        self.marks = marks\n"
            "    def __getitem__(self, index):\n"
            "        part = slice(index, index + 4)\n"
            "        return self.rows[index:index + 4], self.marks[index:index + 4]\n"
            "feed = Feed(x, y)\nmodel.fit(feed)\n",
            ((None, 8), (None,)),
        ),
        ("model.fit(data.batch(5).map(lambda a, b: (a, b, b)))\n", ((5, 8), (5,))),
    ],
)
def test_knows_a_batch_of(text, expected):
    assert batch(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("model.fit(x, load())\n", id="unknown labels"),
        pytest.param("model.fit(x, [1, 0, 1])\n", id="a list, which Keras takes for inputs"),
        pytest.param("model.fit(x, [y, y])\n", id="two outputs"),
        pytest.param("model.fit(data)\n", id="a dataset that nobody batches"),
        pytest.param("model.fit(data.map(other).batch(5))\n", id="an unknown map"),
        pytest.param("model.fit(data.apply(other).batch(5))\n", id="an unknown transformation"),
        pytest.param("model.fit(*given)\n", id="hidden arguments"),
        pytest.param("model.fit(x)\n", id="no labels"),
        pytest.param(
            "model.fit(data.map(lambda a, b: {'a': a}).batch(5))\n", id="a dictionary of inputs"
        ),
    ],
)
def test_knows_no_batch_of(text):
    assert batch(text) is None
