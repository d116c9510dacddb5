"""What is tried."""

import numpy as np
import pytest

from compression import models
from quickfit.compression.calibration import samples_of
from quickfit.compression.graph import graph_of
from quickfit.compression.labelled_data import LabelledSamples
from quickfit.compression.shrinking.evidence import Lessons
from quickfit.compression.shrinking.recipes import (
    FILE_KINDS,
    FLOPS,
    PRUNED,
    SEPARABLE,
    SPEED,
    ModelMaker,
    Recipe,
    RecipeStep,
    count_parameters,
    file_kinds,
    file_name,
    only_separable,
    shrink_recipes,
)
from quickfit.compression.shrinking.targets import Target, target_of
from quickfit.errors import ModelError


def test_the_usual_ways_are_tried_and_have_names_of_their_own():
    names = [one.name for one in shrink_recipes(Target())]
    assert names == [
        "separable-1",
        "pruned-50",
        "pruned-25",
        "separable-1-pruned-25",
        "separable-2",
    ]
    assert file_name("pruned-50", "int8") == "pruned-50-int8"


def test_a_number_of_operations_is_pruned_to_first():
    first = shrink_recipes(target_of("3x fewer flops"))[0]
    assert (first.name, first.steps) == ("pruned-to-33", (RecipeStep(FLOPS, 1 / 3),))
    assert first.title == "pruned to 33 % of the operations"


def test_operations_in_numbers_are_pruned_to_where_the_original_has_more():
    target = target_of("at most 1 million flops")
    assert shrink_recipes(target, 4_000_000)[0].steps == (RecipeStep(FLOPS, 0.25),)
    assert shrink_recipes(target, 900_000) == shrink_recipes(target) == shrink_recipes(Target())


def test_a_speed_is_pruned_to_last_and_with_a_margin():
    *others, last = shrink_recipes(target_of("2x faster, at most 1 point"))
    assert last.name == "pruned-2.0x"
    assert last.title == "pruned until it is 2.0× as fast"
    assert last.steps == (RecipeStep(SPEED, 2.1),)
    assert others == shrink_recipes(Target())
    assert shrink_recipes(target_of("under 2 ms")) == shrink_recipes(Target())


def test_only_the_separable_ones_can_be_asked_for():
    names = [one.name for one in only_separable(shrink_recipes(target_of("2x faster")))]
    assert names == ["separable-1", "separable-2"]


def test_four_bits_are_tried_where_size_counts():
    assert file_kinds(target_of("2x faster")) == FILE_KINDS
    assert file_kinds(target_of("half the size")) == (*FILE_KINDS, "int4")
    assert file_kinds(target_of("as small as possible")) == (*FILE_KINDS, "int4")


def maker(model, lessons=None):
    return ModelMaker(model, samples_of(model, models.data_for(model, 64)), lessons)


def recipe(*steps):
    return Recipe("some", "words", steps)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_steps_follow_each_other():
    model = models.residual()
    one = maker(model).made(recipe(RecipeStep(SEPARABLE, 1)))
    both = maker(model).made(recipe(RecipeStep(SEPARABLE, 1), RecipeStep(PRUNED, 0.5)))
    assert count_parameters(both.model) < count_parameters(one.model) < count_parameters(model)
    assert len(both.notes) > len(one.notes)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_without_training_it_is_compiled_like_the_original():
    model = models.residual()
    model.compile("sgd", "mse", metrics=["mae"])
    made = maker(model).made(recipe(RecipeStep(PRUNED, 0.5)))
    assert made.model.compiled
    assert made.model.optimizer is not model.optimizer


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_step_that_changes_nothing_makes_nothing():
    with pytest.raises(ModelError, match="no convolution can be rewritten"):
        maker(models.nested_sequential()).made(recipe(RecipeStep(SEPARABLE, 1)))


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_what_cannot_be_trained_is_a_candidate_all_the_same():
    model = models.residual()  # not compiled, and its labels are no classes
    data = models.data_for(model, 64)
    samples = [LabelledSamples((data[k::2],), np.zeros(32)) for k in range(2)]
    lessons = Lessons(graph_of(model), *samples, classes=None)
    made = maker(model, lessons).made(recipe(RecipeStep(PRUNED, 0.5)))
    assert made.notes[-1].startswith("It was not trained: What to train")


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_pruning_goes_on_until_the_clock_is_content():
    model = models.residual()
    some = maker(model)
    by_size = ModelMaker(
        model, some.calibration, None, measure=lambda one: float(count_parameters(one))
    )
    made = by_size.made(recipe(RecipeStep(SPEED, 2.0)))
    assert count_parameters(made.model) <= count_parameters(model) / 2
    with pytest.raises(ModelError, match="does not become 1,000× as fast by pruning"):
        by_size.made(recipe(RecipeStep(SPEED, 1000.0)))
