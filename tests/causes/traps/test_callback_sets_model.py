"""Callbacks that set their model, from the text of a program."""

import pytest

from quickfit.causes.traps.callback_sets_model import CAUSE

from programs import lines, pair

NAME = "callback-sets-model"


def test_reports_the_pair_and_not_its_better_half():
    assert len(lines(CAUSE, pair(NAME, "slow"))) == 1
    assert lines(CAUSE, pair(NAME, "fixed")) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            pair(NAME, "slow").replace(
                "class Sample(keras.callbacks.Callback)",
                "class Base(keras.callbacks.Callback): ...\nclass Sample(Base)",
            ),
            id="behind another class",
        ),
    ],
)
def test_reports(text):
    assert len(lines(CAUSE, text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            pair(NAME, "slow").replace("self.model = model", "self.other = self.model"),
            id="read only",
        ),
        pytest.param(
            pair(NAME, "slow").replace("(keras.callbacks.Callback)", "(object)"), id="no callback"
        ),
        pytest.param(
            pair(NAME, "slow").replace("    def __init__", "    model = None\n    def __init__"),
            id="a model of its own",
        ),
        pytest.param("import tf_keras\n" + pair(NAME, "slow"), id="Keras 2"),
    ],
)
def test_stays_silent_on(text):
    assert lines(CAUSE, text) == []
