"""Steps that do not say that they train, from the text of a program."""

import pytest

from quickfit.causes.traps.training_flag_missing import CAUSE
from quickfit.findings import FixClass

from programs import code_of, fixed, lines, pair, spots

NAME = "training-flag-missing"
SEQUENTIAL = """model = keras.Sequential(
    [keras.layers.Dense(8), keras.layers.Dropout(0.5), keras.layers.Dense(2)]
)"""
CLASS = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.drop = keras.layers.Dropout(0.5)
    def call(self, x):
        return self.drop(x)
model = Net()"""


def test_reports_the_pair_and_not_its_better_half():
    assert len(lines(CAUSE, pair(NAME, "slow"))) == 1
    assert lines(CAUSE, pair(NAME, "fixed")) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            pair(NAME, "slow")
            .replace("keras.layers.Dropout(0.5), ", "")
            .replace("model.build(", "model.add(keras.layers.BatchNormalization())\nmodel.build("),
            id="a batch normalisation that is added",
        ),
        pytest.param(
            pair(NAME, "slow").replace(SEQUENTIAL, CLASS),
            id="a class",
        ),
    ],
)
def test_reports(text):
    assert len(lines(CAUSE, text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            pair(NAME, "slow").replace("model(x)", "model(x, training=False)"),
            id="it says that it rests",
        ),
        pytest.param(pair(NAME, "slow").replace("model(x)", "model(x, True)"), id="by position"),
        pytest.param(
            pair(NAME, "slow").replace("keras.layers.Dropout(0.5), ", ""),
            id="layers that do not mind",
        ),
        pytest.param(
            pair(NAME, "slow").replace(
                "gradient(loss, model.trainable_variables)", "gradient(loss, x)"
            ),
            id="gradients of the picture",
        ),
        pytest.param(
            'import os\nos.environ["KERAS_BACKEND"] = "jax"\n' + pair(NAME, "slow"),
            id="another backend",
        ),
    ],
)
def test_stays_silent_on(text):
    assert lines(CAUSE, text) == []


def test_the_edit_makes_one_of_the_other():
    assert code_of(fixed(CAUSE, pair(NAME, "slow"))) == code_of(pair(NAME, "fixed"))
    assert spots(CAUSE, pair(NAME, "slow"))[0].change.kind is FixClass.REPAIRS
