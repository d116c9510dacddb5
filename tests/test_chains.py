"""The stages of real pipelines are matched to the lines that wrote them, however written."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from quickfit.pipeline_model.match import Operation, match, operation_kind
from quickfit.pipeline_model.snapshot import snapshot_from_row
from quickfit.pipeline_model.stages import stage_costs
from quickfit.recording import reader

from launch.sessions import clean_env, python

pytestmark = [pytest.mark.tf, pytest.mark.tf_any]

SCRIPTS = Path(__file__).parent / "scripts"
ENV = clean_env(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")

# For each pipeline of `scripts/chains.py` the ways from the consumer to a source. A stage is
# written as NAME=LINES, a line as MARK or, with the function it was given, MARK(FUNCTION); a
# stage without lines was injected. A way with a question mark may have ended already.
EXPECTED = {
    "plain": "Root > Prefetch > PaddedBatchV2=padded > ParallelMapV2=map(plus) "
    "> Shuffle=shuffle > TensorSlice=slices",
    "fused": "Root > Prefetch=batch-prefetch > MapAndBatch=batch-prefetch+fused-map(plus) "
    "> ShuffleAndRepeat=shuffle-repeat+shuffle-repeat > Range=shuffle-repeat",
    "prefetch_in_the_middle": "Root > MapAndBatch=map-batch+map-batch(in-python) "
    "> Prefetch=middle > Range=middle",
    "in_a_loop": "Root > Prefetch > Map=after-loop(noisy) > ParallelMapV2=loop-map(plus) "
    "> ParallelMapV2=loop-map(plus) > Range=loop-source",
    "in_a_comprehension": "Root > Prefetch > Zip=zip > ParallelMapV2=parts(scale) > Range=parts",
    "with_itself": "Root > Prefetch > BatchV2=self-zip > Zip=self-zip "
    "> ParallelMapV2=self(method) > Range=self",
    "by_helpers": """
        Root > Prefetch=helper-prefetch > BatchV2=helper-batch > Interleave=mix(records)
        | > TensorSlice=names
        | > Filter=nonempty(nonempty) > Map=measure(length) > FlatMap=open > TensorSlice=open
        | > Filter=nonempty(nonempty) > Map=measure(length) > FlatMap=open > TFRecord=open""",
    "by_helpers_again": """
        Root > Prefetch=helper-prefetch > BatchV2=helper-batch > FiniteTake=again-interleaved
        > Interleave=mix(records)
        | > TensorSlice=names
        | > Filter=nonempty(nonempty) > Map=measure(length) > FlatMap=open > TensorSlice=open
        | > Filter=nonempty(nonempty) > Map=measure(length) > FlatMap=open > TFRecord=open""",
    "lambdas_over_lines": """
        Root > ParallelInterleaveV4=over-lines(lambda-file)
        | ?> TensorSlice=over-lines
        | > MapAndBatch=lambda-batch+lambda-map(lambda-record)
            > FlatMap=lambda-open > TensorSlice=lambda-open
        | > MapAndBatch=lambda-batch+lambda-map(lambda-record)
            > FlatMap=lambda-open > TFRecord=lambda-open""",
    "nested": """
        Root > Prefetch > FlatMap=nested(inner)
        | > Range=nested
        | > FlatMap=inner-flat(innermost) > Map=inner-map(plus) > Map=inner-map(plus)
            > Range=inner-source
        | > FlatMap=inner-flat(innermost) > Map=innermost(scale) > Range=innermost""",
    "either": """
        Root > Prefetch > Interleave=either(one-of)
        | > Range=either
        | > Map=even(plus) > Range=even
        | > Shuffle=odd > Range=odd""",
    "made_outside": """
        Root > Prefetch > FlatMap=hand-out(hand-out)
        | > Range=hand-out
        | > Map=other(plus) > Range=other""",
    "reads_files": """
        Root > Prefetch > BatchV2=files > LegacyParallelInterleaveV2=files
        | ?> TensorSlice=files
        | > TFRecord=files""",
    "lists_files": """
        Root > ParallelMapV2=listed(length) > FlatMap=listed
        | > TensorSlice=list
        | > TFRecord=listed""",
    "from_generator": """
        Root > Prefetch > BatchV2=generator > FlatMap=generator
        | > FromTensor=generator
        | > Generator=generator(numbers)""",
    "nothing_done": "Root > MapAndBatch=something+something(plus) > Range=nothing",
    "unbatched": "Root > Prefetch > Unbatch=unbatch > RebatchV2=unbatch "
    "> ParallelMapV2=before(plus) > BatchV2=before > Range=before",
    "cached": "Root > Prefetch > BatchV2=cache > MemoryCache=cache > MemoryCacheImpl=cache "
    "> ParallelMapV2=uncached(plus) > Range=uncached",
    "cached_in_a_file": "Root > Prefetch > BatchV2=file > FileCache=file > FileCacheImpl=file "
    "> ParallelMapV2=unfiled(plus) > Range=unfiled",
    "chosen": """
        Root > Prefetch > DirectedInterleave=choose
        | > ParallelMapV2=choice(choice) > Range=choice
        | > ParallelMapV2=first(plus) > Range=first
        | > Shuffle=second > Range=second""",
    "sampled": """
        Root > Prefetch > DirectedInterleave=sample
        | > ParallelMapV2=sample > BatchV2=sample > Random=sample
        | > ForeverRepeat=populations > Range=populations
        | > Range=populations""",
    "counted": "Root > Prefetch > Filter=filter(filter) > Zip=enumerate > Range=enumerate",
    "joined": """
        Root > Prefetch > Concatenate=join
        | ?> ParallelMapV2=head(plus) > Range=head
        | > Shuffle=tail > Range=tail""",
    "grouped": "Root > MapAndBatch=ragged-batch+ragged-batch > ParallelMapV2=ragged(ragged) "
    "> Range=ragged",
    "applied": "Root > ParallelMapV2=apply(plus) > Range=apply",
    "fused_neighbours": "Root > ParallelMapV2=fuse-two(scale)+fuse-one(plus) > Range=fuse-one",
    "layers": "Root > ParallelMapV2=keras-layer > ParallelMapV2=own-layer(shift) "
    "> BatchV2=rows > TensorSlice=rows",
    "saved": """
        Root > Prefetch > BatchV2=load > Load=load > ParallelInterleaveV4=load
        | > SnapshotNestedDatasetReader=load
        | > SnapshotDatasetReader/_0=load""",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Run the script once; return its pipelines and what quickfit recorded of them."""
    folder, temp = tmp_path_factory.mktemp("run.qfrun"), tmp_path_factory.mktemp("temp")
    done = python(temp, str(SCRIPTS / "chains.py"), str(folder), str(temp), env=ENV)
    assert done.returncode == 0, done.stderr.decode()
    process = reader.read(next(folder.glob("*.sqlite"))).main
    assert {row["state"] for row in process.rows("probes") if row["name"] == "tf_data"} <= {
        "active"
    }
    operations = {
        row["id"]: Operation(
            row["id"],
            operation_kind(row["kind"]),
            row["file"],
            row["line"],
            tuple(row["inputs"]),
            row["facts"],
        )
        for row in process.rows("datasets")
    }
    told = json.loads(done.stdout)
    return SimpleNamespace(
        pipelines=told["pipelines"], left_behind=told["left_behind"], operations=operations
    )


