"""Smaller Keras models, made one step after the other."""

import numpy as np
import pytest

from compression import models
from quickfit.compression.calibration import samples_of
from quickfit.compression.graph import graph_of
from quickfit.compression.shrinking.learning import Lessons
from quickfit.compression.shrinking.making import Maker, parameters
from quickfit.compression.shrinking.plan import PRUNED, SEPARABLE, SPEED, Recipe, Step
from quickfit.compression.sources.labelled import Labelled
from quickfit.errors import ModelError

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def maker(model, lessons=None):
    return Maker(model, samples_of(model, models.data_for(model, 64)), lessons)


def recipe(*steps):
    return Recipe("some", "words", steps)


def test_steps_follow_each_other():
    model = models.residual()
    one = maker(model).made(recipe(Step(SEPARABLE, 1)))
    both = maker(model).made(recipe(Step(SEPARABLE, 1), Step(PRUNED, 0.5)))
    assert parameters(both.model) < parameters(one.model) < parameters(model)
    assert len(both.notes) > len(one.notes)


def test_without_training_it_is_compiled_like_the_original():
    model = models.residual()
    model.compile("sgd", "mse", metrics=["mae"])
    made = maker(model).made(recipe(Step(PRUNED, 0.5)))
    assert made.model.compiled
    assert made.model.optimizer is not model.optimizer


def test_a_step_that_changes_nothing_makes_nothing():
    with pytest.raises(ModelError, match="no convolution can be rewritten"):
        maker(models.nested_sequential()).made(recipe(Step(SEPARABLE, 1)))


def test_what_cannot_be_trained_is_a_candidate_all_the_same():
    model = models.residual()  # not compiled, and its labels are no classes
    data = models.data_for(model, 64)
    samples = [Labelled((data[k::2],), np.zeros(32)) for k in range(2)]
    lessons = Lessons(graph_of(model), *samples, classes=None)
    made = maker(model, lessons).made(recipe(Step(PRUNED, 0.5)))
    assert made.notes[-1].startswith("It was not trained: What to train")


def test_pruning_goes_on_until_the_clock_is_content():
    model = models.residual()
    some = maker(model)
    by_size = Maker(model, some.calibration, None, measure=lambda one: float(parameters(one)))
    made = by_size.made(recipe(Step(SPEED, 2.0)))
    assert parameters(made.model) <= parameters(model) / 2
    with pytest.raises(ModelError, match="does not become 1,000× as fast by pruning"):
        by_size.made(recipe(Step(SPEED, 1000.0)))
