"""Losses of probabilities, from the text of a program."""

import pytest

from quickfit.causes.traps.logits_mismatch import CAUSE
from quickfit.findings import FixClass

from programs import code_of, fixed, lines, pair, spots

NAME = "logits-mismatch"


def test_reports_the_pair_and_not_its_better_half():
    assert len(lines(CAUSE, pair(NAME, "slow"))) == 1
    assert lines(CAUSE, pair(NAME, "fixed")) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            pair(NAME, "slow")
            .replace("Dense(2)", "Dense(1, activation=None)")
            .replace('"sparse_categorical_crossentropy"', "loss=keras.losses.BinaryCrossentropy()"),
            id="two classes",
        ),
        pytest.param(
            pair(NAME, "slow").replace(
                "keras.Sequential([keras.layers.Dense(2)])",
                "keras.Model(i := keras.Input((8,)), keras.layers.Dense(2)(i))",
            ),
            id="a model of calls",
        ),
    ],
)
def test_reports(text):
    assert len(lines(CAUSE, text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            pair(NAME, "slow").replace(
                '"sparse_categorical_crossentropy"',
                "keras.losses.SparseCategoricalCrossentropy(from_logits=True)",
            ),
            id="logits are said",
        ),
        pytest.param(
            pair(NAME, "slow").replace('"sparse_categorical_crossentropy"', '"mse"'),
            id="a regression",
        ),
        pytest.param(
            pair(NAME, "slow").replace("Dense(2)]", "Dense(2), keras.layers.Softmax()]"),
            id="an activation behind",
        ),
        pytest.param(
            pair(NAME, "slow").replace("model.fit", 'model.compile("sgd", "mse")\nmodel.fit'),
            id="one of two losses",
        ),
    ],
)
def test_stays_silent_on(text):
    assert lines(CAUSE, text) == []


def test_the_edit_makes_one_of_the_other():
    assert code_of(fixed(CAUSE, pair(NAME, "slow"))) == code_of(pair(NAME, "fixed"))
    assert spots(CAUSE, pair(NAME, "slow"))[0].change.kind is FixClass.REPAIRS
