"""Keys that a history does not have, from the text of a program."""

import pytest

from quickfit.causes.traps.history_key import CAUSE
from quickfit.findings import FixClass

from programs import code_of, fixed, lines, pair, spots

NAME = "history-key"


def test_reports_the_pair_and_not_its_better_half():
    assert len(lines(CAUSE, pair(NAME, "slow"))) == 1
    assert lines(CAUSE, pair(NAME, "fixed")) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            pair(NAME, "slow").replace(
                'print(history.history["acc"])', 'logs = history.history\nprint(logs["acc"])'
            ),
            id="another name of the file",
        ),
        pytest.param(
            pair(NAME, "slow").replace('["acc"]', '["val_loss"]'), id="validation without data"
        ),
        pytest.param(pair(NAME, "slow").replace('["acc"]', '["lr"]'), id="the rate of Keras 2"),
        pytest.param(
            pair(NAME, "slow").replace(
                'print(history.history["acc"])',
                'def plot(h):\n    return h.history["acc"]\nplot(history)',
            ),
            id="a function that plots",
        ),
    ],
)
def test_reports(text):
    assert len(lines(CAUSE, text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            pair(NAME, "slow").replace('metrics=["accuracy"]', "metrics=load()"),
            id="another metric that the text does not show",
        ),
        pytest.param(
            pair(NAME, "slow").replace('metrics=["accuracy"]', 'metrics=["acc"]'),
            id="the name that was given",
        ),
        pytest.param(
            pair(NAME, "slow").replace("print(", 'if "acc" in history.history: print('),
            id="asked for first",
        ),
        pytest.param(
            pair(NAME, "slow").replace(
                'print(history.history["acc"])',
                'try:\n    history.history["acc"]\nexcept KeyError:\n    pass',
            ),
            id="caught",
        ),
        pytest.param(
            pair(NAME, "slow").replace("model.fit(x, y,", "model.fit(x, y, callbacks=[Own()],"),
            id="a callback that writes into the logs",
        ),
        pytest.param(
            pair(NAME, "slow").replace(
                "history = ", 'model.compile("sgd", "mse", metrics=["acc"])\nhistory = '
            ),
            id="compiled again with another name",
        ),
        pytest.param("import tf_keras\n" + pair(NAME, "slow"), id="Keras 2"),
        pytest.param(
            pair(NAME, "slow").replace("model.fit(", "other.fit("), id="of something else"
        ),
    ],
)
def test_stays_silent_on(text):
    assert lines(CAUSE, text) == []


def test_the_edit_makes_one_of_the_other():
    assert code_of(fixed(CAUSE, pair(NAME, "slow"))) == code_of(pair(NAME, "fixed"))
    assert spots(CAUSE, pair(NAME, "slow"))[0].change.kind is FixClass.REPAIRS
