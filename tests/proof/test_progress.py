"""How far a trial has come, read from its recording."""

from pathlib import Path

import pytest

from quickfit.proof.progress import MIN_STEPS, WARM_STEPS, progress_of
from quickfit.recording.reader import ProcessRecording, Recording

import builders


def process(*loops, role="main"):
    """Return a process with loops, each given as kind, facts, epochs and steps, a second each."""
    tables = {"loops": [], "steps": []}
    at_s = 100.0
    for number, (kind, facts, epochs, steps, is_over) in enumerate(loops, 1):
        entered_s = at_s
        for epoch in range(epochs):
            for _ in range(steps):
                at_s += 1.0
                tables["steps"].append({"loop": number, "epoch": epoch, "end_s": at_s})
        tables["loops"].append(
            {
                "id": number,
                "kind": kind,
                "facts": facts,
                "entered_s": entered_s,
                "end_s": at_s + 0.5 if is_over else None,
            }
        )
    return ProcessRecording(Path("1.sqlite"), {"role": role}, tables)


def recording(*loops, others=()):
    return Recording(Path("run.qfrun"), {}, process(*loops), list(others), [])


def test_before_the_first_step_there_is_no_progress():
    assert progress_of(None) is None
    assert progress_of(recording()) is None
    assert progress_of(recording(("fit", {}, 0, 0, False))) is None


def test_steps_and_epochs_are_marks_of_the_common_clock():
    found = progress_of(recording(("fit", {}, 3, 4, False)))
    assert found.begin_s == 100.0
    assert found.first_step_s == 101.0
    assert found.steps[-1] == (112.0, 12.0)
    assert found.epochs == ((104.0, 1.0), (108.0, 2.0))
    assert found.epoch_steps == 4.0
    assert found.end_s == 112.0


def test_a_training_that_is_over_ends_when_its_loop_does():
    assert progress_of(recording(("fit", {}, 1, 4, True))).end_s == 104.5


def test_an_epoch_that_goes_on_is_no_mark():
    found = progress_of(recording(("fit", {}, 1, 4, False)))
    assert (found.epochs, found.epoch_steps) == ((), 0.0)


def test_what_fit_says_of_an_epoch_is_known_before_one_is_over():
    assert progress_of(recording(("fit", {"steps": 60}, 1, 4, False))).planned_steps == 60.0
    assert progress_of(recording(("fit", {"steps": None}, 1, 4, False))).planned_steps == 0.0


def test_steps_that_are_made_several_at_once_count_as_such():
    found = progress_of(recording(("fit", {"steps_per_execution": 8}, 2, 3, False)))
    assert [done for _, done in found.steps] == [8, 16, 24, 32, 40, 48]
    assert found.epoch_steps == 24


@pytest.mark.parametrize(
    "loop",
    [
        pytest.param(("predict", {}, 1, 9, True), id="predict"),
        pytest.param(("evaluate", {}, 1, 9, True), id="evaluate"),
        pytest.param(("custom", {"trains": False}, 1, 9, True), id="a loop that trains nothing"),
    ],
)
def test_loops_that_do_not_train_are_no_progress(loop):
    assert progress_of(recording(loop)) is None
    found = progress_of(recording(loop, ("fit", {}, 1, 4, False)))
    assert found.begin_s == 109.0
    assert [done for _, done in found.steps] == [1, 2, 3, 4]


def test_several_trainings_go_on_one_after_the_other():
    fit = ("fit", {}, 1, 4, True)
    found = progress_of(recording(fit, fit, fit))
    assert found.steps[-1][1] == 12
    assert [done for _, done in found.epochs] == [1, 2]


def test_the_process_that_trains_is_taken():
    worker = process(("fit", {}, 2, 6, False), role="descendant")
    found = progress_of(recording(("fit", {}, 1, 1, False), others=[worker]))
    assert len(found.steps) == 12


def test_the_first_steps_of_a_long_training_do_not_count():
    long = progress_of(recording(("fit", {}, 1, WARM_STEPS + MIN_STEPS, False)))
    assert long.warm_steps() == long.steps[WARM_STEPS:]
    short = progress_of(recording(("fit", {}, 1, WARM_STEPS + MIN_STEPS - 1, False)))
    assert short.warm_steps() == short.steps


def test_a_recording_as_probes_write_it_can_be_read():
    found = progress_of(builders.recording(steps=60, epochs=3, step_s=0.1))
    assert len(found.steps) == 60
    assert found.epoch_steps == 20
