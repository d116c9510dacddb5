"""The stages of a running pipeline, from two looks at tf.data's model of it."""

import pytest

from growing import Growing, node
from quickfit.findings import Location
from quickfit.liveness.pipelines import running_stages

SCRIPT = "/project/train.py"


@pytest.fixture
def run(tmp_path):
    run = Growing(tmp_path)
    yield run
    run.close()


def described(run):
    """Write a pipeline: files, shuffled, in batches."""
    sizes = ({}, {"buffer_size": 500, "cardinality": 9000}, {"batch_size": 32})
    for number, (kind, facts) in enumerate(
        zip(("TensorSlice", "Shuffle", "Batch"), sizes, strict=True), 1
    ):
        inputs = [number - 1] if number > 1 else []
        given = {"file": SCRIPT, "line": 10 + number, "inputs": inputs, "facts": facts}
        run.add("datasets", id=number, kind=kind, **given)
    run.add("iterators", id=1, loop=1, phase="train", dataset=3, created_s=1000.0)


def looked(run, at_s, batches, shuffled, held, *, iterator=1):
    run.pipeline(
        iterator,
        at_s,
        node(1, "Batch", batches, [2]),
        node(2, "Shuffle", shuffled, [3], held),
        node(3, "TensorSlice", shuffled + held, []),
    )


def stages_at(run, now_s):
    return running_stages(run.rows, now_s, lambda file, line: file and Location(file, line))


def test_stages_have_their_rates_sizes_and_lines(run):
    described(run)
    looked(run, 1008.0, 0, 0, 100)
    looked(run, 1010.0, 0, 0, 300)
    phase, stages = stages_at(run, 1010.5)
    assert phase == "train"
    assert [stage.kind for stage in stages] == ["batch", "shuffle", "tensorslice"]
    shuffle = stages[1]
    assert (shuffle.buffered, shuffle.buffered_per_s, shuffle.size) == (300, 100.0, 500)
    assert (shuffle.cardinality, shuffle.location.line) == (9000, 12)
    assert (stages[0].size, stages[2].per_s) == (32, 100.0)


def test_a_rate_is_of_what_moved_lately(run):
    described(run)
    for at_s, held in ((1004.0, 0), (1006.0, 400), (1008.0, 400), (1010.0, 400)):
        looked(run, at_s, 0, 0, held)
    assert stages_at(run, 1010.5)[1][1].buffered_per_s == 0.0


def test_one_look_has_no_rates(run):
    described(run)
    looked(run, 1010.0, 3, 96, 100)
    stages = stages_at(run, 1010.5)[1]
    assert [stage.per_s for stage in stages] == [0.0, 0.0, 0.0]
    assert stages[0].elements == 3


def test_the_pipeline_that_was_asked_last_is_the_one_that_runs(run):
    described(run)
    run.add("iterators", id=2, loop=1, phase="validation", dataset=3, created_s=1009.0)
    looked(run, 1008.0, 50, 900, 10)
    looked(run, 1010.0, 2, 64, 0, iterator=2)
    phase, stages = stages_at(run, 1010.5)
    assert (phase, stages[0].elements) == ("validation", 2)


def test_an_old_look_tells_nothing_of_now(run):
    described(run)
    looked(run, 1010.0, 3, 96, 100)
    phase, stages = stages_at(run, 1030.0)
    assert phase == "train"
    assert [(stage.elements, stage.per_s) for stage in stages] == [(0, 0.0)] * len(stages)


def test_without_a_model_the_stages_are_those_that_were_written(run):
    described(run)
    _, stages = stages_at(run, 1010.0)
    assert [stage.kind for stage in stages]
    assert all(stage.location is not None for stage in stages)


def test_nothing_was_recorded(run):
    assert stages_at(run, 1010.0) == ("", ())


def test_a_pipeline_that_nobody_described_has_stages_without_lines(run):
    looked(run, 1010.0, 3, 96, 100)
    phase, stages = stages_at(run, 1010.5)
    assert (phase, len(stages), stages[1].location, stages[1].size) == ("", 3, None, None)


def test_a_mangled_look_is_left_out(run):
    described(run)
    looked(run, 1010.0, 3, 96, 100)
    run.add("pipelines", iterator=1, at_s=1010.2, nodes=[[1, "Batch"]])
    assert len(stages_at(run, 1010.5)[1]) == 3
