"""`find_nan` on planted faults: the right thing is named, and nothing is changed."""

import numpy as np
import pytest

from quickfit.errors import UsageError
from quickfit.tuning.numerics.nan_search import find_nan

from tuning.numerics.faulty_models import are_equal, batch, everything, layer, model

pytestmark = pytest.mark.loads_tf


def nan_weight():
    made, (x, y) = model(), batch()
    made.get_layer("last").kernel.assign(np.full((8, 1), np.nan))
    return made, (x, y)


def nan_statistics():
    made, (x, y) = model(), batch()
    made.get_layer("norm").moving_mean.assign(np.full(8, np.inf))
    return made, (x, y)


def inf_input():
    x, y = batch()
    x[3, 1] = np.inf
    return model(), (x, y)


def nan_label():
    x, y = batch()
    y[5] = np.nan
    return model(), (x, y)


def nan_sample_weight():
    x, y = batch()
    return model(), (x, y, np.array([1.0] * 7 + [np.nan], "float32"))


def log_of_nothing():
    from keras import ops

    return model(layer("logarithm", lambda x: ops.log(ops.relu(x)))), batch()


def division_inside_nested_models():
    import keras
    from keras import layers, ops

    divide = layer("divide", lambda x: x / ops.zeros_like(x))
    block = keras.Sequential([keras.Input((8,)), layers.Dense(8), divide], name="block")
    encoder = keras.Sequential([keras.Input((8,)), layers.Dense(8), block], name="encoder")
    return model(encoder), batch()


def operation_of_the_graph():
    from keras import ops

    return model(lambda hidden: ops.sqrt(-1.0 - ops.square(hidden))), batch()


def float16_overflow():
    import keras

    half = keras.layers.Activation("exponential", name="exponential", dtype="mixed_float16")
    big = keras.layers.Rescaling(20.0, name="big")
    return model(lambda hidden: half(big(hidden))), batch()


def gradient_alone():
    from keras import ops

    norm = layer("length", lambda x: x + ops.sqrt(ops.sum(ops.square(x * 0), -1, keepdims=True)))
    return model(norm), batch()


def loss_of_logits_taken_for_probabilities():
    from keras import ops

    return model(loss=lambda y, p: -ops.mean(y * ops.log(p * 0))), batch()


def exploding_update():
    import keras

    return model(optimizer=keras.optimizers.SGD(3e38)), (batch()[0] * 1000, batch()[1])


def infinite_learning_rate():
    import keras

    return model(optimizer=keras.optimizers.SGD(float("inf"), name="sgd")), batch()


def exploded_before():
    made, data = model(), batch()
    made.get_layer("last").kernel.assign(np.full((8, 1), 1e25))
    return made, data


FAULTS = [
    (nan_weight, "weight", "last/kernel", None, "An update before this batch"),
    (nan_statistics, "weight", "norm/moving_mean", None, "An update before this batch"),
    (inf_input, "input", "x", None, "np.isfinite(x)"),
    (nan_label, "label", "y", None, "np.isfinite(y)"),
    (nan_sample_weight, "label", "sample_weight", None, "The data itself"),
    (log_of_nothing, "layer", "logarithm", "Log", "log(0) is -Inf"),
    (division_inside_nested_models, "layer", "encoder/block/divide", "RealDiv", "division by 0"),
    (operation_of_the_graph, "op", "sqrt", "Sqrt", "negative number is NaN"),
    (float16_overflow, "layer", "exponential", "Exp", "float16 ends at 65504"),
    (gradient_alone, "gradient", "length", "SqrtGrad", "The slope of sqrt"),
    (loss_of_logits_taken_for_probabilities, "loss", "<lambda>", "Log", "Is from_logits right"),
    (exploding_update, "update", "first/kernel", None, "The learning rate is 3e+38"),
    (infinite_learning_rate, "update", "sgd/learning_rate", None, "The learning rate is inf"),
    (exploded_before, "loss", "mse", "Square", "The weights of the model reach 1e+25"),
]


@pytest.mark.parametrize(
    ("plant", "kind", "name", "op", "hint"),
    [pytest.param(*fault, id=fault[0].__name__.replace("_", " ")) for fault in FAULTS],
)
def test_names_the_planted_fault_and_changes_nothing(tf, plant, kind, name, op, hint):
    made, data = plant()
    before = everything(made)
    culprit = find_nan(made, data)
    assert (culprit.kind, culprit.name, culprit.op) == (kind, name, op)
    assert hint in culprit.hint
    assert not culprit.found.is_finite
    assert are_equal(before, everything(made))
    assert not tf.config.functions_run_eagerly()
    tf.math.log(tf.constant(0.0))  # TensorFlow's own check is off again


def test_a_healthy_step_has_no_culprit_and_changes_nothing(tf):
    import keras

    x, y = batch()
    made = model(optimizer="adam")
    made.fit(x, y, verbose=0)
    before, drawn = everything(made), made.get_layer("drop").seed_generator.state.numpy()
    assert find_nan(made, (x, y)) is None
    assert find_nan(made, (x, y), loss="mae", optimizer=keras.optimizers.Adam(0.1)) is None
    assert are_equal(before, everything(made))
    assert (drawn == made.get_layer("drop").seed_generator.state.numpy()).all()


