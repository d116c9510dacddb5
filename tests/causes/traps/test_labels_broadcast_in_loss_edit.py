"""Edits of losses that compare labels and predictions of unlike shapes."""

import textwrap

import pytest

from quickfit.causes.traps.labels_broadcast_in_loss.edit import (
    fitting_loss,
    is_map_for_a_number,
    only_model,
    pooled_head,
)
from quickfit.code.edits import apply_edits
from quickfit.code.program import Program

LIST, COLUMN = [None], [None, 1]


def changed(text, word, labels=LIST, outputs=COLUMN):
    text = "import tensorflow as tf\n" + textwrap.dedent(text)
    found = Program(texts={"train.py": text})
    script = found.find_module("train.py")
    line = next(number for number, row in enumerate(script.lines, start=1) if word in row)
    edits = fitting_loss(script, line, labels, outputs, found)
    return apply_edits(text, edits).removeprefix("import tensorflow as tf\n") if edits else None


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


MAP = [None, 24, 24, 1]


def changed_pooled_heads(text, outputs=MAP):
    text = textwrap.dedent(text)
    model = only_model(Program(texts={"train.py": text}))
    edits = pooled_head(*model, outputs) if model else ()
    return apply_edits(text, edits) if edits else None


def test_a_map_is_pooled_in_a_list_of_layers():
    text = """\
    model = keras.Sequential([
        keras.layers.Conv2D(8, 3),
        # the answer
        keras.layers.Dense(1),
    ])
    """
    assert changed_pooled_heads(text) == textwrap.dedent("""\
    model = keras.Sequential([
        keras.layers.Conv2D(8, 3),
        # the answer
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(1),
    ])
    """)


def test_a_row_is_pooled_in_a_list_on_one_line():
    text = "model = Sequential([L.Conv1D(8, 3), L.Dense(1)])\n"
    assert changed_pooled_heads(text, [None, 300, 1]) == (
        "model = Sequential([L.Conv1D(8, 3), L.GlobalAveragePooling1D(), L.Dense(1)])\n"
    )


def test_a_layer_that_is_imported_by_name_is_imported():
    text = "from keras.layers import Conv2D, Dense\nm = Sequential([Conv2D(8, 3), Dense(1)])\n"
    assert changed_pooled_heads(text) == (
        "from keras.layers import Conv2D, Dense, GlobalAveragePooling2D\n"
        "m = Sequential([Conv2D(8, 3), GlobalAveragePooling2D(), Dense(1)])\n"
    )


def test_a_map_is_pooled_in_a_model_of_calls():
    text = "i = Input((24, 24, 3))\nh = L.Conv2D(8, 3)(i)\nm = keras.Model(i, L.Dense(1)(h))\n"
    assert changed_pooled_heads(text) == text.replace(
        "L.Dense(1)(h)", "L.Dense(1)(L.GlobalAveragePooling2D()(h))"
    )


def test_a_map_is_pooled_where_the_output_has_a_name():
    text = "out = L.Dense(1)(h)\nm = keras.Model(inputs=i, outputs=out)\n"
    assert changed_pooled_heads(text) == text.replace("(h)", "(L.GlobalAveragePooling2D()(h))")


def test_a_map_is_pooled_where_one_name_goes_through_the_layers():
    text = "x = L.Conv2D(8, 3)(i)\nx = L.Dense(1)(x)\nm = keras.Model(i, x)\n"
    assert changed_pooled_heads(text) == text.replace(
        "(1)(x)", "(1)(L.GlobalAveragePooling2D()(x))"
    )


def test_a_map_is_pooled_between_added_layers():
    text = "m = Sequential()\nm.add(L.Conv2D(8, 3))\nm.add(L.Dense(1))\n"
    assert changed_pooled_heads(text) == (
        "m = Sequential()\nm.add(L.Conv2D(8, 3))\n"
        "m.add(L.GlobalAveragePooling2D())\nm.add(L.Dense(1))\n"
    )


def test_a_recurrent_layer_returns_its_last_row():
    text = "m = Sequential([L.LSTM(8, return_sequences=True), L.Dense(1)])\n"
    assert changed_pooled_heads(text, [None, 30, 1]) == "m = Sequential([L.LSTM(8), L.Dense(1)])\n"
    both = "m = Sequential([L.Bidirectional({}), L.Dense(1)])\n"
    assert changed_pooled_heads(
        both.format("L.GRU(8, return_sequences=True)"), [None, 30, 1]
    ) == both.format("L.GRU(8)")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("m = Sequential([L.Conv2D(8, 3), L.Conv2D(1, 1)])\n", id="the head is a map"),
        pytest.param("m = Sequential(layers)\n", id="the layers have a name"),
        pytest.param("a = Sequential([C(), L.Dense(1)])\nb = Sequential([C()])\n", id="two models"),
        pytest.param("m = Sequential([C(), Dense(1)])\n", id="nobody knows where Dense is from"),
        pytest.param("class M(keras.Model):\n    pass\nm = Sequential([C(), L.Dense(1)])\n",
                     id="a model of one's own may be meant"),
        pytest.param("m = keras.Model(i, out)\n", id="the output is unknown"),
        pytest.param("x = 1\n", id="there is no model"),
    ],
)  # fmt: skip
def test_a_model_is_left_alone_where(text):
    assert changed_pooled_heads(text) is None


@pytest.mark.parametrize(
    ("labels", "outputs", "is_map"),
    [
        ([None], [None, 64, 64, 1], True),
        ([None, 1], [None, 300, 1], True),
        ([None], [None, 64, 64, 5], False),
        ([None], [None, 1], False),
        ([None, 64, 64], [None, 64, 64, 1], False),
    ],
)
def test_a_map_for_a_number_is_told_by_the_shapes(labels, outputs, is_map):
    assert is_map_for_a_number(labels, outputs) is is_map
