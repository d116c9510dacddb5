"""Which layer is blamed, where the shape of the model makes it hard."""

import numpy as np
import pytest

from quickfit.tuning.numerics.nan_search import find_nan
from quickfit.tuning.numerics.op_watch import named_leaves

from tuning.numerics.faulty_models import are_equal, batch, everything, layer, model


@pytest.mark.loads_tf
def test_a_mask_of_infinities_that_a_softmax_takes_in_is_innocent(tf):
    from keras import layers, ops

    def mask(x):
        return ops.where(ops.arange(8) < 4, x, -np.inf)

    def planted(hidden):
        hidden = layers.Softmax(name="softmax")(layer("mask", mask)(hidden))
        return layer("reciprocal", lambda x: 1.0 / (x * 0))(hidden)

    culprit = find_nan(model(planted), batch())
    assert culprit.name == "reciprocal"


@pytest.mark.loads_tf
def test_an_operation_between_the_layers_of_a_subclass_is_found_with_its_line(tf):
    import keras

    class Net(keras.Model):
        def __init__(self):
            super().__init__(name="subclassed")
            self.first = keras.layers.Dense(8)
            self.last = keras.layers.Dense(1)

        def call(self, x):
            hidden = tf.math.log(self.first(x) - 1000.0)
            return self.last(hidden)

    made = Net()
    x, y = batch()
    made(x)
    made.compile("sgd", "mse")
    culprit = find_nan(made, (x, y))
    assert (culprit.kind, culprit.name, culprit.op) == ("layer", "subclassed", "Log")
    assert culprit.place.startswith("test_nan_checks.py:")


@pytest.mark.loads_tf
def test_statistics_that_the_pass_spoiled_are_not_blamed_for_it(tf):
    from keras import layers

    def planted(hidden):
        hidden = layer("large", lambda x: x * 0 + 2e38)(hidden)
        return layers.BatchNormalization(name="overflows")(hidden)

    culprit = find_nan(model(planted), batch())
    assert (culprit.kind, culprit.name) == ("layer", "overflows")
    assert culprit.op in ("Square", "SquaredDifference", "Mean", "Mul")


@pytest.mark.loads_tf
def test_a_function_inside_of_a_layer_is_looked_into(tf):
    inverse = layer("inverse", tf.function(lambda x: tf.math.reciprocal(x * 0)))
    culprit = find_nan(model(inverse), batch())
    assert (culprit.name, culprit.op) == ("inverse", "Reciprocal")


@pytest.mark.loads_tf
def test_a_layer_called_in_a_loop_of_a_recurrent_one_is_blamed_with_its_path(tf):
    import keras
    from keras import layers, ops

    cell = layers.SimpleRNNCell(4, activation=lambda x: ops.log(x - 100.0), name="cell")
    planted = keras.Sequential([layers.Reshape((2, 4)), layers.RNN(cell, name="memory")])
    culprit = find_nan(model(planted), batch())
    assert culprit.kind == "layer"
    assert "memory" in culprit.name
    assert culprit.op == "Log"


def masked(x):
    """Return what is above 0, and -Inf for the rest: nothing is left of the row of zeros."""
    from keras import ops

    return ops.where(x > 0, x, -np.inf)


def rows_without_an_entry():
    """Return a batch with a row that a mask leaves nothing of."""
    x, y = batch()
    x[3] = 0.0
    return x, y


def masking_net(*middle):
    import keras

    layers = [keras.Input((4,)), *middle, keras.layers.Dense(1)]
    made = keras.Sequential(layers, name="masking")
    made.compile("sgd", "mse")
    return made


@pytest.mark.loads_tf
def test_a_softmax_of_a_row_that_is_all_masked_is_blamed_and_not_the_mask(tf):
    from keras import layers

    net = masking_net(layer("mask", masked), layers.Softmax(name="softmax"))
    culprit = find_nan(net, rows_without_an_entry())
    assert (culprit.kind, culprit.name, culprit.op) == ("layer", "softmax", "Softmax")
    assert "A row of only -Inf has no softmax: mask with -1e9" in culprit.hint
    assert "The -Inf comes from the operation SelectV2 of the layer `mask` at" in culprit.hint
    assert culprit.place is None, "the softmax is Keras's, whoever asked for the look"
    assert culprit.found.nan == 4


