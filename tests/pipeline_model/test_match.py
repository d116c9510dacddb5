"""Which line of the user a stage of the pipeline carries out."""

from dataclasses import replace

import pytest

from quickfit.pipeline_model import match as matching
from quickfit.pipeline_model.match import Operation, match, operation_kind
from quickfit.pipeline_model.snapshot import Node
from quickfit.pipeline_model.stages import StageCost, kind_of


def stages(*tree: tuple[int, str, tuple[int, ...]]) -> list[StageCost]:
    """Return stages from `(number, runtime name, inputs)`."""
    made = []
    for number, name, inputs in tree:
        node = Node(number, name, 1, 0.0, 0, 0, None, None, 0, 0, False, inputs)
        made.append(StageCost(node, kind_of(name), 0.0, 1.0, 1.0))
    return made


def chain(*names: str) -> list[StageCost]:
    """Return a chain of stages from the consumer to the source, numbered from 1."""
    last = len(names)
    return stages(
        *(
            (number, name, (number + 1,) if number < last else ())
            for number, name in enumerate(names, 1)
        )
    )


def written(*tree: tuple[int, str, tuple[int, ...]]) -> dict[int, Operation]:
    """Return operations from `(number, class name, inputs)`; the number is the line, too."""
    return {
        number: Operation(number, operation_kind(name), "train.py", number, inputs)
        for number, name, inputs in tree
    }


def with_facts(
    operations: dict[int, Operation], facts: dict[int, dict[str, object]]
) -> dict[int, Operation]:
    """Return the operations, some of them with facts."""
    return {n: replace(op, facts=facts.get(n, {})) for n, op in operations.items()}


def lines(*names: str) -> tuple[dict[int, Operation], int]:
    """Return a chain of operations from the source to the consumer, and the last one."""
    tree = [(n, name, (n - 1,) if n > 1 else ()) for n, name in enumerate(names, 1)]
    return written(*tree), len(names)


def found(running: list[StageCost], operations: dict[int, Operation], top: int) -> list[list[int]]:
    """Return the lines of each stage, in the order of the stages."""
    result = match(running, operations, top)
    return [[operation.id for operation in result[stage.node.id]] for stage in running]


@pytest.mark.parametrize(
    ("class_name", "kind"),
    [
        ("Map", "map"),
        ("ParallelMap", "map"),
        ("_ParallelMapDataset", "map"),
        ("ParallelBatch", "batch"),
        ("PaddedBatch", "paddedbatch"),
        ("TensorSlice", "tensorslice"),
        ("TFRecordDatasetV2", "tfrecord"),
        ("TFRecordV2", "tfrecord"),
        ("TextLineDatasetV2", "textline"),
        ("FixedLengthRecordDatasetV1", "fixedlengthrecord"),
        ("Unbatch", "unbatch"),
        ("ParallelInterleave", "interleave"),
        ("FlatMap", "flatmap"),
        ("", ""),
    ],
)
def test_a_class_name_tells_the_kind(class_name, kind):
    assert operation_kind(class_name) == kind


def test_a_plain_chain_is_matched_one_to_one():
    running = chain("BatchV2", "Map", "Shuffle", "TensorSlice")
    assert found(running, *lines("TensorSlice", "Shuffle", "Map", "Batch")) == [[4], [3], [2], [1]]


def test_what_tf_data_added_at_the_end_belongs_to_nobody():
    running = chain("Root", "Prefetch", "BatchV2", "TensorSlice")
    assert found(running, *lines("TensorSlice", "Batch")) == [[], [], [2], [1]]


def test_a_prefetch_of_the_user_is_the_users():
    running = chain("Root", "Prefetch", "BatchV2", "TensorSlice")
    assert found(running, *lines("TensorSlice", "Batch", "Prefetch")) == [[], [3], [2], [1]]


