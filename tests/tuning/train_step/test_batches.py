"""Batches are taken as people have them, or refused with what is wrong in them."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from quickfit.errors import UsageError
from quickfit.tuning import make_train_step
from quickfit.tuning.train_step.batches import named_leaves, shapes_of, warn_user


@pytest.fixture
def step(models):
    return make_train_step(models.dense(), models.sparse(), "sgd")


@pytest.mark.loads_tf
def test_smaller_last_batches_are_traced_once_more(step, batch):
    x, y = batch
    for size in (24, 24, 5, 7, 1, 24):
        step(x[:size], y[:size])
    assert step.traces == 2


@pytest.mark.loads_tf
def test_numbers_of_python_are_not_traced_by_value(step):
    for row in ([1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0]):
        step([row], [1], [0.5])
    assert step.traces == 1


@pytest.mark.loads_tf
def test_float64_is_cast_with_a_warning_once(step, batch):
    x, y = batch
    with pytest.warns(UserWarning, match=r"x is float64 and cast to float32.*astype"):
        step(x.astype("float64"), y)
    step(x[:3].astype("float64"), y[:3])  # a second warning would be an error here


@pytest.mark.loads_tf
def test_float64_gives_the_update_of_float32(models, batch, difference):
    x, y = batch
    narrow, wide = models.dense(), models.dense()
    make_train_step(narrow, models.sparse(), "sgd")(x, y)
    with pytest.warns(UserWarning, match="float64"):
        make_train_step(wide, models.sparse(), "sgd")(x.astype("float64"), y)
    assert difference(narrow, wide) == 0


@pytest.mark.loads_tf
def test_refuses_more_examples_than_labels(step, batch):
    x, y = batch
    with pytest.raises(UsageError, match="x holds 24, y holds 5"):
        step(x, y[:5])


@pytest.mark.loads_tf
def test_names_the_part_that_does_not_fit(models, batch):
    x, y = batch
    step = make_train_step(models.two_headed(), {"kind": "mse", "size": "mse"}, "sgd")
    with pytest.raises(UsageError, match=r"x\['b'\] holds 3"):
        step({"a": x, "b": x[:3, :2]}, {"kind": y, "size": y})


@pytest.mark.loads_tf
def test_refuses_an_empty_batch(step, batch):
    x, y = batch
    with pytest.raises(UsageError, match="batch is empty"):
        step(x[:0], y[:0])


@pytest.mark.loads_tf
def test_refuses_what_is_not_numbers(step, batch):
    ragged = np.array([[1.0], [1.0, 2.0]], dtype=object)
    with pytest.raises(UsageError, match=r"x is an array of object.*rectangular"):
        step(ragged, batch[1][:2])


@pytest.mark.loads_tf
def test_refuses_elements_of_too_many_parts(tf, models, batch):
    x, y = batch
    dataset = tf.data.Dataset.from_tensor_slices((x, x, y, y)).batch(4)
    step = make_train_step(models.dense(), models.sparse(), "sgd")
    with pytest.raises(UsageError, match=r"has 4 parts.*\(\(a, b\), y\)"):
        next(step.over(dataset))


@pytest.mark.loads_tf
def test_refuses_a_dataset(tf, models, batch):
    step = make_train_step(models.dense(), models.sparse(), "sgd")
    with pytest.raises(UsageError, match=r"given a dataset.*iter\(dataset\).*step.over"):
        step(tf.data.Dataset.from_tensor_slices(batch).batch(4))


@pytest.mark.loads_tf
def test_refuses_batches_that_are_not_stacked(models, batch):
    step = make_train_step(models.dense(), models.sparse(), "sgd", steps_per_call=4)
    with pytest.raises(UsageError, match=r"shape \(24, 4\).*steps_per_call=4.*\(steps, batch"):
        step(*batch)


@pytest.mark.loads_tf
@pytest.mark.parametrize("kind", [tuple, list])
def test_refuses_all_data_where_batches_are_wanted_with_the_line_to_paste(models, batch, kind):
    step = make_train_step(models.dense(), models.sparse(), "sgd")
    message = r"arrays of all data .*step\.over\(tf\.data\.Dataset\.from_tensor_slices\(\(x, y\)\)"
    with pytest.raises(UsageError, match=message):
        step.over(kind(batch))


@pytest.mark.loads_tf
def test_data_of_several_inputs_and_weights_are_seen_too(models, batch):
    x, y = batch
    step = make_train_step(models.dense(), models.sparse(), "sgd")
    with pytest.raises(UsageError, match=r"from_tensor_slices\(\(x, y, sample_weight\)\)"):
        step.over(({"a": x}, y, y))


@pytest.mark.loads_tf
def test_batches_in_a_list_or_a_tuple_are_taken(models, batch):
    x, y = batch
    step = make_train_step(models.dense(), models.sparse(), "sgd")
    parts = [(x[:8], y[:8]), (x[8:16], y[8:16])]
    assert len(list(step.over(parts))) == len(list(step.over(tuple(parts)))) == 2


@pytest.fixture(scope="module")
def answer():
    """Return what replicas.py prints."""
    script = Path(__file__).with_name("replicas.py")
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"}
    ran = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=env, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.tf
@pytest.mark.tf_any
@pytest.mark.parametrize("case", ["plain", "uneven", "weighted", "accumulated", "guarded"])
def test_update_is_that_of_one_device(answer, case):
    assert answer[case]["weights"] <= 1e-5
    assert answer[case]["loss"] <= 1e-5


@pytest.mark.tf
@pytest.mark.tf_any
def test_float16_update_is_nearly_that_of_one_device(answer):
    assert answer["float16"]["weights"] <= 1e-3


@pytest.mark.tf
@pytest.mark.tf_any
@pytest.mark.parametrize("case", ["guarded", "float16"])
def test_what_one_replica_sees_is_left_out_by_all(answer, case):
    assert answer[case]["skipped"] == [1, 1]


@pytest.mark.tf
@pytest.mark.tf_any
def test_several_steps_per_call_are_the_same_steps(answer):
    single, several = answer["dataset"][:4], answer["dataset"][4:]
    assert several == pytest.approx(single, abs=1e-5)


@pytest.mark.tf
@pytest.mark.tf_any
def test_refuses_batches_smaller_than_the_replicas(answer):
    assert "batch of 1 cannot be shared by 2 replicas" in answer["too few"]


@pytest.mark.tf
@pytest.mark.tf_any
def test_refuses_stacks_with_several_replicas(answer):
    assert "takes an iterator" in answer["stacked"]


@pytest.mark.tf
@pytest.mark.tf_any
def test_refuses_xla_with_several_replicas(answer):
    assert "jit=True does not work with 2 replicas" in answer["jit"]


def test_leaves_are_named_by_the_expression_that_reaches_them():
    value = {"image": 1, "rest": [2, (3, None)]}
    names = [name for name, _ in named_leaves("x", value)]
    assert names == ["x['image']", "x['rest'][0]", "x['rest'][1][0]"]


def test_shape_of_one_array_is_its_shape():
    assert shapes_of(np.zeros((3, 2))) == "(3, 2)"


def test_shapes_of_several_are_named():
    assert shapes_of([np.zeros(3), np.zeros((3, 1))]) == "[0]: (3,), [1]: (3, 1)"


def test_nothing_is_said_to_be_nothing():
    assert shapes_of(None) == "None (no y was given)"


def test_place_is_the_line_outside_of_libraries():
    with pytest.warns(UserWarning, match="quickfit: something") as caught:
        warn_user("something")
    assert caught[0].filename == __file__


@pytest.mark.loads_tf
def test_place_is_the_call_of_a_step(models, batch):
    step = make_train_step(models.dense(), models.sparse(), "sgd")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        step(batch[0].astype("float64"), batch[1])
    assert [one.filename for one in caught] == [__file__]