def marks():
    """Return what each marked line of the script and its module is called."""
    found = {}
    for script in ("chains.py", "chains_reading.py"):
        for number, text in enumerate((SCRIPTS / script).read_text().splitlines(), 1):
            if "# mark: " in text:
                found[str(SCRIPTS / script), number] = text.partition("# mark: ")[2]
    return found


def matched(run, name):
    """Return the stages of a pipeline and the operations of each."""
    pipeline = run.pipelines[name]
    row = {"nodes": pipeline["nodes"], "root": pipeline["root"], "at_s": 0, "gaps": 0, "gap_s": 0}
    stages = stage_costs(None, snapshot_from_row(row))
    found = match(stages, run.operations, pipeline["dataset"])
    return {stage.node.id: (stage.node, found[stage.node.id]) for stage in stages}


def text_of(operation):
    """Return the mark of an operation's line, with the one of its function."""
    text = marks()[operation.file, operation.line]
    function = (operation.facts.get("function_file"), operation.facts.get("function_line"))
    return f"{text}({marks()[function]})" if function[0] is not None else text


def ways(run, name):
    """Return all ways from the consumer of a pipeline to its sources."""
    stages = matched(run, name)

    def below(number, way):
        node, operations = stages[number]
        lines = "+".join(map(text_of, operations))
        way = (*way, f"{node.name}={lines}" if lines else node.name)
        inputs = [child for child in node.inputs if child in stages]
        return [one for child in inputs for one in below(child, way)] or [way]

    found = set(below(run.pipelines[name]["root"], ()))
    # A sub-dataset that has only begun shows less than the others.
    return {way for way in found if not any(way == more[: len(way)] for more in found - {way})}


