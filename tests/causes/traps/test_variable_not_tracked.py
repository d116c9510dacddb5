"""Variables of layers that Keras does not see, from the text of a program."""

import pytest

from quickfit.causes.traps.variable_not_tracked import CAUSE

from programs import lines, pair

NAME = "variable-not-tracked"


def test_reports_the_pair_and_not_its_better_half():
    assert len(lines(CAUSE, pair(NAME, "slow"))) == 1
    assert lines(CAUSE, pair(NAME, "fixed")) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            pair(NAME, "slow").replace("keras.layers.Layer", "keras.Model"), id="in a model"
        ),
    ],
)
def test_reports(text):
    assert len(lines(CAUSE, text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            pair(NAME, "slow").replace("shape[-1]))", "shape[-1]), trainable=False)"),
            id="not to be trained",
        ),
        pytest.param(pair(NAME, "slow").replace("tf.ones(shape[-1])", "0"), id="a counter"),
        pytest.param(
            pair(NAME, "slow").replace("keras.layers.Layer", "tf.Module"),
            id="a module of TensorFlow",
        ),
        pytest.param(
            pair(NAME, "slow").replace(
                "        return inputs", "        self.own = [self.scale]\n        return inputs"
            ),
            id="handed on by name",
        ),
        pytest.param("import tf_keras\n" + pair(NAME, "slow"), id="Keras 2"),
    ],
)
def test_stays_silent_on(text):
    assert lines(CAUSE, text) == []
