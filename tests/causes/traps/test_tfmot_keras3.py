"""Models of Keras 3 in a toolkit for Keras 2, from the text of a program."""

import pytest

from quickfit.causes.traps.tfmot_keras3 import CAUSE
from quickfit.findings import Effect

from programs import lines, spots

LATE = "import tensorflow as tf\nimport tensorflow_model_optimization as tfmot\n"
HEAD = "from tensorflow import keras\n" + LATE
MODEL = "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
PLAIN = HEAD + MODEL + "pruned = tfmot.sparsity.keras.prune_low_magnitude(model)\n"


def test_reports_a_model_of_keras_3():
    (spot,) = spots(CAUSE, PLAIN)
    assert spot.where.line == 5
    assert spot.effect is Effect.CRASHES
    assert "`model` is of Keras 3" in spot.summary
    assert spot.change is None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            HEAD + MODEL + "quantize = tfmot.quantization.keras.quantize_model\nquantize(model)\n",
            id="by another name",
        ),
        pytest.param(
            HEAD + "from tensorflow_model_optimization.sparsity import keras as sparsity\n"
            "sparsity.prune_low_magnitude(tf.keras.layers.Dense(3))\n",
            id="a layer",
        ),
        pytest.param(
            HEAD + MODEL + "def prune(layer):\n"
            "    return tfmot.sparsity.keras.prune_low_magnitude(layer)\n"
            "tf.keras.models.clone_model(model, clone_function=prune)\n",
            id="every layer of a copy",
        ),
        pytest.param(
            HEAD + "def build():\n    x = tf.keras.Input((3,))\n    return tf.keras.Model(x, x)\n"
            "tfmot.clustering.keras.cluster_weights(build(), number_of_clusters=8)\n",
            id="made by a function",
        ),
    ],
)
def test_reports(text):
    assert len(lines(CAUSE, text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            PLAIN.removeprefix("from tensorflow import keras\n"),
            id="`tf.keras` is first used behind the import that asks for Keras 2",
        ),
        pytest.param(PLAIN.replace("tf.keras", "tf_keras") + "import tf_keras\n", id="tf_keras"),
        pytest.param(
            'import os\nos.environ["TF_USE_LEGACY_KERAS"] = "1"\n' + PLAIN, id="legacy Keras"
        ),
        pytest.param(
            HEAD + "def prune(model):\n    tfmot.sparsity.keras.prune_low_magnitude(model)\n",
            id="any model",
        ),
        pytest.param(
            HEAD + MODEL + "def prune_low_magnitude(m): ...\nprune_low_magnitude(model)\n",
            id="a function of the program",
        ),
        pytest.param(HEAD + "tfmot.sparsity.keras.PolynomialDecay(0.0, 0.5)\n", id="a schedule"),
    ],
)
def test_stays_silent_on(text):
    assert lines(CAUSE, text) == []
