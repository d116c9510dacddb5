"""Stages of a source that has run dry are remembered."""

import pytest

from pipeline_model.test_stages import node, snapshot
from quickfit.pipeline_model.stages import stage_costs, with_ended_nodes

FILLING = snapshot(
    node(1, "Batch", (2,)),
    node(2, "Shuffle", (3,), buffered=90),
    node(3, "Map", (4,), elements=90, work_s=9.0),
    node(4, "TensorSlice", elements=90, work_s=0.9),
)


def emptied(batches: int, first: int = 1):
    return snapshot(
        node(first, "Batch", (first + 1,), elements=batches, work_s=0.1 * batches),
        node(first + 1, "Shuffle", (), elements=10 * batches, buffered=100 - 10 * batches),
    )


@pytest.mark.parametrize("first", [1, 20], ids=["the same pass", "another pass"])
def test_a_map_whose_source_has_ended_keeps_its_cost(first):
    costs = stage_costs(None, with_ended_nodes([FILLING, emptied(5, first)]))
    by_kind = {cost.kind: cost for cost in costs}
    assert list(by_kind) == ["batch", "shuffle", "map", "tensorslice"]
    # Ten elements of 0.1 s each are in a batch; those that wait in the buffer do not count.
    assert by_kind["map"].work_s == pytest.approx(1.0)
    assert by_kind["map"].per_output == pytest.approx(10.0)
    assert by_kind["tensorslice"].work_s == pytest.approx(0.1)
    assert by_kind["map"].element_bytes == pytest.approx(100)


def test_of_a_pass_that_is_over_all_stages_are_remembered():
    over = snapshot(node(1, "Batch", (), elements=9, work_s=0.9))
    costs = {cost.kind: cost for cost in stage_costs(None, with_ended_nodes([FILLING, over]))}
    # Ninety elements were seen; nine batches came of them.
    assert costs["map"].work_s == pytest.approx(1.0)


def test_a_pipeline_of_which_nothing_ended_stays_as_it_is():
    assert with_ended_nodes([FILLING]).nodes == FILLING.nodes


def test_another_pipeline_lends_nothing():
    other = snapshot(node(1, "Prefetch", (2,), elements=3), node(2, "TensorSlice", elements=3))
    assert with_ended_nodes([FILLING, other]).nodes == other.nodes
