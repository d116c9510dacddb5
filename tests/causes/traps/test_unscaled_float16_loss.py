"""Loops in float16 whose loss is not scaled, from the text of a program."""

from pathlib import Path

import pytest

from quickfit.causes.traps.unscaled_float16_loss import CAUSE
from quickfit.findings import Effect, FixClass

from programs import fixed, lines, spots

EXAMPLES = Path(__file__).parents[3] / "corpus" / "pairs" / "unscaled-float16-loss"
HEAD = """\
import tensorflow as tf
from tensorflow import keras
keras.mixed_precision.set_global_policy("mixed_float16")
"""
MODEL = """\
model = keras.Sequential([keras.layers.Dense(3)])
optimizer = keras.optimizers.Adam(
    1e-3,  # slow
)
"""
STEP = """\
def step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x))  # the mean
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""
PLAIN = HEAD + MODEL + STEP
OWN_STEP = """\
class Net(keras.Model):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x, y, self(x))
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
"""


def test_reports_the_gradients():
    (spot,) = spots(CAUSE, PLAIN)
    assert spot.where.line == 11
    assert spot.effect is Effect.WRONG
    assert "`loss`" in spot.summary
    assert spot.related[0][0].line == 3


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            PLAIN.replace(
                'keras.mixed_precision.set_global_policy("mixed_float16")',
                "policy = keras.mixed_precision.Policy('mixed_float16')\n"
                "keras.config.set_dtype_policy(policy)",
            ),
            id="a policy as an object",
        ),
        pytest.param(
            PLAIN.replace("mixed_float16", "x")
            .replace('"x"', "NAME")
            .replace("keras.mixed", "NAME = 'mixed_float16'\nkeras.mixed", 1),
            id="a policy by a name",
        ),
        pytest.param(
            PLAIN.replace(
                "optimizer.apply_gradients(zip(gradients,",
                "optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_weights),",
            ).replace("    gradients = tape.gradient(loss, model.trainable_variables)\n", ""),
            id="gradients applied at once",
        ),
        pytest.param(
            PLAIN.replace(
                "optimizer.apply_gradients(zip(gradients, model",
                "optimizer.apply(\ngradients, (model",
            ),
            id="the way of Keras 3",
        ),
        pytest.param(HEAD + OWN_STEP, id="a model's own step"),
        pytest.param(
            PLAIN.replace("keras.optimizers.Adam", "keras.mixed_precision.LossScaleOptimizer"),
            id="an optimizer that divides",
        ),
        pytest.param(
            HEAD.replace("\nkeras.", "\nif args.fast:\n    keras.") + MODEL + STEP,
            id="under a condition",
        ),
        pytest.param(
            HEAD
            + MODEL.replace(
                "\nopt",
                "\ndef train(optimizer):\n    for x, y in data:\n"
                "        step(optimizer, x, y)\nopt",
            )
            + STEP.replace("step(x", "step(optimizer, x")
            + "train(optimizer)\n",
            id="an optimizer that is handed on",
        ),
    ],
)
def test_reports(text):
    assert len(lines(CAUSE, text)) == 1


def test_follows_the_policy_into_another_file():
    source = {
        "train.py": HEAD + "from loop import step\nfor x, y in data:\n    step(x, y)\n",
        "loop.py": "import tensorflow as tf\nfrom tensorflow import keras\n" + MODEL + STEP,
        "other.py": "import tensorflow as tf\nfrom tensorflow import keras\n" + MODEL + STEP,
    }
    assert lines(CAUSE, source, "loop.py") == [10]
    assert lines(CAUSE, source, "other.py") == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(PLAIN.replace("mixed_float16", "mixed_bfloat16"), id="bfloat16"),
        pytest.param(PLAIN.replace("mixed_float16", "float32"), id="full precision"),
        pytest.param(PLAIN.replace('"mixed_float16"', "args.policy"), id="any policy"),
        pytest.param(
            PLAIN.replace('"mixed_float16"', "'mixed_bfloat16' if tpu else 'mixed_float16'"),
            id="one of two",
        ),
        pytest.param(
            HEAD + 'keras.mixed_precision.set_global_policy("float32")\n' + MODEL + STEP,
            id="set back",
        ),
        pytest.param(
            "import tensorflow as tf\nfrom tensorflow import keras\n"
            + MODEL
            + 'keras.mixed_precision.set_global_policy("mixed_float16")\n'
            + STEP,
            id="a model that is made before",
        ),
        pytest.param(
            PLAIN.replace(
                "model(x))", "model(x))\n        scaled = optimizer.scale_loss(loss)"
            ).replace("gradient(loss", "gradient(scaled"),
            id="scaled",
        ),
        pytest.param(PLAIN.replace("model(x))", "model(x)) * LOSS_SCALE"), id="scaled by hand"),
        pytest.param(PLAIN.replace("1e-3,", "1e-3, loss_scale_factor=1024,"), id="a fixed scale"),
        pytest.param(
            PLAIN.replace("model(x))", "model(x))\n        s = optimizer.get_scaled_loss(loss)"),
            id="the way of Keras 2, which is another cause",
        ),
        pytest.param('import os\nos.environ["TF_USE_LEGACY_KERAS"] = "1"\n' + PLAIN, id="Keras 2"),
        pytest.param(PLAIN.replace("keras.optimizers.Adam", "mine.Adam"), id="any optimizer"),
        pytest.param(
            PLAIN.replace(
                "keras.Sequential([keras.layers.Dense(3)])", "keras.models.load_model('a.keras')"
            ),
            id="a model that brings its policy",
        ),
        pytest.param(PLAIN.replace("model.trainable_variables", "[image]"), id="no weights"),
        pytest.param(
            HEAD + OWN_STEP + "Net().compile('adam', auto_scale_loss=False)\n",
            id="compile does not scale",
        ),
        pytest.param(HEAD + MODEL + "model.compile(optimizer)\nmodel.fit(x, y)\n", id="fit"),
        pytest.param(
            PLAIN.replace("\nkeras.mixed", "\ndef fast():\n    keras.mixed"), id="nobody sets it"
        ),
    ],
)
def test_stays_silent_on(text):
    assert lines(CAUSE, text) == []


def test_scales_at_the_end_of_the_block():
    assert (
        fixed(CAUSE, PLAIN)
        == HEAD
        + """\