@pytest.mark.loads_tf
def test_in_one_layer_the_operation_that_made_the_nan_is_named(tf):
    net = masking_net(layer("both", lambda x: tf.nn.softmax(masked(x))))
    culprit = find_nan(net, rows_without_an_entry())
    assert (culprit.name, culprit.op) == ("both", "Softmax")
    assert "The -Inf comes from the operation SelectV2 at test_nan_checks.py:" in culprit.hint


@pytest.mark.loads_tf
def test_a_softmax_written_by_hand_is_seen_through(tf):
    def by_hand(x):
        hidden = masked(x)
        powers = tf.exp(hidden - tf.reduce_max(hidden, -1, keepdims=True))
        return powers / tf.reduce_sum(powers, -1, keepdims=True)

    culprit = find_nan(masking_net(layer("hand", by_hand)), rows_without_an_entry())
    assert (culprit.name, culprit.op) == ("hand", "Sub")
    assert "Sub makes NaN of infinities" in culprit.hint


@pytest.mark.loads_tf
def test_a_mask_that_is_the_log_of_zeros_is_one_for_a_softmax_too(tf):
    from keras import layers

    log = layer("log_mask", lambda x: x + tf.math.log(tf.cast(x > 0, tf.float32)))
    culprit = find_nan(masking_net(log, layers.Softmax(name="end")), rows_without_an_entry())
    assert (culprit.name, culprit.op) == ("end", "Softmax")
    assert "operation Log of the layer `log_mask`" in culprit.hint


@pytest.mark.loads_tf
def test_infinities_that_reach_the_loss_without_nan_stay_the_fault(tf):
    import keras

    inputs = keras.Input((4,))
    made = keras.Model(inputs, layer("mask", masked)(inputs))
    made.compile("sgd", "mse")
    x, _ = batch()
    culprit = find_nan(made, (x, x))
    assert (culprit.name, culprit.op) == ("mask", "SelectV2")


@pytest.mark.loads_tf
def test_infinities_that_were_computed_are_the_fault_though_nan_comes_later(tf):
    net = masking_net(layer("inverse", lambda x: 1.0 / (x * 0)), layer("less", lambda x: x - x))
    culprit = find_nan(net, batch())
    assert (culprit.name, culprit.op) == ("inverse", "RealDiv")


@pytest.mark.loads_tf
def test_an_exploding_recurrence_is_an_overflow_and_nothing_else_is_said(tf, capfd):
    import gc

    import keras

    growing = keras.initializers.RandomNormal(stddev=4.0, seed=0)
    memory = keras.layers.SimpleRNN(
        8, activation=None, recurrent_initializer=growing, name="memory"
    )
    made = keras.Sequential([keras.Input((100, 3)), memory, keras.layers.Dense(1)])
    made.compile("sgd", "mse")
    capfd.readouterr()
    culprit = find_nan(made, (np.ones((4, 100, 3), "float32"), np.ones((4, 1), "float32")))
    gc.collect()
    assert "memory" in culprit.name
    assert "An overflow: the state grows with every step" in culprit.hint
    assert "never used" not in "".join(capfd.readouterr())


@pytest.mark.loads_tf
def test_a_where_around_an_undefined_operation_is_named_and_explained(tf):
    import keras
    from keras import layers, ops

    safe_looking = layer("safe", lambda x: ops.where(x > 100.0, 1.0 / (x * 0.0), x))
    block = keras.Sequential([keras.Input((8,)), layers.Dense(8), safe_looking], name="block")
    culprit = find_nan(model(block), batch())
    assert (culprit.kind, culprit.name, culprit.op) == ("gradient", "block/safe", "RealDiv")
    assert "last" not in "".join(culprit.weights), "the gradients behind it are finite"
    assert len(culprit.weights) == 6


@pytest.mark.loads_tf
def test_a_loss_whose_slope_is_infinite_is_blamed_itself(tf):
    from keras import ops

    made = model(loss=lambda y, p: ops.sqrt(ops.abs(p * 0)))
    culprit = find_nan(made, batch())
    assert (culprit.kind, culprit.name) == ("gradient", "<lambda>")


