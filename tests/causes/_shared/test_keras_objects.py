"""Whether a method is that of a Keras model."""

import pytest

from quickfit.causes._shared.keras_objects import (
    is_models,
    is_one_row,
    is_optimizer,
    keras_name,
    wrapping,
)
from quickfit.code.edits import apply_edits

from programs import program_of


def answer(text):
    program = program_of(text)
    module = program.module("/project/train.py")
    call = module.calls("fit", "fit_generator")[-1]
    return is_models(program, module, call.func.value)


@pytest.mark.parametrize(
    "text",
    [
        "import keras\nkeras.Sequential().fit(x)\n",
        "import keras\ndef f(m):\n    m.compile(loss='mse')\n    m.fit(x)\n",
        "import keras\ndef f(m):\n    m.fit(x, validation_steps=3)\n",
        "import keras\ndef f(m):\n    m.fit_generator(x)\n",
        "import keras\nm = None\nif a:\n    m = keras.Sequential()\nm.fit(x)\n",
        "import keras\nclass C(keras.callbacks.Callback):\n    def f(self):\n"
        "        self.model.fit(x)\n",
    ],
)
def test_knows_a_model(text):
    assert answer(text)


@pytest.mark.parametrize(
    "text",
    [
        "import keras\ndef f(m):\n    m.fit(x)\n",
        "def f(m):\n    m.fit(x, validation_steps=3)\n",
        "import keras\nfrom sklearn.svm import SVC\nSVC().fit(x, initial_epoch=1)\n",
        "import keras\nclass M(keras.Model):\n    def fit(self, x): ...\nM().fit(x)\n",
        "import keras\nclass M:\n    def fit(self, x): ...\nM().fit(x)\n",
        "import keras\nimport tf_keras\nm = tf_keras.Sequential()\nm.compile(loss='a')\nm.fit(x)\n",
    ],
)
def test_knows_what_is_none(text):
    assert not answer(text)


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
    assert apply_edits(text, edits) == f"{head}print({new})\n"


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("np.expand_dims(x, 0)", True),
        ("np.expand_dims(x, axis=-1)", False),
        ("x[None]", True),
        ("x[np.newaxis, ...] / 255", True),
        ("x[i : i + 1]", True),
        ("x[i : i + 32]", False),
        ("x[:1]", True),
        ("x[i]", False),
        ("x.reshape(1, -1).astype('float32')", True),
        ("x.reshape(-1, 28, 28)", False),
        ("np.reshape(x, [1, 4])", True),
        ("np.array([x])", True),
        ("np.array(x)", False),
        ("np.zeros((1, 4))", True),
        ("np.zeros((9, 4))", False),
        ("[x[None], y[None]]", True),
        ("[x[None], y]", False),
        ("preprocess_input(np.expand_dims(x, 0))", True),
        ("x", False),
    ],
)
def test_which_expressions_are_one_row(code, answer):
    program = program_of(f"import numpy as np\nuse({code})\n")
    module = program.module("/project/train.py")
    assert is_one_row(program, module, module.calls("use")[0].args[0]) is answer


def test_every_way_to_a_name_counts():
    for other, answer in (("x[None]", True), ("x", False)):
        text = f"row = x[None]\nif late:\n    row = {other}\nuse(row)\n"
        program = program_of(text)
        module = program.module("/project/train.py")
        assert is_one_row(program, module, module.calls("use")[0].args[0]) is answer
