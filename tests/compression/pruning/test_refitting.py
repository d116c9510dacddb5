"""Layers refitted to the inputs that are left."""

import pytest

from compression import models
from compression.pruning import nets
from quickfit.compression.calibration import samples_of
from quickfit.compression.graph import graph_of
from quickfit.compression.pruning.choosing import groups_of, planned
from quickfit.compression.pruning.cutting import cut
from quickfit.compression.pruning.following import traced
from quickfit.compression.pruning.refitting import ROWS, SELF, WORK, affordable_rows, refit


@pytest.mark.parametrize("weights", [1, 9, 500, 2000, 3000, 3634, 3700, 5000, 25088, 10**6])
def test_wide_layers_get_fewer_rows_so_that_the_work_is_bounded(weights):
    rows = affordable_rows(weights)
    assert 1 <= rows <= ROWS
    assert min(rows, weights) ** 2 * max(rows, weights) <= 1.01 * WORK


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_it_tells_how_well_each_layer_is_reproduced_and_which_could_not_be():
    model = nets.nested()
    trace = traced(graph_of(model))
    plan = planned(trace, groups_of(trace), 0.5, 1)
    student = cut(plan)
    done = refit(plan, student, samples_of(model, models.data_for(model, 50)))
    assert list(done.errors) == ["head"]
    assert 0 < done.errors["head"] < 1.5
    assert done.left == {"inside": SELF, "back": SELF}
