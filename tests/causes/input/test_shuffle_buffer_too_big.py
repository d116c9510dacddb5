"""`shuffle-buffer-too-big`: fires when epochs begin with reading a bufferful of small elements."""

import pytest

from pipeline_changes import changed
from quickfit.causes.input.shuffle_after_decode import detect as detect_after_decode
from quickfit.causes.input.shuffle_buffer_too_big import detect, fix
from quickfit.findings import FixClass

from builders import SHUFFLE_LINE, run

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


def test_the_fix_makes_the_buffer_smaller():
    signals = run(**SLOW)
    finding = detect(signals)
    assert finding is not None
    edit = fix(finding, signals)
    assert edit is not None
    assert edit.before == "ds = ds.shuffle(500)"
    assert edit.after == "ds = ds.shuffle(1_000)"
    assert edit.kind is FixClass.MAY_CHANGE_RESULTS
