"""Which channels go, and how many."""

import numpy as np
import pytest

from compression import models
from compression.pruning import nets
from quickfit.compression.graph import graph_of
from quickfit.compression.pruning.channel_removal import (
    ChannelGroup,
    channel_groups,
    channel_scores,
    cut_channels,
    plan_removal,
)
from quickfit.compression.pruning.channels import trace_channels


@pytest.mark.parametrize(
    ("count", "ratio", "multiple", "kept"),
    [
        (16, 0.5, 4, 8),
        (16, 0.25, 4, 12),
        (12, 0.25, 4, 8),  # 9, to the nearest multiple
        (10, 0.5, 4, 4),
        (10, 0.1, 4, 8),
        (6, 0.01, 4, 6),  # 6 is nearest to itself, not to 8
        (16, 0.99, 4, 4),
        (3, 0.9, 4, 3),
        (16, 0.5, 1, 8),
        (16, 0.99, 1, 1),
    ],
)
def test_a_group_keeps_a_multiple_and_never_nothing(count, ratio, multiple, kept):
    assert ChannelGroup(tuple(range(count))).kept_count(ratio, multiple) == kept


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_the_smallest_filters_go_and_small_scales_count():
    import keras

    model = keras.Sequential(
        [
            keras.Input((4, 4, 1)),
            keras.layers.Conv2D(4, 1, use_bias=False, name="conv"),
            keras.layers.BatchNormalization(name="norm"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(2),
        ]
    )
    model.get_layer("conv").set_weights([np.array([4.0, -1.0, 2.0, 1.0]).reshape(1, 1, 1, 4)])
    ones = np.ones(4)
    model.get_layer("norm").set_weights([np.array([0.1, 1.0, -1.0, 1.9]), ones, ones, ones])
    trace = trace_channels(graph_of(model))
    atoms = trace.made[id(model.get_layer("conv"))].atoms.tolist()
    scores = channel_scores(trace)
    expected = [4 * 0.1, 1 * 1.0, 2 * 1.0, 1 * 1.9]
    np.testing.assert_allclose([scores[atom] for atom in atoms], np.array(expected) / 2)
    groups = channel_groups(trace)
    assert [group.roots for group in groups] == [tuple(atoms[i] for i in (0, 1, 3, 2))]
    assert plan_removal(trace, groups, 0.5, 1).removed == {atoms[0], atoms[1]}


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_layer_of_zeros_has_scores_too():
    model = models.sequential()
    for layer in model.layers:
        layer.set_weights([np.zeros_like(w) for w in layer.get_weights()])
    trace = trace_channels(graph_of(model))
    assert len(plan_removal(trace, channel_groups(trace), 0.5, 4).removed) == 8


def plan_for(model, ratio=0.5, multiple=1):
    trace = trace_channels(graph_of(model))
    return plan_removal(trace, channel_groups(trace), ratio, multiple)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize("net", nets.GOLDEN)
def test_a_smaller_model_does_what_the_masked_original_does(net):
    model = net()
    before = [w.copy() for w in model.get_weights()]
    plan = plan_for(model)
    assert plan.removed
    student = cut_channels(plan)
    assert student.count_params() < model.count_params()
    data = models.data_for(model)
    expected = models.results(nets.masked(model, plan), data)
    for ours, theirs in zip(models.results(student, data), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5 * np.abs(theirs).max(), rtol=0)
    for ours, theirs in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize("net", [*models.ALL, nets.stuck])
def test_any_model_that_the_walker_knows_is_cut_or_kept_whole(net):
    model = net()
    plan = plan_for(model)
    data = models.data_for(model)
    expected = models.results(nets.masked(model, plan), data)
    for ours, theirs in zip(models.results(cut_channels(plan), data), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5 * np.abs(theirs).max(), rtol=0)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize("net", nets.GOLDEN)
def test_ratio_zero_changes_no_bit(net):
    model = net()
    data = models.data_for(model)
    student = cut_channels(plan_for(model, 0.0))
    for ours, theirs in zip(
        models.results(student, data), models.results(model, data), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
