"""What each stage costs per element that leaves the pipeline."""

import pytest

from quickfit.pipeline_model.snapshot import Node, Snapshot
from quickfit.pipeline_model.stages import StageCost, input_period_s, kind_of, stage_costs


def node(
    number: int,
    name: str,
    inputs: tuple[int, ...] = (),
    *,
    elements: int = 0,
    work_s: float = 0.0,
    parallelism: float | None = None,
    buffered: int = 0,
    is_async: bool = False,
) -> Node:
    size = 100 * elements
    return Node(
        number,
        name,
        elements,
        work_s,
        size,
        size,
        parallelism,
        None,
        buffered,
        0,
        is_async,
        inputs,
    )


def snapshot(*nodes: Node) -> Snapshot:
    return Snapshot(0.0, 0, 0.0, nodes[0].id, {n.id: n for n in nodes})


def by_kind(costs: list[StageCost]) -> dict[str, StageCost]:
    return {cost.kind: cost for cost in costs}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        # As TensorFlow 2.21 names them.
        ("Root", "root"),
        ("Prefetch", "prefetch"),
        ("BatchV2", "batch"),
        ("PaddedBatchV2", "paddedbatch"),
        ("ParallelBatch", "batch"),
        ("Map", "map"),
        ("ParallelMapV2", "map"),
        ("MapAndBatch", "mapandbatch"),
        ("Interleave", "interleave"),
        ("ParallelInterleaveV4", "interleave"),
        ("LegacyParallelInterleaveV2", "interleave"),
        ("FlatMap", "flatmap"),
        ("ForeverRepeat", "repeat"),
        ("FiniteRepeat", "repeat"),
        ("ShuffleAndRepeat", "shuffleandrepeat"),
        ("Shuffle", "shuffle"),
        ("FiniteTake", "take"),
        ("FiniteSkip", "skip"),
        ("MemoryCache", "cache"),
        ("MemoryCacheImpl", "cache"),
        ("FileCache", "cache"),
        ("FileCacheImpl", "cache"),
        ("Snapshot", "snapshot"),
        ("SnapshotWriter", "snapshot"),
        ("SnapshotReader", "snapshot"),
        ("RebatchV2", "rebatch"),
        ("FixedLengthRecordV2", "fixedlengthrecord"),
        ("GroupByWindow", "groupbywindow"),
        ("FromTensor", "tensor"),
        ("TensorSlice", "tensorslice"),
        ("TFRecord", "tfrecord"),
        ("TextLine", "textline"),
        ("Concatenate", "concatenate"),
        ("DirectedInterleave", "directedinterleave"),
        ("Generator", "generator"),
        ("", ""),
    ],
)
def test_a_runtime_name_tells_the_kind(name, kind):
    assert kind_of(name) == kind


def test_the_cost_is_the_growth_between_two_snapshots_per_output():
    first = snapshot(
        node(1, "BatchV2", (2,), elements=10, work_s=1.0),
        node(2, "ParallelMapV2", (3,), elements=320, work_s=10.0, parallelism=4.0),
        node(3, "TensorSlice", elements=330, work_s=0.5),
    )
    last = snapshot(
        node(1, "BatchV2", (2,), elements=30, work_s=1.2),
        node(2, "ParallelMapV2", (3,), elements=960, work_s=18.0, parallelism=4.0),
        node(3, "TensorSlice", elements=980, work_s=0.6),
    )
    batch, mapped, source = stage_costs(first, last)
    assert [cost.kind for cost in (batch, mapped, source)] == ["batch", "map", "tensorslice"]
    assert batch.work_s == pytest.approx(0.01)
    assert mapped.work_s == pytest.approx(0.4)
    assert mapped.per_output == 32.0
    assert mapped.period_s == pytest.approx(0.1)
    assert source.per_output == pytest.approx(32.5)
    assert mapped.element_bytes == 100.0


def test_without_an_earlier_snapshot_everything_counts_from_the_start():
    (cost,) = stage_costs(None, snapshot(node(1, "Range", elements=4, work_s=2.0)))
    assert (cost.work_s, cost.per_output, cost.parallelism) == (0.5, 1.0, 1.0)


@pytest.mark.parametrize("elements", [0, 5, 3])
def test_a_pipeline_that_gave_nothing_has_no_costs(elements):
    first = snapshot(node(1, "Range", elements=5))
    assert stage_costs(first, snapshot(node(1, "Range", elements=elements))) == []


