"""Which channels go, and how many."""

import numpy as np
import pytest

from compression import models
from quickfit.compression.graph import graph_of
from quickfit.compression.pruning.choosing import Group, groups_of, planned, scores_of
from quickfit.compression.pruning.following import traced


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
    assert Group(tuple(range(count))).kept_count(ratio, multiple) == kept


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
    trace = traced(graph_of(model))
    atoms = trace.made[id(model.get_layer("conv"))].atoms.tolist()
    scores = scores_of(trace)
    expected = [4 * 0.1, 1 * 1.0, 2 * 1.0, 1 * 1.9]
    np.testing.assert_allclose([scores[atom] for atom in atoms], np.array(expected) / 2)
    groups = groups_of(trace)
    assert [group.roots for group in groups] == [tuple(atoms[i] for i in (0, 1, 3, 2))]
    assert planned(trace, groups, 0.5, 1).removed == {atoms[0], atoms[1]}


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_layer_of_zeros_has_scores_too():
    model = models.sequential()
    for layer in model.layers:
        layer.set_weights([np.zeros_like(w) for w in layer.get_weights()])
    trace = traced(graph_of(model))
    assert len(planned(trace, groups_of(trace), 0.5, 4).removed) == 8
