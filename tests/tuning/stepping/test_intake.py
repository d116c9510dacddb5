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


@pytest.mark.parametrize("kind", [tuple, list])
def test_refuses_all_data_where_batches_are_wanted_with_the_line_to_paste(models, batch, kind):
    step = make_train_step(models.dense(), models.sparse(), "sgd")
    message = r"arrays of all data .*step\.over\(tf\.data\.Dataset\.from_tensor_slices\(\(x, y\)\)"
    with pytest.raises(UsageError, match=message):
        step.over(kind(batch))


def test_data_of_several_inputs_and_weights_are_seen_too(models, batch):
    x, y = batch
    step = make_train_step(models.dense(), models.sparse(), "sgd")
    with pytest.raises(UsageError, match=r"from_tensor_slices\(\(x, y, sample_weight\)\)"):
        step.over(({"a": x}, y, y))


def test_batches_in_a_list_or_a_tuple_are_taken(models, batch):
    x, y = batch
    step = make_train_step(models.dense(), models.sparse(), "sgd")
    parts = [(x[:8], y[:8]), (x[8:16], y[8:16])]
    assert len(list(step.over(parts))) == len(list(step.over(tuple(parts)))) == 2
