"""What `fit` is given."""

import pytest

from quickfit.causes.traps.labels_broadcast_in_loss.text import (
    Loss,
    LossKind,
    align_ranks,
    compiled_loss,
    fit_shapes,
    judge_loss,
)
from quickfit.code.shapes.shape import Array
from quickfit.code.shapes.shaping import Shaping
from quickfit.findings import Effect

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
    found = fit_shapes(Shaping(program), module, call)
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


SUM, EQUAL, SPARSE = (
    Loss("", kind) for kind in (LossKind.STRETCHES, LossKind.EQUAL, LossKind.SPARSE)
)
HAND = Loss("", LossKind.STRETCHES, aligns=False)


@pytest.mark.parametrize(
    ("loss", "labels", "predictions", "effect"),
    [
        (SUM, (8,), (8, 1), None),
        (SUM, (8, 1), (8, 1), None),
        (SUM, (8, 5), (8, 5, 1), None),
        (SUM, (8,), (8, 5, 5, 1), Effect.WRONG),
        (SUM, (None,), (None, 5, 1), Effect.WRONG),
        (SUM, (1,), (1, 5, 5, 1), None),
        (SUM, (8,), (8, 3), Effect.CRASHES),
        (SUM, (3,), (3, 3), Effect.WRONG),
        (SUM, (None,), (None, 3), None),
        (SUM, (8,), (8, None), None),
        (SUM, (8, 1), (8, 5, 5, 1), Effect.CRASHES),
        (SUM, (8, 1), (8, None, None, 1), None),
        (SUM, (8, 5, 5, 1), (8, 1), Effect.CRASHES),
        (HAND, (8,), (8, 1), Effect.WRONG),
        (HAND, (8, 1), (8,), Effect.WRONG),
        (HAND, (1,), (1, 1), None),
        (EQUAL, (8,), (8, 1), None),
        (EQUAL, (8,), (8, 3), Effect.CRASHES),
        (EQUAL, (8,), (8, None), None),
        (EQUAL, (8,), (8, None, 1), Effect.CRASHES),
        (EQUAL, (8, 3), (8, 3), None),
        (SPARSE, (8,), (8, 3), None),
        (SPARSE, (8, 1), (8, 3), None),
        (SPARSE, (8,), (8, 1), None),
        (SPARSE, (8, 3), (8, 3), Effect.CRASHES),
        (SPARSE, (8, None), (8, 3), None),
        (SPARSE, (8,), (8, 5, 3), Effect.CRASHES),
        (SPARSE, (8, 5), (8, 5, 3), None),
        (SPARSE, (8, 5, 5, 1), (8, 5, 5, 3), None),
    ],
)
def test_judges(loss, labels, predictions, effect):
    assert judge_loss(loss, labels, predictions) is effect


def test_aligns_a_side_of_one_only():
    assert align_ranks((8,), (8, 1)) == ((8, 1), (8, 1))
    assert align_ranks((8, 1), (8,)) == ((8, 1), (8, 1))
    assert align_ranks((8, 5), (8, 5, 1)) == ((8, 5), (8, 5))
    assert align_ranks((8, 5, 1), (8, 5)) == ((8, 5), (8, 5))
    assert align_ranks((8,), (8, 3)) == ((8,), (8, 3))
    assert align_ranks((8,), (8, None)) is None


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("'mse'", LossKind.STRETCHES),
        ("'MeanSquaredError'", LossKind.STRETCHES),
        ("keras.losses.Huber(delta=2.0)", LossKind.STRETCHES),
        ("keras.losses.mean_squared_error", LossKind.STRETCHES),
        ("tf.keras.losses.MSE", LossKind.STRETCHES),
        ("'binary_crossentropy'", LossKind.EQUAL),
        ("keras.losses.CategoricalCrossentropy(from_logits=True)", LossKind.EQUAL),
        ("keras.losses.SparseCategoricalCrossentropy()", LossKind.SPARSE),
    ],
)
def test_knows_the_loss(code, kind):
    assert loss_of(code).kind is kind


@pytest.mark.parametrize(
    "code",
    [
        "'crossentropy'",
        "keras.losses.Dice()",
        "keras.losses.SparseCategoricalCrossentropy(ignore_class=0)",
        "something",
        "['mse', 'mae']",
        "keras.losses.MeanSquaredError",
    ],
)
def test_does_not_know_the_loss(code):
    assert loss_of(code) is None


def loss_of(code):
    program = program_of(f"import keras\nimport tensorflow as tf\nmodel.compile(loss={code})\n")
    module = program.module("/project/train.py")
    (call,) = module.calls("compile")
    return compiled_loss(program, module, call.keywords[0].value)