def test_dicts_of_inputs_and_several_outputs_are_told_apart(tf):
    import keras
    from keras import layers, ops

    inputs = {"a": keras.Input((4,), name="a"), "b": keras.Input((4,), name="b")}
    both = layers.Concatenate()(list(inputs.values()))
    outputs = {"fine": layers.Dense(1, name="fine")(both), "bad": layers.Dense(1, name="bad")(both)}
    made = keras.Model(inputs, outputs)
    losses = {"fine": "mse", "bad": lambda y, p: ops.log(ops.zeros_like(p))}
    made.compile("sgd", losses)
    x, y = batch()
    labels = {"fine": y, "bad": y}
    assert find_nan(made, ({"a": x, "b": x}, labels)).name == "loss of output ['bad']"
    culprit = find_nan(made, ({"a": x, "b": x * np.nan}, labels))
    assert (culprit.kind, culprit.name) == ("input", "x['b']")


def test_float64_that_does_not_fit_is_named_before_keras_makes_it_infinite(tf):
    x, y = batch()
    culprit = find_nan(model(), (x.astype("float64") * 1e60, y))
    assert (culprit.kind, culprit.name) == ("input", "x")
    assert "does not fit into float32" in culprit.hint


def test_the_users_own_check_of_tensorflow_is_left_on(tf):
    made, data = log_of_nothing()
    tf.debugging.enable_check_numerics()
    try:
        assert find_nan(made, data).op == "Log"
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.math.log(tf.constant(0.0))
    finally:
        tf.debugging.disable_check_numerics()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param("dataset", "looks at one batch, not at a", id="a data set"),
        pytest.param("iterator", "looks at one batch, not at a", id="an iterator"),
        pytest.param("nothing", "a batch without inputs", id="nothing"),
        pytest.param("things", "holds a object that is no tensor", id="no numbers"),
    ],
)
def test_what_is_no_batch_is_refused(tf, given, message):
    data = {
        "dataset": tf.data.Dataset.from_tensors(batch()),
        "iterator": iter([batch()]),
        "nothing": None,
        "things": object(),
    }[given]
    with pytest.raises(UsageError, match=message):
        find_nan(model(), data)


def test_what_cannot_be_looked_at_is_said(tf):
    import keras

    x, y = batch()
    with pytest.raises(UsageError, match="wants a Keras model, not list"):
        find_nan([], (x, y))
    unbuilt = keras.Sequential([keras.layers.Dense(1)], name="unbuilt")
    with pytest.raises(UsageError, match="'unbuilt' has no weights yet"):
        find_nan(unbuilt, (x, y))
    bare = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)], name="bare")
    with pytest.raises(UsageError, match=r"'bare' are finite, and it has no loss .* loss='mse'"):
        find_nan(bare, (x, y))
    assert find_nan(bare, (x, y), loss="mse") is None
    with pytest.raises(UsageError, match="'net' are finite, and the batch has no labels"):
        find_nan(model(), x)


def own(loss, middle=None):
    """Return a model without a call of its own that is trained by two optimizers."""
    import keras
    import tensorflow as tf

    class Pair(keras.Model):
        def __init__(self):
            super().__init__()
            self.net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="dense")])
            if middle is not None:
                self.net.add(middle)
            self.second = keras.optimizers.Adam()
            self.seen = keras.metrics.Mean(name="seen")

        def train_step(self, data):
            x, y = keras.utils.unpack_x_y_sample_weight(data)[:2]
            with tf.GradientTape() as tape:
                value = loss(self.net(x, training=True), y)
            weights = self.net.trainable_variables
            gradients = tape.gradient(value, weights)
            self.optimizer.apply_gradients(zip(gradients, weights, strict=True))
            self.second.apply(gradients, weights)
            self.seen.update_state(value)
            return {"seen": self.seen.result()}

    made = Pair()
    made.compile("sgd")
    return made


def held(made):
    return [np.array(one.numpy()) for one in (*made.variables, *made.optimizer.variables)]


def test_the_loss_of_the_step_is_named_with_its_line(tf):
    made = own(lambda p, y: tf.reduce_mean(tf.math.log(tf.abs(p) * 0)))
    before = held(made)
    culprit = find_nan(made, batch())
    assert (culprit.kind, culprit.name, culprit.op) == ("loss", "train_step", "Log")
    assert culprit.place.startswith("test_nan_search.py:")
    assert are_equal(before, held(made))
    assert not made.second.built  # and has no slots that a bad update could be in


def test_a_layer_in_the_step_is_named(tf):
    made = own(lambda p, y: tf.reduce_mean(p), layer("root", lambda x: tf.sqrt(x * 0 - 1)))
    culprit = find_nan(made, batch()[0])
    assert (culprit.kind, culprit.name, culprit.op) == ("layer", "root", "Sqrt")


def test_the_gradients_of_the_step_are_looked_at(tf):
    made = own(lambda p, y: tf.sqrt(tf.reduce_sum(p * 0)))
    culprit = find_nan(made, batch())
    assert (culprit.kind, culprit.name, culprit.op) == ("gradient", "train_step", "SqrtGrad")
    assert [name.split("/")[-1] for name in culprit.weights] == ["kernel", "bias"]


def test_a_healthy_step_has_no_culprit_also_after_a_bad_one(tf):
    made = own(lambda p, y: tf.reduce_mean(tf.square(p)))
    made.seen.update_state(np.nan)
    assert find_nan(made, batch()) is None
    assert np.isnan(made.seen.result())


def test_a_loss_that_is_given_or_compiled_is_looked_at_instead(tf):
    made = own(lambda p, y: tf.reduce_mean(tf.square(p)))
    made.call = made.net.call
    culprit = find_nan(made, batch(), loss=lambda y, p: tf.math.log(p * 0))
    assert (culprit.kind, culprit.name) == ("loss", "<lambda>")
