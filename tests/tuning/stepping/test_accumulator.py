"""Accumulated micro-batches are one large batch."""

import numpy as np
import pytest

from quickfit.tuning import make_train_step

pytestmark = pytest.mark.loads_tf


def _optimizers():
    import keras

    return {
        "momentum": lambda: keras.optimizers.SGD(0.1, momentum=0.9),
        "adam": lambda: keras.optimizers.Adam(0.01),
        "clipped": lambda: keras.optimizers.AdamW(0.01, weight_decay=0.1, global_clipnorm=0.1),
    }


def _micro(step, batch, size, count):
    x, y = batch
    for start in range(0, size * count, size):
        step(x[start : start + size], y[start : start + size])


@pytest.mark.parametrize("name", ["momentum", "adam", "clipped"])
def test_equals_a_large_batch(models, batch, difference, name):
    large, small = models.dense(), models.dense()
    whole = make_train_step(large, models.sparse(), _optimizers()[name]())
    parts = make_train_step(small, models.sparse(), _optimizers()[name](), accumulate=4)
    for _ in range(3):
        whole(*batch)
        _micro(parts, batch, 6, 4)
    assert difference(large, small) <= 1e-5
    assert int(parts.optimizer.iterations) == 3
    assert parts.pending == 0


def test_flush_applies_the_mean_of_what_is_there(models, batch, difference):
    x, y = batch
    large, small = models.dense(), models.dense()
    make_train_step(large, models.sparse(), _optimizers()["momentum"]())(x[:12], y[:12])
    parts = make_train_step(small, models.sparse(), _optimizers()["momentum"](), accumulate=4)
    _micro(parts, batch, 6, 2)
    assert (parts.pending, parts.flush(), parts.pending, parts.flush()) == (2, 2, 0, 0)
    assert difference(large, small) <= 1e-5


def test_embeddings_accumulate(models, difference):
    x = np.array([[1, 2, 3, 1, 1], [3, 4, 5, 1, 2]], "int32")
    y = np.ones((2, 5, 1), "float32")
    large, small = models.masked(), models.masked()
    make_train_step(large, "mse", "sgd")(x, y)
    parts = make_train_step(small, "mse", "sgd", accumulate=2)
    parts(x[:1], y[:1])
    parts(x[1:], y[1:])
    assert difference(large, small) <= 1e-5


def test_scaled_gradients_accumulate(models, batch, difference):
    import keras

    large, small = (models.dense(keras.layers.Dense(8, dtype="mixed_float16")) for _ in range(2))
    small.set_weights(large.get_weights())
    make_train_step(large, models.sparse(), "sgd")(*batch)
    parts = make_train_step(small, models.sparse(), "sgd", accumulate=4)
    _micro(parts, batch, 6, 4)
    assert difference(large, small) <= 1e-4
