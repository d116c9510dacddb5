"""The smallest ratio that reaches a target."""

import numpy as np
import pytest

from compression.pruning import nets
from quickfit.compression.calibration import Samples
from quickfit.compression.flops import flops
from quickfit.compression.graph import graph_of
from quickfit.compression.pruning.choosing import groups_of
from quickfit.compression.pruning.cutting import cut
from quickfit.compression.pruning.following import traced
from quickfit.compression.pruning.searching import (
    STEPS,
    Choices,
    estimated,
    first,
    open_sizes,
    with_flops,
)


@pytest.mark.parametrize("enough", [0, 1, 7, 15, 16])
def test_the_first_step_that_is_enough_is_found_in_few_questions(enough):
    asked = []

    def is_enough(step):
        asked.append(step)
        return step >= enough

    assert first(is_enough, last=16) == enough
    assert len(asked) <= 5


def test_none_is_enough():
    assert first(lambda step: False, last=16) == 17


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize("net", [nets.normalized, nets.branches, nets.mobile])
def test_the_estimate_is_near_to_the_count(net):
    trace = traced(graph_of(net()))
    choices = Choices(trace, groups_of(trace), 1)
    before = flops(trace.graph)
    for step in (0, STEPS // 4, STEPS // 2):
        plan = choices.at(step)
        assert estimated(plan, before) == pytest.approx(flops(cut(plan)).total, rel=0.15)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_less_would_not_have_been_enough():
    trace = traced(graph_of(nets.normalized()))
    choices = Choices(trace, groups_of(trace), 1)
    plan = with_flops(choices, 0.5, Samples((np.zeros((2, 8, 8, 3)),)))
    whole = flops(trace.graph).total
    assert flops(cut(plan)).total <= 0.5 * whole
    step = next(s for s in range(STEPS) if choices.at(s).removed == plan.removed)
    assert flops(cut(choices.at(step - 1))).total > 0.5 * whole


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_sizes_that_the_model_leaves_open_are_read_from_the_data():
    import keras

    a, b = keras.Input((4,)), keras.Input((None, 7, None, 2))
    graph = graph_of(keras.Model([a, b], [keras.layers.ReLU()(a), keras.layers.ReLU()(b)]))
    samples = Samples((np.zeros((3, 4)), np.zeros((3, 5, 7, 6, 2))))
    assert open_sizes(graph, samples) == (5, 6)
    fixed = graph_of(keras.Model(a, keras.layers.ReLU()(a)))
    assert open_sizes(fixed, Samples((np.zeros((3, 4)),))) is None
