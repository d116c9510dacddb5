"""Arguments of `fit` that are gone, from the text of a program."""

from pathlib import Path

import pytest

from quickfit.causes.traps.keras2_fit_arguments import CAUSE
from quickfit.findings import Effect, FixClass

from programs import fixed, lines, spots

EXAMPLES = Path(__file__).parents[3] / "corpus" / "pairs" / "keras2-fit-arguments"
HEAD = "import tensorflow as tf\nmodel = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
PLAIN = HEAD + "model.fit(x, y, epochs=3, workers=4, use_multiprocessing=True)\n"
DATA = """\
from tensorflow import keras
class Data(keras.utils.Sequence):
    def __init__(self, paths{more}):
        super().__init__({handed})
model = keras.models.load_model("a.keras")
data = Data(paths)
model.fit(data, workers=8)
"""


def test_reports_what_is_given():
    (spot,) = spots(CAUSE, PLAIN)
    assert (spot.where.line, spot.where.column) == (3, 27)
    assert spot.effect is Effect.CRASHES
    assert "`workers` and `use_multiprocessing`" in spot.summary


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(HEAD + "model.predict(x, max_queue_size=3)\n", id="predict"),
        pytest.param(HEAD + "model.evaluate(x, workers=1)\n", id="evaluate"),
        pytest.param(
            "from tensorflow import keras\ndef train(model, data):\n"
            "    model.compile(optimizer='adam', loss='mse')\n    model.fit(data, workers=4)\n",
            id="a model by its compile",
        ),
        pytest.param(
            "from keras.models import Model\nclass Net(Model):\n    def call(self, x): ...\n"
            "net = Net()\nnet.fit(x, workers=2)\n",
            id="a class",
        ),
        pytest.param(
            "import keras\nclass Trainer:\n    def __init__(self):\n"
            "        self.model = keras.applications.ResNet50()\n"
            "    def run(self, data):\n        self.model.fit(data, workers=2)\n",
            id="kept in an object",
        ),
        pytest.param(
            "import keras\ndef train(model, data):\n"
            "    model.fit(data, steps_per_epoch=3, workers=4)\n",
            id="an argument that only Keras has",
        ),
        pytest.param(
            "import keras\nclass Check(keras.callbacks.Callback):\n"
            "    def on_epoch_end(self, epoch, logs=None):\n"
            "        self.model.predict(self.x, workers=2)\n",
            id="the model of a callback",
        ),
        pytest.param(
            "import keras\nfrom nets import unet\nmodel = unet()\n"
            "model.compile(optimizer='adam', loss='mse')\nmodel.fit(x, workers=2)\n",
            id="a model from elsewhere that is compiled",
        ),
    ],
)
def test_reports(text):
    assert len(lines(CAUSE, text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(HEAD + "model.fit(x, y, epochs=3)\n", id="nothing gone"),
        pytest.param(
            "import tf_keras as keras\nmodel = keras.Sequential()\nmodel.fit(x, workers=2)\n",
            id="tf_keras",
        ),
        pytest.param('import os\nos.environ["TF_USE_LEGACY_KERAS"] = "1"\n' + PLAIN, id="Keras 2"),
        pytest.param("import keras\ndef f(thing):\n    thing.fit(x, workers=4)\n", id="anything"),
        pytest.param(
            "import keras\ndef fit(*a, workers=1): ...\nfit(workers=3)\n", id="a function"
        ),
        pytest.param(
            "import keras\nfrom gensim.models import Word2Vec\nWord2Vec(x).fit(x, workers=4)\n",
            id="another library",
        ),
        pytest.param(
            "import keras\nclass Net(keras.Model):\n    def fit(self, x, workers=1): ...\n"
            "Net().fit(x, workers=4)\n",
            id="a fit of its own",
        ),
        pytest.param(
            HEAD + "try:\n    model.fit(x, workers=4)\nexcept TypeError:\n    model.fit(x)\n",
            id="with another way",
        ),
        pytest.param(
            HEAD + "if tf.__version__ < '2.16':\n    model.fit(x, workers=4)\n", id="for TF 2.15"
        ),
        pytest.param(
            "import keras\nclass Data(keras.utils.PyDataset): ...\ndata = Data(workers=4)\n",
            id="given to the data",
        ),
    ],
)
def test_stays_silent_on(text):
    assert lines(CAUSE, text) == []


def test_takes_the_arguments_away():
    text = PLAIN.replace(" workers=4, ", "\n    workers=4,  # all\n    ")
    assert fixed(CAUSE, PLAIN) == HEAD + "model.fit(x, y, epochs=3)\n"
    assert "workers" not in fixed(CAUSE, text)
    assert spots(CAUSE, PLAIN)[0].change.kind is FixClass.REPAIRS


def test_turns_the_example_into_its_pair():
    text = fixed(CAUSE, (EXAMPLES / "slow.py").read_text())
    assert text.split("\n", 1)[1] == (EXAMPLES / "fixed.py").read_text().split("\n", 1)[1]


@pytest.mark.parametrize(
    ("more", "handed", "word"),
    [(", **kwargs", "**kwargs", "takes them"), ("", "", "can take them")],
)
def test_says_where_the_arguments_belong(more, handed, word):
    (spot,) = spots(CAUSE, DATA.format(more=more, handed=handed))
    assert f"`Data` {word}" in spot.change.note
    assert "workers=8" in spot.change.note
