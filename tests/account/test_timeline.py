"""The spans of a run: they follow each other, and leave no second out."""

import itertools

import pytest

from cut_runs import cut_at_step
from fit_runs import many_fits
from hand_runs import COMPILED, hand_run
from quickfit.account.timeline import timeline
from quickfit.signals import Signals
from validation_runs import by_a_loop
from whole_runs import FIT, Seen, whole_run

from builders import FIT_LINE, START_S, recording


def parts_of(line):
    return sorted([*line.spans, *line.gaps], key=lambda part: part.begin_s)


RUNS = {
    "one fit": lambda: whole_run(),
    "work before and after": lambda: whole_run(before=(Seen(8.0, 6),), after=(Seen(4.0, 15),)),
    "a hand-written loop": lambda: hand_run("custom", stacks=[]),
    "a loop beside another": lambda: by_a_loop(),
    "fit in a loop": lambda: many_fits(),
    "a run that goes on": lambda: Signals(cut_at_step(recording(), 40)),
    "no steps": lambda: whole_run(steps=0, with_model=False),
}


@pytest.mark.parametrize("name", RUNS)
def test_spans_and_gaps_follow_each_other_from_start_to_end(name):
    line = timeline(RUNS[name]())
    parts = parts_of(line)
    assert parts[0].begin_s == line.begin_s
    assert parts[-1].end_s == pytest.approx(line.end_s)
    for part, after in itertools.pairwise(parts):
        assert part.end_s == pytest.approx(after.begin_s)


def test_a_fit_is_a_span_from_its_call_to_its_end():
    signals = whole_run(before=(Seen(8.0, 6),), after=(Seen(4.0, 15),))
    line = timeline(signals)
    last_s = signals.process.rows("steps")[-1]["end_s"]
    (span,) = line.spans
    assert (span.begin_s, span.end_s) == (START_S - 1, last_s)
    assert span.first_step_s == START_S
    assert [gap.duration_s for gap in line.gaps] == pytest.approx([8.0, 4.0])


def test_fits_at_one_line_are_spans_of_one_loop():
    line = timeline(many_fits(calls=20))
    assert len(line.spans) == 20
    assert len({span.loop for span in line.spans}) == 1


def test_a_fit_reaches_until_it_returns():
    ending = Seen(2.0, FIT_LINE, (FIT,))
    (span,) = timeline(whole_run(after=(ending, Seen(3.0, 15)))).spans
    assert span.return_s == pytest.approx(2.0, abs=0.5)


def test_a_loop_of_the_script_is_a_span_per_epoch():
    signals = hand_run("custom", stacks=[((COMPILED,), 30, 50)])
    for row in signals.recording.main.tables["steps"][50:]:
        row |= {"epoch": 9, "begin_s": row["begin_s"] + 5, "end_s": row["end_s"] + 5}
    line = timeline(Signals(signals.recording))
    assert max(gap.duration_s for gap in line.gaps) == pytest.approx(5.0)


def test_thinned_steps_belong_to_their_loop():
    made = recording()
    steps = made.main.tables["steps"]
    old, made.main.tables["steps"] = steps[:60], steps[60:]
    block = {"loop": 1, "begin_s": old[0]["begin_s"], "end_s": old[-1]["end_s"], "steps": 60}
    made.main.tables["step_blocks"] = [block]
    (span,) = timeline(Signals(made)).spans
    assert span.first_step_s == START_S


def test_a_recording_without_a_clock_has_none():
    assert timeline(Signals(recording(facts={"started_s": None}))) is None


def test_starting_and_ending_python_are_told_by_the_clock_of_the_parent():
    signals = whole_run(after=(Seen(4.0, 15),))
    facts = signals.process.facts
    facts["started_at"] = 5000.5
    watched_s = facts["ended_s"] - facts["started_s"]
    signals.recording.run.update(started_at=5000.0, ended_at=5000.5 + watched_s + 0.25)
    line = timeline(signals)
    assert (line.start_s, line.exit_s) == pytest.approx((0.5, 0.25))
    assert line.total_s == pytest.approx(watched_s + 0.75)


def test_a_wall_clock_that_was_set_back_is_not_believed():
    signals = whole_run()
    signals.process.facts["started_at"] = 100.0
    signals.recording.run.update(started_at=5000.0, ended_at=4000.0)
    assert (timeline(signals).start_s, timeline(signals).exit_s) == (0.0, 0.0)
