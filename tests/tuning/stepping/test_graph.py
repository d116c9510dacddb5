"""Only good numbers reach the weights, and float16 updates are those of float32."""

import numpy as np
import pytest

from quickfit.errors import UsageError
from quickfit.tuning import make_train_step

pytestmark = pytest.mark.loads_tf


def _state(model, step):
    return [*model.get_weights(), *(one.numpy() for one in step.optimizer.variables)]


@pytest.fixture
def spoiled(batch):
    """Return a batch with one number that is not one."""
    x = batch[0].copy()
    x[3, 1] = np.nan
    return x, batch[1]


@pytest.mark.parametrize("jit", [False, True])
def test_guard_keeps_weights_slots_statistics_and_metrics(models, batch, spoiled, jit):
    import keras

    model = models.dense(keras.layers.BatchNormalization())
    step = make_train_step(
        model, models.sparse(), "adam", metrics=["accuracy"], guard=True, jit=jit
    )
    accuracy = float(step(*batch)["accuracy"])
    before = _state(model, step)
    assert float(step(*spoiled)["accuracy"]) == accuracy
    for old, new in zip(before, _state(model, step), strict=True):
        np.testing.assert_array_equal(old, new)
    assert step.skipped == 1
    step(*batch)
    assert (step.skipped, int(step.optimizer.iterations)) == (1, 2)


def test_guarded_steps_are_the_same_steps(models, batch, difference):
    plain, guarded = models.dense(), models.dense()
    make_train_step(plain, models.sparse(), "sgd")(*batch)
    make_train_step(guarded, models.sparse(), "sgd", guard=True)(*batch)
    assert difference(plain, guarded) == 0


def test_guard_leaves_a_bad_micro_batch_out_of_its_update(models, batch, spoiled, difference):
    x, y = batch
    clean, guarded = models.dense(), models.dense()
    make_train_step(clean, models.sparse(), "sgd")(x, y)
    step = make_train_step(guarded, models.sparse(), "sgd", guard=True, accumulate=2)
    step(x[:12], y[:12])
    step(*spoiled)
    step(x[12:], y[12:])
    assert (step.skipped, step.pending) == (1, 0)
    assert difference(clean, guarded) <= 1e-6


def test_float16_update_is_within_a_percent_of_float32(models, batch):
    import keras

    updates = []
    for dtype in ("float32", "mixed_float16"):
        model = models.dense(keras.layers.Dense(8, "relu", dtype=dtype))
        before = model.get_weights()
        make_train_step(model, models.sparse(), keras.optimizers.SGD(1.0))(*batch)
        updates.append([a - b for a, b in zip(model.get_weights(), before, strict=True)])
    for full, half in zip(*updates, strict=True):
        assert np.linalg.norm(full - half) <= 0.01 * np.linalg.norm(full)


def test_skips_of_a_scaled_loss_are_counted(models, batch, spoiled):
    import keras

    model = models.dense(keras.layers.Dense(8, dtype="mixed_float16"))
    step = make_train_step(model, models.sparse(), "sgd")
    step(*batch)
    scale = float(step.optimizer.dynamic_scale)
    step(*spoiled)
    assert step.skipped == 1
    assert float(step.optimizer.dynamic_scale) == scale / 2


def test_clipped_update_has_the_norm_it_was_given(models, batch):
    import keras

    model = models.dense()
    before = model.get_weights()
    make_train_step(model, models.sparse(), keras.optimizers.SGD(1.0), clip=0.01)(*batch)
    moved = [a - b for a, b in zip(model.get_weights(), before, strict=True)]
    assert np.sqrt(sum(np.sum(one**2) for one in moved)) == pytest.approx(0.01, rel=1e-3)


def test_refuses_to_go_on_when_other_weights_are_trainable(models, batch):
    model = models.dense()
    step = make_train_step(model, models.sparse(), "sgd")
    model.get_layer("first").trainable = False
    with pytest.raises(UsageError, match=r"4 weights then, 2 now.*new step"):
        step(*batch)
