"""Updates that are not finite though their gradients are."""

import numpy as np
import pytest

from quickfit.tuning.numerics.finding import find_nan

from tuning.numerics.faulty_models import are_equal, batch, everything, model

pytestmark = pytest.mark.loads_tf


def test_a_broken_slot_of_the_optimizer_is_named(tf):
    made = model(optimizer="adam")
    made.optimizer.build(made.trainable_variables)
    slot = made.optimizer.variables[-1]
    slot.assign(np.full(slot.shape, np.inf))
    culprit = find_nan(made, batch())
    assert (culprit.kind, culprit.name) == ("update", slot.path)
    assert "Compile the model with a new optimizer" in culprit.hint


def test_an_optimizer_that_has_no_slots_yet_gets_none(tf):
    import keras

    made = model(optimizer=keras.optimizers.SGD(3e38, momentum=0.9))
    x, y = batch()
    culprit = find_nan(made, (x * 1000, y))
    assert (culprit.kind, [name for name, _ in culprit.given]) == ("update", ["before", "gradient"])
    assert not made.optimizer.built


def test_what_an_update_changed_is_put_back(tf):
    made = model(optimizer="adam")
    made.optimizer.build(made.trainable_variables)
    before = everything(made)
    assert find_nan(made, batch()) is None
    assert are_equal(before, everything(made))
    assert int(made.optimizer.iterations) == 0


def test_a_moving_average_that_overflows_behind_a_finite_output_is_named(tf):
    from keras import layers

    def planted(hidden):
        hidden = layers.Rescaling(1e30, name="large")(hidden)
        return layers.BatchNormalization(name="quiet")(hidden)

    culprit = find_nan(model(planted), batch())
    assert (culprit.kind, culprit.name) == ("update", "quiet/moving_variance")
    assert "`evaluate` and `predict` go wrong" in culprit.hint
