"""How long steps wait for input, and which line each stage belongs to."""

import pytest

from quickfit.errors import SignalMissing
from quickfit.signals.input import _covered_s

import builders
from builders import BATCH_LINE, MAP_LINE, SHUFFLE_LINE, run


@pytest.mark.parametrize("wait_s", [0.0, 0.02, 0.06, 0.099])
def test_the_wait_is_what_the_consumer_did_not_spend_between_requests(wait_s):
    wait = run(input_wait_s=wait_s).wait
    assert wait.share == pytest.approx(wait_s / 0.1, abs=0.01)
    assert "model" in wait.source


def test_without_a_model_the_time_inside_a_python_iterator_with_workers_is_the_wait():
    wait = run(input="pydataset", workers=4, input_wait_s=0.04, with_model=False).wait
    assert wait.share == pytest.approx(0.4, abs=0.02)
    assert "Python iterator" in wait.source


def test_a_wait_that_nobody_measured_is_missing_and_not_zero():
    with pytest.raises(SignalMissing, match="model"):
        _ = run(with_model=False).wait


@pytest.mark.parametrize(
    ("given", "has_workers"), [({}, False), ({"input": "pydataset", "workers": 4}, True)]
)
def test_workers_are_named_as_the_reason_only_where_there_are_some(given, has_workers):
    with pytest.raises(SignalMissing) as missing:
        _ = run(with_model=False, **given).stages
    assert ("workers" in str(missing.value)) is has_workers


def test_stages_carry_the_lines_of_the_operations_they_carry_out():
    lines = {s.kind: s.location.line for s in run(map_s=0.05).stages if s.location}
    assert lines == {
        "batch": BATCH_LINE,
        "shuffle": SHUFFLE_LINE,
        "map": MAP_LINE,
        "tensorslice": 12,
    }


def test_a_fused_stage_carries_both_its_operations():
    stage = next(s for s in run(fused=True).stages if s.name == "MapAndBatch")
    assert stage.carries("map")
    assert stage.carries("batch")
    assert stage.location is not None
    assert stage.location.line == MAP_LINE
    assert stage.calls == pytest.approx(32)


def test_a_python_input_is_none_for_a_tf_data_pipeline():
    assert run().py_input is None


def test_the_shuffle_that_holds_the_most_is_described():
    shuffle = run(shuffled=400, map_s=0.064).shuffle
    assert shuffle is not None
    assert shuffle.elements == 400
    assert shuffle.bytes == 400 * 110_000
    # 64 ms per 32 elements on two threads: 1 ms each.
    assert shuffle.fill_s == pytest.approx(0.4, rel=0.05)


def test_steps_too_fast_to_look_at_wait_at_the_start_of_their_epochs():
    signals = run(epoch_start_s=1.2)
    for row in signals.process.tables["pipelines"]:
        row["gaps"] = 0
    wait = signals.wait
    assert wait.share == pytest.approx(2 * 1.2 / signals.steps.total_s, rel=0.05)
    assert "first step of an epoch" in wait.source


def test_a_helper_that_calls_what_it_is_told_is_not_the_line(monkeypatch):
    lines = builders.SOURCE.split("\n")
    lines[SHUFFLE_LINE - 1] = "ds = getattr(ds, method)(*args)"
    lines += ["", "chain.then('shuffle', 500)"]
    monkeypatch.setattr(builders, "SOURCE", "\n".join(lines))
    signals = run(map_s=0.05)
    for row in signals.process.tables["datasets"]:
        row["facts"] = {**row["facts"], "via": [[builders.SCRIPT, len(lines)]]}
    where = {s.kind: s.location.line for s in signals.stages if s.location}
    assert where["shuffle"] == len(lines)
    assert where["map"] == MAP_LINE


def test_a_pipeline_seen_only_before_its_first_batch_has_costs():
    signals = run(map_s=0.05)
    for row in signals.process.tables["pipelines"]:
        for node in row["nodes"]:
            if node[1] in ("Root", "Prefetch", "Batch", "BatchV2", "Model"):
                node[2] = 0
        row["nodes"] = [[*n[:2], 0 if n[0] == row["root"] else n[2], *n[3:]] for n in row["nodes"]]
    for row in signals.process.tables["datasets"]:
        row["facts"] = {**row["facts"], "batch_size": 32}
    costs = {stage.kind: stage.work_s for stage in signals.stages}
    assert costs["map"] == pytest.approx(0.05, rel=0.2)


def test_time_that_two_inputs_share_counts_once():
    assert _covered_s([(0.0, 4.0), (1.0, 2.0), (3.0, 6.0), (8.0, 9.0)]) == 7.0
    assert _covered_s([]) == 0.0