def test_the_prefetch_that_was_added_is_not_taken_for_the_users_further_down():
    running = chain("Root", "Prefetch", "BatchV2", "Prefetch", "Map", "TensorSlice")
    operations = lines("TensorSlice", "Map", "Prefetch", "Batch")
    assert found(running, *operations) == [[], [], [4], [3], [2], [1]]


def test_a_fused_map_and_batch_carries_out_both():
    running = chain("Prefetch", "MapAndBatch", "TensorSlice")
    operations = lines("TensorSlice", "ParallelMap", "Batch", "Prefetch")
    assert found(running, *operations) == [[4], [3, 2], [1]]


def test_a_fused_shuffle_and_repeat_carries_out_both():
    running = chain("BatchV2", "ShuffleAndRepeat", "Range")
    assert found(running, *lines("Range", "Shuffle", "Repeat", "Batch")) == [[4], [3, 2], [1]]


def test_a_fusion_the_user_wrote_is_one_operation():
    running = chain("MapAndBatch", "Range")
    assert found(running, *lines("Range", "MapAndBatch")) == [[2], [1]]


def test_a_fused_stage_without_its_second_operation_carries_out_the_first():
    running = chain("MapAndBatch", "Range")
    assert found(running, *lines("Range", "Batch")) == [[2], [1]]


def test_operations_that_do_nothing_at_run_time_have_no_stage():
    running = chain("Prefetch", "BatchV2", "Map", "TensorSlice")
    operations = lines("TensorSlice", "Options", "Map", "AssertCardinality", "Batch", "Options")
    assert found(running, *operations) == [[], [5], [3], [1]]


def test_an_operation_between_two_that_were_fused_may_be_gone():
    running = chain("MapAndBatch", "TensorSlice")
    assert found(running, *lines("TensorSlice", "Map", "Options", "Batch")) == [[4, 2], [1]]


@pytest.mark.parametrize(
    ("runtime", "class_name"),
    [
        ("ParallelMapV2", "Map"),
        ("Map", "ParallelMap"),
        ("ParallelBatch", "Batch"),
        ("ParallelInterleaveV4", "Interleave"),
        ("MemoryCache", "Cache"),
        ("FiniteTake", "Take"),
        ("FiniteSkip", "Skip"),
        ("ForeverRepeat", "Repeat"),
        ("PaddedBatchV2", "PaddedBatch"),
    ],
)
def test_a_stage_is_known_under_its_runtime_name(runtime, class_name):
    assert found(chain(runtime, "Range"), *lines("Range", class_name)) == [[2], [1]]


def test_the_same_map_twice_keeps_its_order():
    running = chain("BatchV2", "ParallelMapV2", "ParallelMapV2", "TensorSlice")
    assert found(running, *lines("TensorSlice", "Map", "Map", "Batch")) == [[4], [3], [2], [1]]


def test_two_maps_with_something_between_are_told_apart():
    running = chain("Map", "BatchV2", "Range")
    assert found(running, *lines("Range", "Map", "Batch", "Map")) == [[4], [3], [1]]
    running = chain("BatchV2", "Map", "Range")
    assert found(running, *lines("Range", "Map", "Batch", "Map")) == [[3], [2], [1]]


def test_a_cache_of_two_nodes_is_one_operation():
    running = chain("ForeverRepeat", "MemoryCache", "MemoryCacheImpl", "Map", "Range")
    operations = lines("Range", "Map", "Cache", "Repeat")
    assert found(running, *operations) == [[4], [3], [3], [2], [1]]


def test_a_cache_that_is_full_hides_what_is_above_it():
    running = chain("BatchV2", "ForeverRepeat", "MemoryCache", "MemoryCacheImpl")
    operations = lines("Range", "Map", "Cache", "Repeat", "Batch")
    assert found(running, *operations) == [[5], [4], [3], [3]]


