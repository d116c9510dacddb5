"""Playing a step through on shapes leaves the model as it is, and errors as they are."""

import numpy as np
import pytest

from quickfit.tuning import make_train_step

pytestmark = pytest.mark.loads_tf


def test_errors_of_the_model_come_without_words_of_ours(models, batch):
    step = make_train_step(models.dense(), models.sparse(), "sgd")
    with pytest.raises(ValueError, match="expected axis -1 of input shape to have value 4") as info:
        step(batch[0][:, :2], batch[1])
    assert "rehearsal" not in str(info.value)


def test_nothing_of_the_model_is_changed(tf, models, batch):
    import keras

    dropout = keras.layers.Dropout(0.5, seed=3)
    model = models.dense(keras.layers.BatchNormalization(), dropout)
    step = make_train_step(model, models.sparse(), "sgd", metrics=["accuracy"])
    before = [one.numpy() for one in model.variables]
    step._graph.rehearse((*map(tf.constant, batch), None))
    for old, new in zip(before, model.variables, strict=True):
        np.testing.assert_array_equal(old, new.numpy())
