"""Which layer is blamed for gradients that are not finite."""

import pytest

from quickfit.tuning.numerics.finding import find_nan

from tuning.numerics.faulty_models import batch, layer, model

pytestmark = pytest.mark.loads_tf


def test_a_where_around_an_undefined_operation_is_named_and_explained(tf):
    import keras
    from keras import layers, ops

    safe_looking = layer("safe", lambda x: ops.where(x > 100.0, 1.0 / (x * 0.0), x))
    block = keras.Sequential([keras.Input((8,)), layers.Dense(8), safe_looking], name="block")
    culprit = find_nan(model(block), batch())
    assert (culprit.kind, culprit.name, culprit.op) == ("gradient", "block/safe", "RealDiv")
    assert "last" not in "".join(culprit.weights), "the gradients behind it are finite"
    assert len(culprit.weights) == 6


def test_a_loss_whose_slope_is_infinite_is_blamed_itself(tf):
    from keras import ops

    made = model(loss=lambda y, p: ops.sqrt(ops.abs(p * 0)))
    culprit = find_nan(made, batch())
    assert (culprit.kind, culprit.name) == ("gradient", "<lambda>")


def test_an_overflow_that_the_loss_scale_makes_is_told_as_harmless(tf):
    import keras

    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(), initial_scale=2.0**127)
    x, y = batch()
    culprit = find_nan(model(optimizer=optimizer), (x, y * 100))
    assert culprit.kind == "gradient"
    assert "mends itself" in culprit.hint
