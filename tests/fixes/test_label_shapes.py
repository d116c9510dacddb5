"""Edits of losses that compare labels and predictions of unlike shapes."""

import textwrap

import pytest

from quickfit.fixes.change import patched
from quickfit.fixes.label_shapes import fitting_loss
from quickfit.fixes.script import Project

LIST, COLUMN = [None], [None, 1]


def changed(text, word, labels=LIST, outputs=COLUMN):
    text = "import tensorflow as tf\n" + textwrap.dedent(text)
    found = Project({"train.py": text})
    script = found.script("train.py")
    line = next(number for number, row in enumerate(script.lines, start=1) if word in row)
    edits = fitting_loss(script, line, labels, outputs, found)
    return patched(text, edits).removeprefix("import tensorflow as tf\n") if edits else None


LOSS = "def loss(t, p):\n    return tf.reduce_mean(tf.square(t - p))\n\n\n"


def test_a_loss_of_compile_gets_labels_of_the_shape_of_its_predictions():
    text = LOSS + "model.compile('adam', loss=loss)\n"
    assert changed(text, "t - p") == text.replace(
        "    return", "    t = tf.reshape(t, tf.shape(p))\n    return"
    )


def test_labels_that_are_cast_are_reshaped_before():
    text = LOSS.replace("t - p", "tf.cast(t, p.dtype) - p") + "m.compile(loss=loss)\n"
    assert "    t = tf.reshape(t, tf.shape(p))\n    return" in changed(text, "square")


def test_the_order_of_a_loss_is_told_by_who_calls_it():
    text = """\
    def pinball(guess, truth, tau=0.8):
        \"\"\"Return the mean.\"\"\"
        d = truth - guess
        return tf.reduce_mean(tf.maximum(tau * d, (tau - 1) * d))

    with tf.GradientTape() as tape:
        loss = pinball(net(x, training=True), y)
    """
    assert "    truth = tf.reshape(truth, tf.shape(guess))\n    d = truth" in changed(text, "d = ")


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("tf.square(y - model(x, training=True))",
         "tf.square(y[:, None] - model(x, training=True))"),
        ("tf.abs(model(x, training=True) - y)", "tf.abs(model(x, training=True) - y[:, None])"),
        ("tf.math.squared_difference(y, model(x, training=True))",
         "tf.math.squared_difference(y[:, None], model(x, training=True))"),
    ],
)  # fmt: skip
def test_labels_in_a_step_get_an_axis(line, wanted):
    text = "def step(x, y):\n    loss = tf.reduce_mean({})\n    return loss\n"
    assert changed(text.format(line), "loss =") == text.format(wanted)


def test_labels_beside_a_named_prediction_get_an_axis():
    text = "def step(x, y):\n    p = m(x, training=True)\n    return tf.reduce_mean((p - y) ** 2)\n"
    assert changed(text, "p - y") == text.replace("p - y", "p - y[:, None]")


def test_a_class_of_loss_gets_labels_first():
    text = """\
    class Own(keras.losses.Loss):
        def call(self, t, p):
            return tf.reduce_mean(tf.square(t - p), axis=-1)
    """
    assert "        t = tf.reshape(t, tf.shape(p))\n        return" in changed(text, "t - p")


def test_labels_of_a_train_step_get_an_axis():
    text = """\
    class Net(keras.Model):
        def train_step(self, data):
            x, y = data
            p = self(x, training=True)
            return tf.reduce_mean(tf.square(y - p))

        def test_step(self, data):
            x, y = data
            p = self(x, training=False)
            return {"loss": loss(y, p)}
    """
    assert "tf.square(y[:, None] - p)" in changed(text, "y - p")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(LOSS, id="nobody says which are the labels"),
        pytest.param(LOSS + "loss(a, b)\n", id="the caller does not say it either"),
        pytest.param(LOSS + "loss(m(x, training=True), n(x, training=True))\n",
                     id="both are predictions"),
        pytest.param(LOSS.replace("t - p", "t[:, None] - p") + "m.compile('adam', loss)\n",
                     id="pairs are compared on purpose"),
        pytest.param(LOSS.replace("t - p", "(t - p) - (p - t)") + "m.compile('adam', loss)\n",
                     id="there are several differences"),
        pytest.param(LOSS.replace("t - p", "1 - p") + "m.compile('adam', loss)\n",
                     id="a number is compared"),
    ],
)  # fmt: skip
def test_a_loss_is_left_alone_where(text):
    assert changed(text, "square") is None


def test_shapes_that_differ_in_more_are_left_alone():
    text = LOSS + "model.compile('adam', loss=loss)\n"
    assert changed(text, "t - p", LIST, [None, 24, 24, 1]) is None
    assert changed(text, "t - p", LIST, [None, 3]) is None
