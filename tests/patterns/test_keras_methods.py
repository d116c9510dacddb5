"""Whether a method is that of a Keras model."""

import pytest

from quickfit.patterns.keras_methods import is_models

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
