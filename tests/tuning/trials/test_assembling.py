"""A model and its data with one setting, always from the same seed."""

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from quickfit.errors import ModelError
from quickfit.tuning.trials import carrying
from quickfit.tuning.trials.assembling import Assembler
from quickfit.tuning.trials.building import checked
from quickfit.tuning.trials.orders import Order
from quickfit.tuning.trials.recipes import Kind
from quickfit.tuning.trials.settings import Setting

from tuning.trials import small_models

pytestmark = pytest.mark.loads_tf


@pytest.fixture
def assembler(tf, tmp_path):
    def made(build, **changes):
        path = tmp_path / "function.pickle"
        path.write_bytes(carrying.packed(build, "build"))
        setting = Setting(**changes)
        return Assembler(Order(Kind.FUNCTION, "build", path, None, setting, Path(), None, 1))

    return made


def plain():
    return small_models.model(), small_models.dataset()


def test_it_is_the_same_model_every_time(assembler):
    made = assembler(plain)
    one, other = made.assemble().model, made.assemble().model
    assert one is not other
    assert all((a == b).all() for a, b in zip(one.get_weights(), other.get_weights(), strict=True))


def test_compiling_is_changed_and_the_rest_is_not(assembler):
    model, _ = assembler(plain, jit=True, steps_per_execution=8).assemble()
    assert (model.jit_compile, model.steps_per_execution) == (True, 8)
    assert model.loss == "sparse_categorical_crossentropy"


def test_the_batch_is_changed(assembler):
    assert assembler(plain, batch=16).assemble().feed.batch == 16


def test_a_function_that_takes_a_batch_size_is_given_it(assembler):
    def build(batch_size=4):
        return small_models.model(), small_models.dataset(batch=batch_size)

    assert assembler(build).assemble().feed.batch == 4
    assert assembler(build, batch=10).assemble().feed.batch == 10


def test_arrays_of_a_function_with_a_batch_size_come_in_that(assembler):
    def build(batch_size=4):
        return small_models.model(), small_models.arrays()

    assert assembler(build).assemble().feed.batch == 4


def test_data_in_memory_are_the_users_own_for_learning(assembler):
    made = assembler(plain, in_memory=True)

    def is_endless(feed):
        return len(list(islice(feed.batches(), 50))) == 50

    assert is_endless(made.assemble().feed)
    assert not is_endless(made.assemble(keeps_input=True).feed)


def test_the_policy_is_applied(assembler):
    model, _ = assembler(plain, policy="mixed_bfloat16").assemble()
    assert model.layers[0].compute_dtype == "bfloat16"


def test_xla_is_refused_for_an_eager_model(assembler):
    def build():
        return small_models.model(run_eagerly=True), small_models.dataset()

    with pytest.raises(ModelError, match="compiled with run_eagerly=True, so XLA has nothing"):
        assembler(build, jit=True).assemble()


def test_threads_that_the_user_sets_are_told(assembler, tf):
    assert tf.config.threading.get_intra_op_parallelism_threads() != 3
    with pytest.raises(ModelError, match="your code sets the intra-op threads to 0 itself, so 3"):
        assembler(plain, intra_threads=3).assemble()


def test_inputs_alone_are_refused_where_the_loss_needs_labels(assembler):
    def build():
        return small_models.model(), small_models.arrays()[0]

    with pytest.raises(ModelError, match=r"loss of the model \(sparse_categorical_crossentropy\)"):
        assembler(build).assemble()


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, r"build returned nothing \(None\)\. It must return two things"),
        (([], [], [], [], []), r"build returned a tuple of 5 \(list, list"),
        (({}, []), "the first thing build returned is a dict, not a Keras model"),
    ],
)
def test_something_else_than_a_model_and_data_is_refused(tf, returned, message):
    with pytest.raises(ModelError, match=message):
        checked(returned, "build")


def test_a_model_that_is_not_compiled_is_refused_with_the_line_to_add(tf):
    import keras

    with pytest.raises(ModelError, match=r"is not compiled(?s:.*)model\.compile\(optimizer="):
        checked((keras.Sequential(), small_models.arrays()), "build")


def test_a_model_and_two_arrays_are_taken_as_meant(tf):
    x, y = small_models.arrays()
    built = checked((small_models.model(), x, y), "build")
    assert isinstance(built.data, tuple)
    assert np.array_equal(built.data[1], y)