def test_a_node_that_was_not_there_before_counts_from_zero():
    first = snapshot(node(1, "Map", elements=10))
    last = snapshot(node(1, "Map", (7,), elements=20), node(7, "Range", elements=10, work_s=5.0))
    assert stage_costs(first, last)[1].work_s == 0.5


def test_an_element_of_nothing_has_no_size():
    (cost,) = stage_costs(snapshot(node(1, "A", elements=-3)), snapshot(node(1, "A", elements=0)))
    assert cost.element_bytes == 0.0


def test_inputs_that_are_not_in_the_model_and_circles_are_passed_over():
    costs = stage_costs(
        None,
        snapshot(node(1, "Zip", (2, 9), elements=1), node(2, "Map", (1, 2), elements=1)),
    )
    assert [cost.node.id for cost in costs] == [1, 2]
    assert input_period_s(costs) == 0.0


# -- inputs that end and begin again --------------------------------------------------------------


def test_the_work_of_passes_that_ended_is_not_forgotten():
    """Numbers as TensorFlow 2.21 gave them: the third pass of 125 batches has made 50."""
    last = snapshot(
        node(3, "ForeverRepeat", (12,), elements=300),
        node(12, "BatchV2", (13,), elements=50, work_s=0.5),
        node(13, "Shuffle", (14,), elements=405, work_s=0.405, buffered=299),
        node(14, "Map", (15,), elements=704, work_s=7.04),
        node(15, "Range", elements=704, work_s=0.704),
    )
    costs = by_kind(stage_costs(None, last))
    assert costs["batch"].per_output == 1.0
    assert costs["batch"].work_s == pytest.approx(0.01)
    assert costs["shuffle"].per_output == pytest.approx(8.1)
    # What waits in the shuffle has been mapped, but belongs to outputs that are still to come.
    assert costs["map"].per_output == pytest.approx(8.1)
    assert costs["map"].work_s == pytest.approx(0.081)
    assert costs["range"].work_s == pytest.approx(0.0081)


def test_within_one_pass_a_repeat_changes_nothing():
    first = snapshot(
        node(1, "FiniteRepeat", (2,), elements=10), node(2, "Map", elements=11, work_s=1.1)
    )
    last = snapshot(
        node(1, "FiniteRepeat", (2,), elements=20), node(2, "Map", elements=22, work_s=2.2)
    )
    assert stage_costs(first, last)[1].work_s == pytest.approx(0.11)


def test_open_sub_datasets_stand_for_those_that_ended():
    last = snapshot(
        node(1, "ParallelInterleaveV4", (2, 30, 32), elements=100, parallelism=2.0),
        node(2, "TensorSlice", elements=20, work_s=0.2),
        node(30, "TFRecord", elements=3, work_s=0.03),
        node(32, "TFRecord", elements=7, work_s=0.14),
    )
    first = snapshot(node(1, "ParallelInterleaveV4", (2, 9), elements=0), node(9, "TFRecord"))
    _, source, one, two = stage_costs(first, last)
    assert source.per_output == 0.2
    assert (one.per_output, two.per_output) == (pytest.approx(0.3), pytest.approx(0.7))
    assert one.work_s + two.work_s == pytest.approx(0.3 * 0.01 + 0.7 * 0.02)


@pytest.mark.parametrize("name", ["FlatMap", "ForeverRepeat", "ShuffleAndRepeat"])
def test_an_input_that_has_just_begun_counts_from_zero(name):
    last = snapshot(
        node(1, name, (2, 3), elements=10),
        node(2, "Range", elements=0, work_s=0.1),
        node(3, "Map", (4,), elements=0, work_s=0.5),
        node(4, "Range", elements=5, work_s=0.2),
    )
    costs = stage_costs(None, last)
    assert [cost.work_s for cost in costs] == pytest.approx([0.0, 0.01, 0.05, 0.02])


def test_sub_datasets_of_which_some_ended_stand_for_all():
    first = snapshot(
        node(1, "LegacyParallelInterleaveV2", (2, 3), elements=100),
        node(2, "TensorSlice", elements=3),
        node(3, "TFRecord", elements=10, work_s=0.1),
    )
    last = snapshot(
        node(1, "LegacyParallelInterleaveV2", (2, 3, 4), elements=200),
        node(2, "TensorSlice", elements=6),
        node(3, "TFRecord", elements=20, work_s=0.2),
        node(4, "TFRecord", elements=20, work_s=0.2),
    )
    _, _, one, two = stage_costs(first, last)
    assert one.per_output + two.per_output == pytest.approx(1.0)
    assert one.work_s + two.work_s == pytest.approx(0.01)