@pytest.mark.loads_tf
def test_an_overflow_that_the_loss_scale_makes_is_told_as_harmless(tf):
    import keras

    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(), initial_scale=2.0**127)
    x, y = batch()
    culprit = find_nan(model(optimizer=optimizer), (x, y * 100))
    assert culprit.kind == "gradient"
    assert "mends itself" in culprit.hint


@pytest.mark.loads_tf
def test_a_regularizer_is_blamed_with_its_layer(tf):
    from keras import layers, ops

    dense = layers.Dense(8, name="held", kernel_regularizer=lambda w: ops.log(ops.sum(w) * 0))
    culprit = find_nan(model(dense), batch())
    assert (culprit.kind, culprit.name) == ("loss", "held (added loss or regularizer)")
    assert "from_logits" not in culprit.hint


@pytest.mark.loads_tf
def test_a_label_outside_of_the_classes_is_named_with_its_value(tf):
    import keras

    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    culprit = find_nan(model(loss=loss), (batch()[0], np.full(8, 7)))
    assert culprit.headline == "the label `y` does not fit the model, before the step begins"
    assert "The label 7 is outside of the classes [0, 1)" in culprit.hint


@pytest.mark.loads_tf
def test_another_error_of_the_loss_is_shown_as_it_is(tf):
    def loss(y, outputs):
        tf.debugging.assert_less(outputs, -1e9, message="mine")
        return outputs

    with pytest.raises(tf.errors.InvalidArgumentError, match="mine"):
        find_nan(model(), batch(), loss=loss)


@pytest.mark.loads_tf
def test_a_given_loss_takes_the_place_of_the_compiled_one(tf):
    import keras

    class Broken(keras.losses.Loss):
        def call(self, y_true, y_pred):
            return y_pred / 0.0

    assert find_nan(model(), batch(), loss=Broken(name="broken")).name == "broken"


@pytest.mark.loads_tf
def test_a_broken_slot_of_the_optimizer_is_named(tf):
    made = model(optimizer="adam")
    made.optimizer.build(made.trainable_variables)
    slot = made.optimizer.variables[-1]
    slot.assign(np.full(slot.shape, np.inf))
    culprit = find_nan(made, batch())
    assert (culprit.kind, culprit.name) == ("update", slot.path)
    assert "Compile the model with a new optimizer" in culprit.hint


@pytest.mark.loads_tf
def test_an_optimizer_that_has_no_slots_yet_gets_none(tf):
    import keras

    made = model(optimizer=keras.optimizers.SGD(3e38, momentum=0.9))
    x, y = batch()
    culprit = find_nan(made, (x * 1000, y))
    assert (culprit.kind, [name for name, _ in culprit.given]) == ("update", ["before", "gradient"])
    assert not made.optimizer.built


@pytest.mark.loads_tf
def test_what_an_update_changed_is_put_back(tf):
    made = model(optimizer="adam")
    made.optimizer.build(made.trainable_variables)
    before = everything(made)
    assert find_nan(made, batch()) is None
    assert are_equal(before, everything(made))
    assert int(made.optimizer.iterations) == 0


@pytest.mark.loads_tf
def test_a_moving_average_that_overflows_behind_a_finite_output_is_named(tf):
    from keras import layers

    def planted(hidden):
        hidden = layers.Rescaling(1e30, name="large")(hidden)
        return layers.BatchNormalization(name="quiet")(hidden)

    culprit = find_nan(model(planted), batch())
    assert (culprit.kind, culprit.name) == ("update", "quiet/moving_variance")
    assert "`evaluate` and `predict` go wrong" in culprit.hint


def test_leaves_have_the_names_one_would_write_for_them():
    batch = {"image": 1, "sizes": [2, (3, None)]}
    assert list(named_leaves("x", batch)) == [
        ("x['image']", 1),
        ("x['sizes'][0]", 2),
        ("x['sizes'][1][0]", 3),
    ]
    assert list(named_leaves("y", 7)) == [("y", 7)]
    assert list(named_leaves("y", None)) == []
