"""A step says what it is to be called with."""

import pytest

from quickfit.errors import UsageError
from quickfit.tuning import make_train_step

pytestmark = pytest.mark.loads_tf


def test_refuses_a_dataset(tf, models, batch):
    step = make_train_step(models.dense(), models.sparse(), "sgd")
    with pytest.raises(UsageError, match=r"given a dataset.*iter\(dataset\).*step.over"):
        step(tf.data.Dataset.from_tensor_slices(batch).batch(4))


def test_refuses_batches_that_are_not_stacked(models, batch):
    step = make_train_step(models.dense(), models.sparse(), "sgd", steps_per_call=4)
    with pytest.raises(UsageError, match=r"shape \(24, 4\).*steps_per_call=4.*\(steps, batch"):
        step(*batch)
