"""How many samples fit into memory."""

import numpy as np
import pytest

from compression import models
from quickfit.compression.calibration import affordable, samples_of
from quickfit.compression.graph import graph_of

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def test_as_many_samples_as_fit_are_kept():
    graph = graph_of(models.residual())
    samples = samples_of(graph, np.zeros((20, 8, 8, 3)))
    # The most is alive at the addition: both branches and the sum, 8×8×8 values of 4 bytes each.
    needed_bytes = 3 * 8 * 8 * 8 * 4
    assert len(affordable(graph, samples, 7 * needed_bytes)) == 7
    assert len(affordable(graph, samples, 7 * needed_bytes - 1)) == 6
    assert len(affordable(graph, samples, 1)) == 1
    assert len(affordable(graph, samples)) == 20


def test_open_sizes_are_those_of_the_samples():
    import keras

    x = keras.Input((None, None, 1), dtype="bfloat16")
    graph = graph_of(keras.Model(x, keras.layers.ReLU(dtype="bfloat16")(x)))
    samples = samples_of(graph, np.zeros((9, 5, 4, 1)))
    assert len(affordable(graph, samples, 3 * 2 * 20 * 2)) == 3
