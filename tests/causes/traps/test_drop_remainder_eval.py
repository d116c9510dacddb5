"""`drop_remainder=True` where a model is evaluated, from the text of a program."""

import pytest

from quickfit.causes.traps.drop_remainder_eval import CAUSE
from quickfit.findings import FixClass

from programs import fixed, lines, spots

HEAD = "import keras\nimport tensorflow as tf\nmodel = keras.Sequential([])\n"
DATA = "ds = tf.data.Dataset.range(9).batch(4, drop_remainder=True)\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(HEAD + DATA + "model.evaluate(ds)\n", id="evaluate"),
        pytest.param(HEAD + DATA + "model.predict(ds.prefetch(1))\n", id="predict"),
        pytest.param(HEAD + DATA + "model.fit(train, validation_data=ds)\n", id="validation"),
        pytest.param(
            HEAD + DATA.replace("4, drop_remainder=True", "4, True") + "model.evaluate(ds)\n",
            id="by position",
        ),
        pytest.param(
            HEAD
            + "def make(n):\n"
            + "    return tf.data.Dataset.range(n).batch(4, drop_remainder=True)\n"
            + "model.fit(make(90), validation_data=make(9))\n",
            id="one function for both",
        ),
    ],
)
def test_hints_at_examples_left_out(text):
    (spot,) = spots(CAUSE, text)
    assert "batch(" in text.splitlines()[spot.where.line - 1]
    assert spot.is_hint


def test_finds_the_evaluation_in_another_file():
    source = {
        "train.py": HEAD + "from data import make\nmodel.evaluate(make())\n",
        "data.py": "import tensorflow as tf\ndef make():\n"
        "    return tf.data.Dataset.range(9).batch(4, drop_remainder=True)\n",
    }
    assert lines(CAUSE, source, "data.py") == [3]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(HEAD + DATA + "model.fit(ds)\n", id="training"),
        pytest.param(HEAD + DATA, id="no use"),
        pytest.param(
            HEAD + DATA.replace("=True", "=False") + "model.evaluate(ds)\n", id="nothing dropped"
        ),
        pytest.param(
            HEAD
            + "def make(n, training):\n"
            + "    return tf.data.Dataset.range(n).batch(4, drop_remainder=training)\n"
            + "model.fit(make(90, True), validation_data=make(9, False))\n",
            id="only in training",
        ),
        pytest.param(
            HEAD + "strategy = tf.distribute.TPUStrategy()\n" + DATA + "model.evaluate(ds)\n",
            id="a TPU",
        ),
        pytest.param(
            HEAD + DATA + "scores = clf.predict(ds)\n", id="a `predict` of something unknown"
        ),
    ],
)
def test_stays_silent_on(text):
    assert lines(CAUSE, text) == []


def test_keeps_the_last_batch():
    text = HEAD + DATA + "model.evaluate(ds)\n"
    assert fixed(CAUSE, text) == text.replace("=True", "=False")
    assert spots(CAUSE, text)[0].change.kind is FixClass.MAY_CHANGE_RESULTS
