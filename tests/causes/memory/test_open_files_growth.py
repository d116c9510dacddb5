"""`open-files-growth`: files that are opened and not closed, step after step."""

import pytest

from memory_runs import filling, flat, held_by, memory_run, rising
from quickfit.causes.memory.open_files_growth import detect, fix
from quickfit.diagnosis import diagnose_recording
from quickfit.errors import SignalMissing

OPENS = """\
def batches():
    for path in paths:
        file = open(path, "rb")
        handles.append(file)
        yield file.read()

for step in range(100):
    train(next(batches))
"""


def opening(**given):
    return memory_run(
        **{"seconds": 20, "open_files": rising(10, 20), "source": OPENS, "head_line": 7, **given}
    )


def test_fires_at_the_line_that_opens_and_keeps():
    finding = detect(opening(objects={"files": (3, 203)}))
    assert finding.where.line == 3
    assert finding.exhaustion.each == pytest.approx(1.0, rel=0.1)
    assert finding.exhaustion.limit == 1024
    assert finding.exhaustion.in_s == pytest.approx((1024 - 225) / 10, rel=0.1)
    assert fix(finding, opening()).kind == "same-results"


def test_the_report_says_when_no_more_can_be_opened():
    (finding,) = diagnose_recording(opening().recording).findings
    assert (finding.cause, finding.severity) == ("open-files-growth", "severe")


def test_a_line_of_the_allocations_is_better():
    assert detect(held_by(opening(), 3, rising(3000), 20)).where.line == 3


def test_a_last_reading_after_everything_was_let_go_is_left_out():
    signals = opening()
    signals.recording.main.tables["machine"][-1]["open_files"] = 6
    assert detect(signals).exhaustion.each == pytest.approx(1.0, rel=0.1)


def test_without_a_line_the_command_is_told():
    finding = detect(opening(source="for step in range(9):\n    train()\n", head_line=1))
    assert finding.where is None
    assert "quickfit run --memory train.py" in finding.evidence[-1].detail


@pytest.mark.parametrize(
    "files",
    [
        pytest.param(flat(40), id="healthy"),
        pytest.param(filling(20, 8, 20), id="all shards are open"),
        pytest.param(rising(0.5, 20), id="a few"),
        pytest.param(lambda at_s: 20 + 60 * (at_s % 5), id="they come and go"),
    ],
)
def test_stays_silent_when(files):
    assert detect(opening(open_files=files)) is None


def test_a_system_that_does_not_tell_is_not_checked():
    with pytest.raises(SignalMissing):
        detect(opening(open_files=None))
