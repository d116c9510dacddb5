"""What a reader sees: the device first, then the table, what to change, and what to know."""

from dataclasses import replace

import pytest

from quickfit.measuring.intervals import Measured
from quickfit.tuning.advice.rows import Verdict
from quickfit.tuning.advice.to_text import colored, text

from tuning.advice.advice_builder import FAILED, LESS, NOT_TRIED, SLOWER, XLA, advice


def test_the_device_is_first_and_the_lines_follow_the_table():
    lines = text(advice(XLA, SLOWER, NOT_TRIED, took_s=150.0)).splitlines()
    assert lines[0] == "train:build on A CPU, 2 cores, no GPU"
    assert lines[1] == "as it is: batch 32, 10 ms a step, 1,234 parameters"
    assert lines[4].split()[:4] == ["as", "it", "is", "3,210/s"]
    place = lines.index("Put this into your script, 1.42× (1.31–1.54) as many samples per second:")
    assert lines[place + 1] == "    model.compile(..., jit_compile=True)"
    assert lines[-1] == "The trials took 2 min 30 s."


def test_that_the_losses_are_comparable_is_said():
    assert "before and after 2,048 samples, on the same samples" in text(advice(XLA))


def test_where_nothing_helps_that_is_said():
    shown = text(advice(SLOWER))
    assert "Nothing to change: no change was faster for sure" in shown
    assert "Put this" not in shown


OPEN = replace(XLA, verdict=Verdict.NOT_DECIDED, gain=Measured(0.0, 3.74, float("inf"), 1))


@pytest.mark.parametrize(("is_command", "words"), [(True, "--budget 5m"), (False, "budget_s=300")])
def test_what_is_not_decided_is_named_with_the_time_that_would_tell(is_command, words):
    found = advice(OPEN, SLOWER, deciding_budget_s=280.0, is_command=is_command)
    shown = " ".join(text(found).split())
    assert "Not decided, and promising: XLA (jit_compile) 3.74× (1 pair)." in shown
    assert f"More time would decide: {words}" in shown
    assert "Nothing to change" not in shown


def test_somebody_who_interrupts_knows_that_it_was_not_the_budget():
    shown = text(advice(OPEN, deciding_budget_s=280.0, is_interrupted=True))
    assert "Not decided, and promising" in shown
    assert "budget_s" not in shown


def test_where_nothing_could_be_tried_no_change_is_called_slow():
    shown = text(advice(NOT_TRIED))
    assert "Nothing was measured beside your training: the reasons are above." in shown


def test_an_input_that_is_the_limit_is_said_before_the_table():
    gain = Measured(1.4, 1.6, 1.8, 3)
    shown = text(advice(XLA, input_gain=gain, input_hint="Look there."))
    assert shown.index("Your input is the limit") < shown.index("samples/s")
    assert "1.60× (1.40–1.80) as fast" in shown
    assert "it waits. Look there." in " ".join(shown.split())


def test_one_pair_is_not_enough_to_be_sure_of_the_input():
    shown = text(advice(XLA, input_gain=Measured(0.0, 1.6, float("inf"), 1)))
    assert "Your input may be the limit" in shown


def test_an_input_that_is_not_the_limit_is_not_mentioned():
    assert "Your input" not in text(advice(XLA, input_gain=Measured(0.0, 1.05, 1.1, 3)))


def test_what_learns_less_is_left_to_the_user():
    shown = text(advice(XLA, LESS))
    assert "yours to decide:\n    dataset = dataset.batch(128)" in shown
    assert "learns less: after 2,048 samples the loss is 1.1" in shown


def test_an_interrupted_one_says_so_and_shows_what_there_is():
    shown = text(advice(XLA, FAILED, is_interrupted=True))
    assert "Interrupted: this is what was known by then." in shown
    assert "intra-op 1: failed: out of memory: the kernel" in shown


def test_notes_come_last():
    assert "The input was not measured." in text(
        advice(XLA, notes=("The input was not measured.",))
    )


def test_nothing_measured_yet_is_shown_too():
    empty = advice()
    bare = replace(empty.baseline, samples_per_s=None, step_s=None, learned=None)
    shown = text(replace(empty, baseline=bare))
    assert "as it is: batch 32, 1,234 parameters" in shown


def test_no_line_is_wider_than_a_screen_unless_it_is_code():
    note = "word " * 60
    lines = text(advice(XLA, LESS, NOT_TRIED, notes=(note,))).splitlines()
    assert all(len(line) <= 100 for line in lines if not line.startswith("    "))


def test_on_a_terminal_there_is_colour_and_the_same_words():
    shown = colored(advice(XLA, SLOWER), 120)
    assert "\x1b[" in shown
    assert "model.compile(..., jit_compile=True)" in shown
    assert "1.42× (1.31–1.54)" in shown


def test_a_repr_is_the_plain_text():
    found = advice(XLA)
    assert repr(found) == text(found)
