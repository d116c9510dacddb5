"""Weights that the loss does not reach are named."""

import numpy as np
import pytest

from quickfit.errors import UsageError
from quickfit.tuning import make_train_step

pytestmark = pytest.mark.loads_tf


def test_refuses_a_loss_that_reaches_no_weight(tf, models, batch):
    rounding = {"kind": lambda true, pred: tf.round(true), "size": None}
    step = make_train_step(models.two_headed(), rounding, "sgd")
    x, y = batch
    with pytest.raises(UsageError, match="does not depend on any trainable weight"):
        step({"a": x, "b": x[:, :2]}, {"kind": y, "size": x[:, :1]})


def test_names_weights_that_stay_as_they_are(models, batch):
    x, y = batch
    model = models.two_headed()
    before = model.get_layer("size").get_weights()
    step = make_train_step(model, {"kind": "sparse_categorical_crossentropy", "size": None}, "sgd")
    with pytest.warns(UserWarning, match=r"2 of 4 trainable weights.*size/kernel"):
        step({"a": x, "b": x[:, :2]}, {"kind": y, "size": x[:, :1]})
    np.testing.assert_array_equal(before[0], model.get_layer("size").get_weights()[0])
