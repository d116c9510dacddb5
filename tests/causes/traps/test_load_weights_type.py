"""Weights that Keras 3 does not read, from the text of a program."""

import pytest

from quickfit.causes.traps.load_weights_type import CAUSE

from programs import lines, pair

NAME = "load-weights-type"


def test_reports_the_pair_and_not_its_better_half():
    assert len(lines(CAUSE, pair(NAME, "slow"))) == 1
    assert lines(CAUSE, pair(NAME, "fixed")) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "import tensorflow as tf\n"
            + pair(NAME, "slow").replace('"best.ckpt"', 'tf.train.latest_checkpoint("d")'),
            id="the latest",
        ),
        pytest.param(pair(NAME, "slow").replace("best.ckpt", "checkpoints/cp"), id="a folder"),
    ],
)
def test_reports(text):
    assert len(lines(CAUSE, text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(pair(NAME, "slow").replace("best.ckpt", "best.h5"), id="older files"),
        pytest.param(
            pair(NAME, "slow").replace('"best.ckpt"', "path"), id="a name that is not known"
        ),
        pytest.param("import tf_keras\n" + pair(NAME, "slow"), id="Keras 2"),
        pytest.param(
            pair(NAME, "slow").replace(
                'model.load_weights("best.ckpt")',
                'try:\n    model.load_weights("best.ckpt")\nexcept ValueError:\n    model.build()',
            ),
            id="caught",
        ),
    ],
)
def test_stays_silent_on(text):
    assert lines(CAUSE, text) == []
