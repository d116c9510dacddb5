"""Several steps in one call are the same steps."""

import numpy as np
import pytest

from quickfit.tuning import make_train_step

pytestmark = pytest.mark.loads_tf


@pytest.fixture(scope="module")
def single(models, batch):
    """Return the losses of six steps, one per call, and the model after them."""
    x, y = batch
    model = models.dense()
    step = make_train_step(model, models.sparse(), "sgd")
    losses = [float(step(x[i : i + 4], y[i : i + 4])["loss"]) for i in range(0, 24, 4)]
    return losses, model


def test_iterator_gives_the_losses_of_single_calls(tf, models, batch, single, difference):
    dataset = tf.data.Dataset.from_tensor_slices(batch).batch(4)
    model = models.dense()
    step = make_train_step(model, models.sparse(), "sgd", steps_per_call=4, metrics=["accuracy"])
    logs = list(step.over(dataset))
    np.testing.assert_allclose(np.concatenate([one["losses"] for one in logs]), single[0], 1e-5)
    assert [len(one["losses"]) for one in logs] == [4, 2]
    assert float(logs[1]["loss"]) == pytest.approx(np.mean(single[0][4:]), rel=1e-5)
    assert "accuracy" in logs[0]
    assert difference(model, single[1]) <= 1e-6
    assert step.traces == 1


def test_stacked_batches_give_the_losses_of_single_calls(models, batch, single, difference):
    x, y = batch
    model = models.dense()
    step = make_train_step(model, models.sparse(), "sgd", steps_per_call=6)
    losses = step(x.reshape(6, 4, 4), y.reshape(6, 4))["losses"]
    np.testing.assert_allclose(losses, single[0], rtol=1e-5)
    assert difference(model, single[1]) <= 1e-6


def test_single_steps_take_an_iterator(tf, models, batch, single):
    dataset = tf.data.Dataset.from_tensor_slices(batch).batch(4)
    step = make_train_step(models.dense(), models.sparse(), "sgd")
    assert [float(one["loss"]) for one in step.over(dataset)] == pytest.approx(single[0])


@pytest.mark.parametrize("steps_per_call", [1, 4])
def test_batches_may_come_from_python(models, batch, single, steps_per_call):
    x, y = batch
    generator = ((x[i : i + 4], y[i : i + 4]) for i in range(0, 24, 4))
    step = make_train_step(models.dense(), models.sparse(), "sgd", steps_per_call=steps_per_call)
    logs = step.over(generator)
    losses = [loss for one in logs for loss in np.ravel(one.get("losses", one["loss"]))]
    assert losses == pytest.approx(single[0])
