"""Methods of Keras 2 that scaled the loss, from the text of a program."""

from pathlib import Path

import pytest

from quickfit.causes.traps.keras3_loss_scale_api import CAUSE
from quickfit.code.edits import apply_edits, merge_edits
from quickfit.findings import Effect, FixClass

from programs import lines, spots

EXAMPLES = Path(__file__).parents[3] / "corpus" / "pairs" / "keras3-loss-scale-api"
HEAD = """\
import tensorflow as tf
tf.keras.mixed_precision.set_global_policy("mixed_float16")
optimizer = tf.keras.optimizers.Adam(1e-3)  # the best
"""
STEP = """\
def step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x))
        scaled = optimizer.get_scaled_loss(loss)  # for float16
    scaled_gradients = tape.gradient(scaled, model.trainable_variables)
    gradients = optimizer.get_unscaled_gradients(scaled_gradients)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""
PLAIN = HEAD + STEP
SAME_NAME = PLAIN.replace(" scaled_gradients =", " gradients =").replace(
    "(scaled_gradients)", "(gradients)"
)


def fixed(text):
    changes = [spot.change for spot in spots(CAUSE, text) if spot.change]
    return apply_edits(text, merge_edits(changes))


def test_reports_both_calls():
    found = spots(CAUSE, PLAIN)
    assert [spot.where.line for spot in found] == [7, 9]
    assert {spot.effect for spot in found} == {Effect.CRASHES}
    assert "optimizer.get_scaled_loss" in found[0].summary


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "from keras.mixed_precision import LossScaleOptimizer\nfrom keras import optimizers\n"
            "opt = LossScaleOptimizer(optimizers.SGD())\nopt.get_scaled_loss(loss)\n",
            id="a LossScaleOptimizer",
        ),
        pytest.param(
            "import tensorflow as tf\nclass Net(tf.keras.Model):\n"
            "    def train_step(self, data):\n        self.optimizer.get_scaled_loss(data)\n",
            id="of a model's own step",
        ),
        pytest.param(
            "import keras\ndef step(optimizer, loss):\n    optimizer.get_scaled_loss(loss)\n",
            id="given to a function",
        ),
        pytest.param(
            "import keras\nclass Trainer:\n    def __init__(self):\n"
            "        self.opt = keras.optimizers.Adam()\n"
            "    def step(self, loss):\n        return self.opt.get_scaled_loss(loss)\n",
            id="kept in an object",
        ),
        pytest.param(
            "import keras\nopt = keras.optimizers.Adam()\nif fp16:\n    opt.get_scaled_loss(1)\n",
            id="under a condition of the program's own",
        ),
    ],
)
def test_reports_a_call(text):
    assert len(lines(CAUSE, text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "import tensorflow as tf\nclass Scaler:\n    def get_scaled_loss(self, x): ...\n"
            "Scaler().get_scaled_loss(1)\n",
            id="a class of the program",
        ),
        pytest.param("import tf_keras as keras\n" + STEP, id="tf_keras"),
        pytest.param(
            'import os\nos.environ["TF_USE_LEGACY_KERAS"] = "1"\n' + PLAIN, id="legacy Keras"
        ),
        pytest.param(
            HEAD + "if hasattr(optimizer, 'get_scaled_loss'):\n    optimizer.get_scaled_loss(1)\n",
            id="only where there is one",
        ),
        pytest.param(
            HEAD + "try:\n    s = optimizer.get_scaled_loss(1)\n"
            "except AttributeError:\n    s = optimizer.scale_loss(1)\n",
            id="with another way",
        ),
        pytest.param(
            "import tensorflow_addons as tfa\nimport tensorflow as tf\n"
            "tfa.optimizers.AdamW(1e-3).get_scaled_loss(1)\n",
            id="an optimizer of another library",
        ),
        pytest.param("def f(optimizer):\n    optimizer.get_scaled_loss(1)\n", id="no Keras at all"),
        pytest.param(HEAD + "optimizer.scale_loss(1)\n", id="the way of Keras 3"),
    ],
)
def test_stays_silent_on(text):
    assert lines(CAUSE, text) == []


def test_wraps_the_optimizer_and_uses_what_there_is():
    assert (
        fixed(PLAIN)
        == """\