def test_the_branches_of_a_zip_come_from_their_own_lines():
    running = stages(
        (1, "BatchV2", (2,)),
        (2, "Zip", (3, 5)),
        (3, "Map", (4,)),
        (5, "Shuffle", (6,)),
        (4, "Range", ()),
        (6, "Range", ()),
    )
    operations = written(
        (1, "Range", ()),
        (2, "Map", (1,)),
        (3, "Range", ()),
        (4, "Shuffle", (3,)),
        (5, "Zip", (2, 4)),
        (6, "Batch", (5,)),
    )
    assert found(running, operations, 6) == [[6], [5], [2], [4], [1], [3]]


def test_a_dataset_zipped_with_itself_has_one_line_for_two_stages():
    running = stages((1, "Zip", (2, 3)), (2, "Range", ()), (3, "Range", ()))
    operations = written((1, "Range", ()), (2, "Zip", (1, 1)))
    assert found(running, operations, 2) == [[2], [1], [1]]


def test_of_a_concatenation_both_inputs_are_matched():
    running = stages(
        (4, "Concatenate", (5, 7)),
        (5, "Map", (6,)),
        (7, "Map", (8,)),
        (6, "Range", ()),
        (8, "Map", (9,)),
        (9, "Range", ()),
    )
    operations = written(
        (1, "Range", ()),
        (2, "Map", (1,)),
        (3, "Range", ()),
        (4, "Map", (3,)),
        (5, "Map", (4,)),
        (6, "Concatenate", (2, 5)),
    )
    assert found(running, operations, 6) == [[6], [2], [5], [1], [4], [3]]


def test_an_input_that_is_left_alone_is_matched_to_the_one_like_it():
    running = stages((1, "Concatenate", (2,)), (2, "Shuffle", (3,)), (3, "TextLine", ()))
    operations = written(
        (1, "Range", ()),
        (2, "Map", (1,)),
        (3, "TextLineDatasetV2", ()),
        (4, "Shuffle", (3,)),
        (5, "Concatenate", (2, 4)),
    )
    assert found(running, operations, 5) == [[5], [4], [3]]


@pytest.mark.parametrize(
    ("runtime", "name"), [("FlatMap", "FlatMap"), ("Interleave", "Interleave")]
)
def test_sub_datasets_do_not_take_the_lines_of_the_source(runtime, name):
    running = stages(
        (1, name, (2, 4, 6)),
        (2, "Map", (3,)),
        (4, "Map", (5,)),
        (6, "Map", (7,)),
        (3, "Range", ()),
        (5, "Range", ()),
        (7, "Range", ()),
    )
    assert found(running, *lines("Range", "Map", name)) == [[3], [2], [], [], [1], [], []]


def test_record_files_are_matched_although_the_runtime_reads_them_by_flat_map():
    running = stages(
        (1, "BatchV2", (2,)), (2, "FlatMap", (3, 4)), (3, "TensorSlice", ()), (4, "TFRecord", ())
    )
    operations = lines("TensorSlice", "TFRecordDatasetV2", "Batch")
    assert found(running, *operations) == [[3], [2], [1], [2]]


def test_files_that_are_read_in_parallel_are_one_line_when_their_names_have_ended():
    running = stages(
        (1, "LegacyParallelInterleaveV2", (2, 3)), (2, "TextLine", ()), (3, "TextLine", ())
    )
    assert found(running, *lines("TensorSlice", "TextLineDatasetV2")) == [[2], [2], [2]]


def test_a_reader_that_has_no_file_open_is_still_the_reader():
    running = stages((1, "FlatMap", (2,)), (2, "TensorSlice", ()))
    assert found(running, *lines("TensorSlice", "FixedLengthRecordDatasetV2")) == [[2], [1]]


SUB = (
    *((1, "TensorSlice", ()), (2, "Interleave", (1,)), (3, "Batch", (2,))),
    # Made by the function that the interleave was given.
    *((4, "TensorSlice", ()), (5, "TFRecordDatasetV2", (4,)), (6, "Map", (5,))),
)