def test_sub_datasets_that_all_go_on_are_counted_exactly():
    first = snapshot(
        node(1, "FlatMap", (2, 3), elements=100),
        node(2, "Range", elements=1),
        node(3, "Map", elements=100, work_s=90.0),
    )
    last = snapshot(
        node(1, "FlatMap", (2, 3), elements=200),
        node(2, "Range", elements=1),
        node(3, "Map", elements=200, work_s=91.0),
    )
    # The first hundred were slow; that is over.
    assert stage_costs(first, last)[2].work_s == pytest.approx(0.01)


def test_sub_datasets_below_a_repeat_stand_for_those_that_ended():
    """Numbers as TensorFlow 2.21 gave them: a pass of 15 elements from three sub-datasets."""
    last = snapshot(
        node(1, "ForeverRepeat", (2,), elements=105),
        node(2, "FlatMap", (3, 4), elements=14),
        node(3, "Range", elements=3),
        node(4, "Map", elements=4, work_s=0.008),
    )
    _, flat, source, mapped = stage_costs(None, last)
    assert flat.per_output == pytest.approx(1.0)
    assert source.per_output == pytest.approx(3 / 14)
    assert mapped.per_output == pytest.approx(1.0)
    assert mapped.work_s == pytest.approx(0.002)


def test_the_groups_of_a_window_stand_for_those_that_ended():
    last = snapshot(
        node(1, "GroupByWindow", (2, 3), elements=20),
        node(2, "Range", elements=80),
        node(3, "BatchV2", elements=1, work_s=0.005),
    )
    batch = stage_costs(None, last)[2]
    assert (batch.per_output, batch.work_s) == (pytest.approx(1.0), pytest.approx(0.005))


def test_what_a_new_asynchronous_stage_has_ready_took_its_work_too():
    last = snapshot(
        node(1, "Interleave", (2, 3), elements=20),
        node(2, "Range", elements=10),
        node(3, "MapAndBatch", elements=1, work_s=0.02, buffered=1, is_async=True),
    )
    assert stage_costs(None, last)[2].work_s == pytest.approx(0.01)


# -- the period of the input ----------------------------------------------------------------------


def cost(
    number: int,
    work_s: float,
    inputs: tuple[int, ...] = (),
    *,
    parallelism: float = 1.0,
    is_async: bool = False,
) -> StageCost:
    made = node(number, "X", inputs, is_async=is_async)
    return StageCost(made, "x", work_s, 1.0, parallelism)


def test_no_stages_have_no_period():
    assert input_period_s([]) == 0.0


def test_stages_on_one_thread_add_up():
    assert input_period_s([cost(1, 0.1, (2,)), cost(2, 0.2, (3,)), cost(3, 0.3)]) == (
        pytest.approx(0.6)
    )


def test_the_slowest_group_of_stages_on_one_thread_is_the_limit():
    stages = [
        cost(1, 0.1, (2,)),
        cost(2, 0.1, (3,), is_async=True),  # prefetch
        cost(3, 0.2, (4,)),
        cost(4, 0.8, (5,), is_async=True, parallelism=4.0),  # parallel map
        cost(5, 0.15),
    ]
    assert input_period_s(stages) == pytest.approx(0.8 / 4 + 0.15)
    stages[2] = cost(3, 0.9, (4,))
    assert input_period_s(stages) == pytest.approx(1.0)


def test_branches_share_the_thread_unless_they_have_their_own():
    stages = [
        cost(1, 0.1, (2, 3)),  # zip
        cost(2, 0.2),
        cost(3, 0.3, (4,), is_async=True),
        cost(4, 0.1),
    ]
    assert input_period_s(stages) == pytest.approx(0.4)


def test_a_parallel_interleave_runs_its_sub_datasets_on_all_its_threads():
    made = node(1, "ParallelInterleaveV4", (2, 3, 4), is_async=True)
    stages = [
        StageCost(made, "interleave", 0.2, 1.0, 2.0),
        cost(2, 0.1),  # what it takes in
        cost(3, 0.4, (5,)),
        cost(4, 0.4),
        cost(5, 0.2),
    ]
    assert input_period_s(stages) == pytest.approx(0.1 + 0.1 + (0.4 + 0.4 + 0.2) / 2)


def test_a_very_long_chain_has_a_period():
    stages = [cost(number, 0.001, (number + 1,)) for number in range(5000)]
    assert input_period_s(stages) == pytest.approx(5.0)
