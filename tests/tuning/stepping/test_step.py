"""A step ends as its data end, and no micro-batch is lost unnoticed."""

import warnings

import pytest

from quickfit.errors import UsageError
from quickfit.tuning import make_train_step

pytestmark = pytest.mark.loads_tf


def _micro(step, batch, count):
    x, y = batch
    for start in range(0, 6 * count, 6):
        step(x[start : start + 6], y[start : start + 6])


def test_ends_as_the_iterator_ends(tf, models, batch):
    iterator = iter(tf.data.Dataset.from_tensor_slices(batch).batch(24))
    step = make_train_step(models.dense(), models.sparse(), "sgd", steps_per_call=2)
    step(iterator)
    with pytest.raises(StopIteration):
        step(iterator)


def test_refuses_labels_beside_an_iterator(tf, models, batch):
    step = make_train_step(models.dense(), models.sparse(), "sgd")
    iterator = iter(tf.data.Dataset.from_tensor_slices(batch).batch(4))
    with pytest.raises(UsageError, match="takes nothing beside it"):
        step(iterator, batch[1])


def test_warns_of_micro_batches_that_were_never_applied(models, batch):
    step = make_train_step(models.dense(), models.sparse(), "sgd", accumulate=4)
    _micro(step, batch, 3)
    with pytest.warns(UserWarning, match=r"3 of 4 micro-batches.*step.flush\(\)"):
        step.close()


def test_warns_when_a_step_with_leftovers_is_dropped(models, batch):
    step = make_train_step(models.dense(), models.sparse(), "sgd", accumulate=2)
    _micro(step, batch, 1)
    with pytest.warns(UserWarning, match="1 of 2 micro-batches"):
        del step


def test_says_nothing_where_nothing_is_left(models, batch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with make_train_step(models.dense(), models.sparse(), "sgd", accumulate=2) as step:
            _micro(step, batch, 2)


def test_learning_rate_can_be_changed_between_calls(models, batch):
    step = make_train_step(models.dense(), models.sparse(), "sgd")
    step(*batch)
    step.optimizer.learning_rate = 0.0
    assert float(step(*batch)["loss"]) == float(step(*batch)["loss"])
    assert step.traces == 1
