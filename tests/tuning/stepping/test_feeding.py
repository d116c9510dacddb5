"""Batches are taken as people have them, or refused with what is wrong in them."""

import numpy as np
import pytest

from quickfit.errors import UsageError
from quickfit.tuning import make_train_step

pytestmark = pytest.mark.loads_tf


@pytest.fixture
def step(models):
    return make_train_step(models.dense(), models.sparse(), "sgd")


def test_smaller_last_batches_are_traced_once_more(step, batch):
    x, y = batch
    for size in (24, 24, 5, 7, 1, 24):
        step(x[:size], y[:size])
    assert step.traces == 2


def test_numbers_of_python_are_not_traced_by_value(step):
    for row in ([1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0]):
        step([row], [1], [0.5])
    assert step.traces == 1


def test_float64_is_cast_with_a_warning_once(step, batch):
    x, y = batch
    with pytest.warns(UserWarning, match=r"x is float64 and cast to float32.*astype"):
        step(x.astype("float64"), y)
    step(x[:3].astype("float64"), y[:3])  # a second warning would be an error here


def test_float64_gives_the_update_of_float32(models, batch, difference):
    x, y = batch
    narrow, wide = models.dense(), models.dense()
    make_train_step(narrow, models.sparse(), "sgd")(x, y)
    with pytest.warns(UserWarning, match="float64"):
        make_train_step(wide, models.sparse(), "sgd")(x.astype("float64"), y)
    assert difference(narrow, wide) == 0


def test_refuses_more_examples_than_labels(step, batch):
    x, y = batch
    with pytest.raises(UsageError, match="x holds 24, y holds 5"):
        step(x, y[:5])


def test_names_the_part_that_does_not_fit(models, batch):
    x, y = batch
    step = make_train_step(models.two_headed(), {"kind": "mse", "size": "mse"}, "sgd")
    with pytest.raises(UsageError, match=r"x\['b'\] holds 3"):
        step({"a": x, "b": x[:3, :2]}, {"kind": y, "size": y})


def test_refuses_an_empty_batch(step, batch):
    x, y = batch
    with pytest.raises(UsageError, match="batch is empty"):
        step(x[:0], y[:0])


def test_refuses_what_is_not_numbers(step, batch):
    ragged = np.array([[1.0], [1.0, 2.0]], dtype=object)
    with pytest.raises(UsageError, match=r"x is an array of object.*rectangular"):
        step(ragged, batch[1][:2])


def test_refuses_elements_of_too_many_parts(tf, models, batch):
    x, y = batch
    dataset = tf.data.Dataset.from_tensor_slices((x, x, y, y)).batch(4)
    step = make_train_step(models.dense(), models.sparse(), "sgd")
    with pytest.raises(UsageError, match=r"has 4 parts.*\(\(a, b\), y\)"):
        next(step.over(dataset))
