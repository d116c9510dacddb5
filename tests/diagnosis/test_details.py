"""What a page draws: steps and memory over the run, marks, stages, source; thinned, and true."""

import dataclasses
import statistics

import pytest

from memory_runs import memory_run, rising
from quickfit.account import time_account
from quickfit.account.memory import COURSE_PARTS, memory_account, memory_course
from quickfit.diagnosis import diagnose
from quickfit.diagnosis.details import MAX_MARKS, MAX_POINTS, run_details
from quickfit.findings import Phase
from quickfit.recording.thinning import bin_of
from quickfit.signals import Signals

from builders import recording, run
from report.pages import diagnosis_of, unpack


@pytest.fixture(scope="module")
def replay(tmp_path_factory):
    known = {}

    def details_of(name):
        if name not in known:
            known[name] = diagnosis_of(name, tmp_path_factory.mktemp("run"))
        return known[name]

    return details_of


def test_every_step_is_a_point_while_there_are_few(replay):
    found = replay("pairs/sequential-map")
    points = found.details.points
    assert len(points) == found.details.steps == 360
    later = [p.median_s for p in points[5:]]
    assert statistics.median(later) == pytest.approx(found.breakdown.step_s)
    assert all(p.begin_s < p.end_s <= found.details.total_s for p in points)
    assert found.details.total_s == pytest.approx(found.account.seconds)


def test_many_steps_are_a_few_points_and_none_is_lost():
    signals = run(steps=30_000)
    details = run_details(signals)
    assert details.steps == sum(point.steps for point in details.points) == 30_000
    assert len(details.points) <= MAX_POINTS + 1
    assert [p.first for p in details.points[1:]] == [p.first + p.steps for p in details.points[:-1]]
    assert all(p.low_s <= p.median_s <= p.high_s <= p.longest_s for p in details.points)


def test_old_steps_come_from_their_blocks():
    made = recording(steps=100)
    begin_s = made.main.rows("steps")[0]["begin_s"]
    block = {
        "loop": 1,
        "first_step": 0,
        "steps": 1000,
        "begin_s": begin_s - 100.0,
        "end_s": begin_s,
        "sums": {},
        "histogram": {str(bin_of(0.1)): 990, str(bin_of(5.0)): 10},
    }
    made.main.tables["step_blocks"] = [block]
    signals = Signals(made)
    details = run_details(signals)
    assert time_account(signals).find("step").count == 1100
    first = details.points[0]
    assert (first.steps, details.steps) == (1000, 1100)
    assert first.median_s == pytest.approx(0.1, rel=0.1)
    assert first.high_s == pytest.approx(0.1, rel=0.1)
    assert first.longest_s == pytest.approx(5.0, rel=0.1)


def test_what_happened_beside_the_steps_is_marked(replay):
    marks = replay("variants/combined.validation_callback").details.marks
    kinds = [mark.kind for mark in marks]
    assert kinds.count("epoch") == kinds.count("validation") == 8
    assert next(m.label for m in marks if m.kind == "epoch") == "epoch 1"
    assert "trace" in kinds
    epochs = [m for m in marks if m.kind == "epoch"]
    for epoch, look in zip(epochs, (m for m in marks if m.kind == "validation"), strict=True):
        assert epoch.begin_s < look.begin_s < look.end_s <= epoch.end_s
    slow = [m for m in replay("pairs/spikes").details.marks if m.kind == "spike"]
    assert len(slow) == 28


def test_a_silence_is_a_mark_from_its_begin_to_its_end():
    made = recording(steps=40)
    end_s = made.main.rows("steps")[-1]["end_s"]
    quiet = {"text": "stuck", "step": 3, "quiet_s": 2.0, "at_s": end_s, "moved_again_s": end_s + 1}
    made = dataclasses.replace(made, run={**made.run, "quiet": [quiet]})
    details = run_details(Signals(made))
    (mark,) = [mark for mark in details.marks if mark.kind == "stuck"]
    assert mark.end_s - mark.begin_s == pytest.approx(3.0)


def test_before_the_first_step_a_run_stands_still_in_the_phase_it_is_in():
    made = recording(steps=40)
    end_s = made.main.rows("steps")[-1]["end_s"]
    quiet = {"text": "stuck", "step": 0, "quiet_s": 1e6, "at_s": end_s}
    made = dataclasses.replace(made, run={**made.run, "quiet": [quiet]})
    phase = Phase("data", "data", 1.5, is_open=True)
    details = run_details(Signals(made), phases=(Phase("imports", "imports", 2.0), phase))
    (mark,) = [mark for mark in details.marks if mark.kind == "stuck"]
    assert mark.end_s - mark.begin_s == pytest.approx(1.5)


def test_marks_stay_few(replay):
    for name in ("pairs/spikes", "pairs/retrace-shapes", "pairs/time-in-tracing"):
        kinds = [mark.kind for mark in replay(name).details.marks]
        assert all(kinds.count(kind) <= MAX_MARKS for kind in kinds)


def test_the_input_runs_from_its_source_to_the_step(replay):
    stages = replay("pairs/sequential-map").details.stages
    assert [s.label for s in stages] == [
        "tensorslice",
        "repeat",
        "mapandbatch(augment)",
        "prefetch",
    ]
    slow = stages[2]
    assert slow.where.line == 19
    assert slow.parallelism == 1
    assert slow.step_s == pytest.approx(9.3e-3, rel=0.05)
    assert (stages[3].buffered, stages[3].buffer) == (0, 2)


def test_a_generator_is_the_source_without_the_hulls_of_keras(replay):
    stages = replay("pairs/py-generator-input").details.stages
    assert [s.label for s in stages] == ["generator `windows`", "prefetch"]
    assert stages[0].where.line == 20


def test_branches_follow_each_other(replay):
    stages = replay("pairs/growing-callback").details.stages
    labels = [(s.label, s.depth) for s in stages]
    assert labels.index(("zip", 0)) > labels.index(("repeat", 1))
    assert labels[-1] == ("prefetch", 0)


def test_the_source_around_a_finding_is_there(replay):
    found = replay("pairs/sequential-map")
    (excerpt,) = found.details.excerpts
    where = found.findings[0].where
    assert excerpt.lines[where.line - excerpt.line].strip() == where.text
    assert excerpt.line == where.line - 4


def test_a_plain_diagnosis_has_no_details(tmp_path):
    assert diagnose(unpack("pairs/sequential-map", tmp_path)).details is None


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(memory_run(rss=rising(5e7, 6e8)), id="growing"),
        pytest.param(memory_run(is_cached=True, rss=rising(3.5e7, 6e8)), id="cached"),
    ],
)
def test_memory_over_the_run_adds_up_and_is_the_account_at_its_peak(signals):
    account = memory_account(signals)
    points = memory_course(signals, account)
    assert all(sum(point.parts) == pytest.approx(point.bytes) for point in points)
    assert all(part >= 0 for point in points for part in point.parts)
    peak = next(point for point in points if point.at_s == account.at_s)
    shown = dict(zip(COURSE_PARTS, peak.parts, strict=True))
    for part in account.parts:
        assert shown[part.name] == pytest.approx(part.bytes, rel=0.01), part.name