@pytest.mark.parametrize("sub", [[6], 6])
def test_sub_datasets_are_matched_to_the_lines_of_the_function_that_made_them(sub):
    running = stages(
        (1, "BatchV2", (2,)),
        (2, "ParallelInterleaveV4", (3, 4, 8)),
        (3, "TensorSlice", ()),
        (4, "Map", (5,)),
        (8, "Map", (9,)),
        (5, "FlatMap", (6, 7)),
        (9, "FlatMap", (10,)),
        (6, "TensorSlice", ()),
        (7, "TFRecord", ()),
        (10, "TensorSlice", ()),
    )
    operations = with_facts(written(*SUB), {2: {"sub": sub}})
    expected = [[3], [2], [1], [6], [6], [5], [5], [4], [5], [4]]
    assert found(running, operations, 3) == expected


def test_sub_datasets_are_matched_after_the_input_has_ended():
    running = stages(
        (2, "LegacyParallelInterleaveV2", (4, 8)),
        (4, "FlatMap", (6, 7)),
        (8, "FlatMap", (9,)),
        (6, "TensorSlice", ()),
        (7, "TFRecord", ()),
        (9, "TensorSlice", ()),
    )
    operations = with_facts(written(*SUB), {2: {"sub": [5]}})
    assert found(running, operations, 2) == [[2], [5], [5], [4], [5], [4]]


def test_of_several_chains_a_function_may_return_the_one_like_it_is_taken():
    running = stages(
        (1, "FlatMap", (2, 3, 5)),
        (2, "Range", ()),
        (3, "Shuffle", (4,)),
        (5, "Map", (6,)),
        (4, "Range", ()),
        (6, "Range", ()),
    )
    operations = written(
        (1, "Range", ()),
        (2, "FlatMap", (1,)),
        *((3, "Range", ()), (4, "Map", (3,))),
        *((5, "Range", ()), (6, "Shuffle", (5,))),
    )
    operations = with_facts(operations, {2: {"sub": [4, 6]}})
    assert found(running, operations, 2) == [[2], [1], [6], [4], [5], [3]]


@pytest.mark.parametrize("sub", ["six", None, [], [99], 99, [2], [[3]]])
def test_sub_datasets_that_are_not_known_are_nobodys(sub):
    running = stages((1, "FlatMap", (2, 3)), (2, "Range", ()), (3, "TextLine", ()))
    operations = with_facts(lines("Range", "FlatMap")[0], {2: {"sub": sub}})
    assert found(running, operations, 2) == [[2], [1], []]


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("Map", {"is_identity": True}),
        ("Take", {"count": -1}),
        ("Skip", {"count": 0}),
        ("Repeat", {"count": 1}),
        ("Shard", {"num_shards": 1}),
    ],
)
@pytest.mark.parametrize("useless", [2, 3])
def test_an_operation_that_does_nothing_does_not_take_the_stage_of_another(name, facts, useless):
    running = chain("BatchV2", name, "Range")
    operations, top = lines("Range", name, name, "Batch")
    expected = [[4], [5 - useless], [1]]
    assert found(running, with_facts(operations, {useless: facts}), top) == expected


def test_an_operation_that_does_nothing_is_matched_where_it_runs_all_the_same():
    operations, top = lines("Range", "Map", "Batch")
    operations = with_facts(operations, {2: {"is_identity": True}})
    assert found(chain("BatchV2", "Map", "Range"), operations, top) == [[3], [2], [1]]


def test_fusion_goes_past_what_does_nothing():
    operations, top = lines("Range", "Map", "Map", "Options", "DatasetV1Adapter", "Batch")
    operations = with_facts(operations, {3: {"is_identity": True}})
    assert found(chain("MapAndBatch", "Range"), operations, top) == [[6, 2], [1]]


@pytest.mark.parametrize("name", ["Map", "Filter"])
def test_neighbours_that_were_fused_share_a_stage(name):
    running = chain("BatchV2", name, "Range")
    assert found(running, *lines("Range", name, name, name, "Batch")) == [[5], [4, 3, 2], [1]]


