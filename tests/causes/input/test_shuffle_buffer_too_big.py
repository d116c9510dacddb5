"""`shuffle-buffer-too-big`: fires when epochs begin with reading a bufferful of small elements."""

import dataclasses

import pytest

from pipeline_changes import changed
from quickfit.causes.input.shuffle_after_decode import detect as detect_after_decode
from quickfit.causes.input.shuffle_buffer_too_big import detect, show_shuffle_fill
from quickfit.findings import FixClass
from scenes import (
    MOVING,
    STUCK,
    at,
)

from builders import SHUFFLE_LINE, run, shown_fix

SLOW = {
    "shuffled": 5000,
    "element_bytes": 200,
    "map_s": 0.016,
    "epoch_start_s": 1.2,
    "cpu_cores": 1.2,
    "step_s": 0.1,
}


def without_maps(built):
    for row in built.main.tables["datasets"]:
        row["kind"] = "TFRecord" if row["kind"] == "Map" else row["kind"]
    for row in built.main.tables["pipelines"]:
        for node in row["nodes"]:
            node[1] = "TFRecord" if node[1] == "ParallelMapV2" else node[1]


def test_fires_at_the_shuffle_with_the_wait_and_the_work_that_explains_it():
    finding = detect(run(**SLOW))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == SHUFFLE_LINE
    wait, held, work = finding.evidence
    assert wait.value == pytest.approx(1.2, rel=0.01)
    assert held.value == 5000
    assert "156 batches" in held.detail
    assert work.value == pytest.approx(1.25, rel=0.1)
    assert 1.0 <= finding.gain.low <= finding.gain.likely <= finding.gain.high < 1.5


def test_large_records_as_they_come_from_files_are_not_decoded():
    signals = changed(without_maps, **{**SLOW, "element_bytes": 50_000})
    assert detect(signals) is not None
    assert detect_after_decode(signals) is None


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({**SLOW, "epoch_start_s": 0.02}, id="epochs start at once"),
        pytest.param({**SLOW, "is_cached": True}, id="a cache makes the refill a copy"),
        pytest.param({**SLOW, "element_bytes": 110_000}, id="the shuffle belongs before the map"),
        pytest.param({**SLOW, "map_s": 0.0001}, id="the work above does not explain the wait"),
        pytest.param({**SLOW, "shuffled": 400, "map_s": 0.2}, id="a buffer of some batches"),
        pytest.param(
            {**SLOW, "cpu_cores": 2.0, "shuffled": 1000, "map_s": 0.08},
            id="all cores are busy: nothing to win",
        ),
        pytest.param({**SLOW, "input": "generator"}, id="a generator has its own cause"),
        pytest.param({**SLOW, "epochs": 1, "steps": 300}, id="one long epoch starts once"),
    ],
)
def test_stays_silent_when(given):
    assert detect(run(**given)) is None


def test_the_fix_shuffles_before_files_are_read():
    signals = run(**SLOW)
    finding = detect(signals)
    assert finding is not None
    edit = shown_fix("shuffle-buffer-too-big", finding, signals)
    assert edit is not None
    assert edit.before == "ds = files.map(decode)\nds = ds.shuffle(500)"
    assert edit.after == "ds = files.shuffle(500)\nds = ds.map(decode)"
    assert edit.kind is FixClass.MAY_CHANGE_RESULTS


def test_a_shuffle_that_fills_is_told_with_how_far_it_is():
    found = show_shuffle_fill(MOVING["shuffle-buffer-too-big"])
    assert found.where == at(".shuffle(70_000)")
    assert "46,432 of 70,000, 9.4 s more" in found.summary
    assert found.moves


def restaged(name, place, **given):
    stages = list(SCENES[name].stages)
    stages[place] = dataclasses.replace(stages[place], **given)
    return changed_live(name, stages=tuple(stages))


SCENES = {**STUCK, **MOVING}


def changed_live(name, **given):
    return dataclasses.replace(SCENES[name], **given)


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"buffered_per_s": 0.0}, id="it is full"),
        pytest.param({"per_s": 2000.0}, id="it gives as it takes"),
        pytest.param({"kind": "prefetch"}, id="it is no shuffle"),
    ],
)
def test_a_shuffle_is_not_being_filled_when(given):
    assert show_shuffle_fill(restaged("shuffle-buffer-too-big", 1, **given)) is None
