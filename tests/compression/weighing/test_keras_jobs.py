"""What is timed of a Keras model."""

import numpy as np
import pytest

from compression import models
from compression.quantizing.nets import state_of
from quickfit.compression.graph import graph_of, rebuilt
from quickfit.compression.weighing.feeding import feed_of
from quickfit.compression.weighing.keras_jobs import KerasJobs

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def jobs_of(model):
    graph = graph_of(model)
    return KerasJobs(graph, rebuilt(graph), feed_of(graph, models.data_for(model), 8))


def test_everything_runs_on_a_copy_and_the_model_stays_as_it_is():
    model = models.sequential()
    model.compile("adam", "mse")
    before = state_of(model)
    jobs = jobs_of(model)
    for job in (jobs.call(2), jobs.predict_on_batch(2), jobs.step(4)):
        job()
        job()
    assert state_of(model) == before
    assert model.predict_function is None
    assert model.train_function is None


def test_steps_leave_trained_weights_where_they_are():
    model = models.flattened()
    jobs = jobs_of(model)
    step = jobs.step(4)
    for _ in range(3):
        step()
    trained = jobs._model.trainable_variables
    for ours, theirs in zip(trained, model.trainable_variables, strict=True):
        np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))


def test_several_inputs_and_outputs_are_no_obstacle():
    jobs = jobs_of(models.named())
    for job in (jobs.call(1), jobs.predict_on_batch(1), jobs.step(2)):
        job()


def test_a_frozen_model_has_no_step():
    model = models.flattened()
    model.trainable = False
    assert jobs_of(model).step(4) is None