def test_neighbours_are_not_taken_for_fused_when_the_input_has_ended():
    assert found(chain("BatchV2", "Map"), *lines("Range", "Map", "Map", "Batch")) == [[4], [3]]


def test_what_is_not_next_to_each_other_is_not_fused():
    running = chain("Map", "Shuffle", "Range")
    assert found(running, *lines("Range", "Map", "Shuffle", "Map")) == [[4], [3], [1]]


def test_a_ragged_batch_runs_a_map_of_its_own():
    running = chain("MapAndBatch", "ParallelMapV2", "Range")
    operations = lines("Range", "Map", "DenseToRagged", "Batch")
    assert found(running, *operations) == [[4, 3], [2], [1]]


def test_what_feeds_a_copy_to_a_device_is_out_of_sight():
    running = chain("Root", "Prefetch", "Generator")
    operations = lines("Range", "Map", "CopyToDevice", "Prefetch")
    assert found(running, *operations) == [[], [4], [3]]


def test_a_source_that_runs_as_several_stages_is_all_of_them():
    running = stages(
        (1, "BatchV2", (2,)),
        (2, "Load", (3,)),
        (3, "ParallelInterleaveV4", (4, 5)),
        (4, "SnapshotNestedDatasetReader", ()),
        (5, "SnapshotDatasetReader/_0", ()),
    )
    assert found(running, *lines("Load", "Batch")) == [[2], [1], [1], [1], [1]]


def test_a_snapshot_that_is_being_written_is_one_operation():
    running = chain("Snapshot", "SnapshotWriter", "Map", "Range")
    assert found(running, *lines("Range", "Map", "Snapshot")) == [[3], [3], [2], [1]]


def test_a_dataset_that_was_rewritten_is_known_by_what_it_was_made_of():
    running = stages((1, "Zip", (2, 3)), (2, "Range", ()), (3, "Map", (4,)), (4, "Range", ()))
    operations = written(
        (1, "Range", ()),
        (2, "Variant", (1,)),
        (3, "Range", ()),
        (4, "Map", (3,)),
        (5, "Zip", (2, 4)),
    )
    assert found(running, operations, 5) == [[5], [1], [4], [3]]


def test_a_repeat_that_shows_two_passes_has_one_line_for_both():
    running = stages((1, "ForeverRepeat", (2, 3)), (2, "Range", ()), (3, "Range", ()))
    assert found(running, *lines("Range", "Repeat")) == [[2], [1], [1]]


def test_nothing_in_common_is_nothing_found():
    assert found(chain("Generator", "Foo"), *lines("Range", "Batch")) == [[], []]


@pytest.mark.parametrize("top", [0, 99])
def test_an_unknown_top_finds_nothing(top):
    assert match(chain("Range"), lines("Range")[0], top) == {}


def test_no_stages_find_nothing():
    assert match([], *lines("Range")) == {}


def test_operations_that_go_in_circles_come_to_an_end():
    operations = written((1, "Map", (2,)), (2, "Batch", (1,)), (3, "Zip", (3, 1)))
    running = stages((1, "Zip", (2, 1)), (2, "Map", (3,)), (3, "MapAndBatch", (2,)))
    assert found(running, operations, 3)[0] == [3]


def test_an_input_that_was_not_recorded_ends_the_chain():
    operations = written((5, "Batch", (4,)))
    assert found(chain("BatchV2", "Map"), operations, 5) == [[5], []]


def test_a_long_chain_is_matched_to_its_end():
    running = chain(*["Map"] * 200, "Range")
    operations, top = lines("Range", *["Map"] * 200)
    assert found(running, operations, top) == [[number] for number in range(201, 0, -1)]


def test_a_pipeline_beyond_all_measure_is_not_matched():
    running = chain(*["Map"] * (matching.MAX_PAIRS // 100), "Range")
    assert match(running, *lines("Range", *["Map"] * 100)) == {}