model = keras.Sequential([keras.layers.Dense(3)])
optimizer = keras.mixed_precision.LossScaleOptimizer(keras.optimizers.Adam(
    1e-3,  # slow
))
def step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x))  # the mean
        scaled_loss = optimizer.scale_loss(loss)
    gradients = tape.gradient(scaled_loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""
    )
    assert spots(CAUSE, PLAIN)[0].change.kind is FixClass.REPAIRS


def test_scales_in_a_model_that_compile_has_given_an_optimizer():
    text = fixed(CAUSE, HEAD + OWN_STEP)
    assert "            scaled_loss = self.optimizer.scale_loss(loss)\n" in text
    assert "tape.gradient(scaled_loss, self" in text
    assert "LossScaleOptimizer" not in text


def test_turns_the_example_into_its_pair():
    text = fixed(CAUSE, (EXAMPLES / "slow.py").read_text())
    assert text.split("\n", 1)[1] == (EXAMPLES / "fixed.py").read_text().split("\n", 1)[1]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            PLAIN.replace(
                "    optimizer.apply",
                "    gradients, _ = tf.clip_by_global_norm(gradients, 1.0)\n    optimizer.apply",
            ),
            id="clipped in between",
        ),
        pytest.param(PLAIN + STEP.replace("step", "other"), id="another loop with the optimizer"),
        pytest.param(PLAIN.replace("gradient(loss,", "gradient(loss + 1,"), id="no name"),
    ],
)
def test_offers_no_edit_for(text):
    assert all(spot.change is None for spot in spots(CAUSE, text))