def expected_ways(name):
    """Return the ways there must be, and those there may be."""
    trunk, *branches = EXPECTED[name].split("|")
    begin = split(trunk)
    must, may = set(), set()
    for branch in branches or [""]:
        is_optional = branch.strip().startswith("?")
        (may if is_optional else must).add((*begin, *split(branch.replace("?", "", 1))))
    return must, may


def split(text):
    return tuple(part.strip() for part in text.split(">") if part.strip())


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_every_stage_is_matched_to_the_line_that_wrote_it(run, name):
    must, may = expected_ways(name)
    found = ways(run, name)
    assert found - may == must


def test_every_pipeline_of_the_script_is_expected(run):
    assert set(run.pipelines) == {*EXPECTED, "of_keras"}


def test_datasets_that_are_gone_leave_nothing_behind(run):
    assert run.left_behind == {"datasets": 0, "graphs": 0}


def test_what_a_library_built_is_on_the_line_that_called_it_and_says_so(run):
    stages = list(matched(run, "of_keras").values())
    assert [node.name for node, operations in stages if not operations] == ["Root", "Prefetch"]
    operations = [operation for _, carried in stages for operation in carried]
    assert len(operations) > 10
    assert {text_of(operation) for operation in operations} == {"keras"}
    made = {(op.facts["call"], op.facts["made_in"]) for op in operations}
    library = "keras.src.utils.timeseries_dataset_utils"
    assert made == {("timeseries_dataset_from_array", library)}


def test_what_the_user_calls_is_not_said_to_be_made_in_a_library(run):
    operations = [op for name in EXPECTED for _, ops in matched(run, name).values() for op in ops]
    assert {operation.facts.get("made_in") for operation in operations} == {None}


@pytest.mark.parametrize(
    ("name", "stage", "callers"),
    [
        ("by_helpers", "BatchV2", ["call-batched", "build"]),
        ("by_helpers", "Prefetch", ["helper-batch", "call-batched", "build"]),
        ("by_helpers", "Interleave", ["call-interleaved", "build"]),
        ("by_helpers", "Filter", ["mix", "call-interleaved", "build"]),
        ("by_helpers_again", "BatchV2", ["again-batched", "build"]),
        ("by_helpers_again", "Interleave", ["again-interleaved", "build"]),
        ("in_a_comprehension", "Range", ["build"]),
        ("plain", "Shuffle", ["build"]),
        ("nested", "Map", ["nested", "build"]),
    ],
)
def test_who_called_the_helper_that_built_a_stage_is_known(run, name, stage, callers):
    found = [ops[0] for node, ops in matched(run, name).values() if node.name == stage]
    via = {tuple(map(tuple, operation.facts["via"])) for operation in found}
    names = {tuple(marks().get(line, "?") for line in lines) for lines in via}
    # Outermost is the line of the script that calls `main`.
    assert {lines[: len(callers)] for lines in names} == {tuple(callers)}
