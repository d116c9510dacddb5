"""The smaller model against the original in which nothing reads the removed channels."""

import numpy as np
import pytest

from compression import models
from compression.pruning import nets
from quickfit.compression.graph import graph_of
from quickfit.compression.pruning.choosing import groups_of, planned
from quickfit.compression.pruning.cutting import cut
from quickfit.compression.pruning.following import traced

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def plan_for(model, ratio=0.5, multiple=1):
    trace = traced(graph_of(model))
    return planned(trace, groups_of(trace), ratio, multiple)


@pytest.mark.parametrize("net", nets.GOLDEN)
def test_a_smaller_model_does_what_the_masked_original_does(net):
    model = net()
    before = [w.copy() for w in model.get_weights()]
    plan = plan_for(model)
    assert plan.removed
    student = cut(plan)
    assert student.count_params() < model.count_params()
    data = models.data_for(model)
    expected = models.results(nets.masked(model, plan), data)
    for ours, theirs in zip(models.results(student, data), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5 * np.abs(theirs).max(), rtol=0)
    for ours, theirs in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("net", [*models.ALL, nets.stuck])
def test_any_model_that_the_walker_knows_is_cut_or_kept_whole(net):
    model = net()
    plan = plan_for(model)
    data = models.data_for(model)
    expected = models.results(nets.masked(model, plan), data)
    for ours, theirs in zip(models.results(cut(plan), data), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5 * np.abs(theirs).max(), rtol=0)


@pytest.mark.parametrize("net", nets.GOLDEN)
def test_ratio_zero_changes_no_bit(net):
    model = net()
    data = models.data_for(model)
    student = cut(plan_for(model, 0.0))
    for ours, theirs in zip(
        models.results(student, data), models.results(model, data), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