import tensorflow as tf
tf.keras.mixed_precision.set_global_policy("mixed_float16")
optimizer = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.Adam(1e-3))  # the best
def step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x))
        scaled = optimizer.scale_loss(loss)  # for float16
    scaled_gradients = tape.gradient(scaled, model.trainable_variables)
    gradients = scaled_gradients
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""
    )
    assert {spot.change.kind for spot in spots(CAUSE, PLAIN)} == {FixClass.REPAIRS}


def test_turns_the_example_into_its_pair():
    text = (EXAMPLES / "slow.py").read_text()
    _, new = fixed(text).split("\n", 1)
    assert new == (EXAMPLES / "fixed.py").read_text().split("\n", 1)[1]


def test_takes_a_statement_away_that_would_say_nothing():
    text = SAME_NAME
    assert "get_unscaled" not in fixed(text)
    assert "gradients = gradients" not in fixed(text)


def test_leaves_a_block_that_is_one():
    text = SAME_NAME.replace(
        "    gradients = optimizer.get_un", "    if half:\n        gradients = optimizer.get_un"
    )
    assert "    if half:\n        pass\n    optimizer.apply" in fixed(text)


@pytest.mark.parametrize(
    ("imports", "made", "wrapped"),
    [
        (
            "from tensorflow import keras",
            "keras.optimizers.Adam()",
            "keras.mixed_precision.LossScaleOptimizer(keras.optimizers.Adam())",
        ),
        (
            "import keras\nfrom keras.optimizers import Adam",
            "Adam()",
            "keras.mixed_precision.LossScaleOptimizer(Adam())",
        ),
        (
            "from keras import mixed_precision, optimizers",
            "optimizers.Adam()",
            "optimizers.LossScaleOptimizer(optimizers.Adam())",
        ),
    ],
)
def test_wraps_with_the_names_of_the_file(imports, made, wrapped):
    text = f"""\
{imports}
from keras.mixed_precision import set_global_policy as precision
from keras import config
config.set_dtype_policy("mixed_float16")
opt = {made}
opt.get_scaled_loss(1)
"""
    assert f"opt = {wrapped}\nopt.scale_loss(1)\n" in fixed(text)


def test_leaves_an_optimizer_alone_that_scales():
    text = PLAIN.replace(
        "tf.keras.optimizers.Adam(1e-3)", "tf.keras.optimizers.LossScaleOptimizer(a)"
    )
    assert fixed(text).count("LossScaleOptimizer") == 1


def test_leaves_an_optimizer_alone_that_is_wrapped_later():
    more = "if half:\n    optimizer = tf.keras.optimizers.LossScaleOptimizer(optimizer)\n"
    text = fixed(HEAD + more + STEP)
    assert text.count("LossScaleOptimizer") == 1
    assert "optimizer.scale_loss(loss)" in text


def test_leaves_an_optimizer_alone_in_full_precision():
    assert "LossScaleOptimizer" not in fixed(PLAIN.replace("mixed_float16", "float32"))


@pytest.mark.parametrize(
    "between",
    [
        "gradients, _ = tf.clip_by_global_norm(gradients, 1.0)",
        "gradients = [tf.clip_by_norm(g, 1.0) for g in gradients]",
        "print(tf.linalg.global_norm(gradients))",
    ],
)
def test_offers_no_edit_where_gradients_are_looked_at_in_between(between):
    text = PLAIN.replace(
        "(scaled_gradients)\n    optimizer", f"(scaled_gradients)\n    {between}\n    optimizer"
    )
    assert between in text
    assert [spot.change for spot in spots(CAUSE, text)] == [None, None]
