"""What a reader sees: the device first, then the table, what to change, and what to know."""

from dataclasses import replace

from quickfit.lab.statistics import Measured
from quickfit.tuning.advice.change_table import ChangeVerdict
from quickfit.tuning.advice.report import advice_text, colored_advice

from tuning.advice.advice_builder import FAILED, LESS, NOT_TRIED, SLOWER, XLA, advice


def test_the_device_is_first_and_the_lines_follow_the_table():
    lines = advice_text(advice(XLA, SLOWER, NOT_TRIED, took_s=150.0)).splitlines()
    assert lines[:2] == ["quickfit tune: train:build", "A CPU, 2 cores, no GPU"]
    assert lines[2] == "as it is: batch 32, 10 ms a step, 1,234 parameters"
    assert lines[5].split()[:4] == ["as", "it", "is", "3,210/s"]
    said = "Advised: XLA (jit_compile): 1.42× (1.31–1.54) as many samples per second"
    place = lines.index(said)
    assert lines[place + 1 : place + 3] == [
        "Put this into your script:",
        "    model.compile(..., jit_compile=True)",
    ]
    assert lines[-1] == "The trials took 2 min 30 s."


def test_that_the_losses_are_comparable_is_said():
    assert "before and after 2,048 samples, on the same samples" in advice_text(advice(XLA))


def test_where_nothing_helps_that_is_said():
    shown = advice_text(advice(SLOWER))
    assert "Nothing to change: no change was faster for sure" in shown
    assert "Put this" not in shown


OPEN = replace(XLA, verdict=ChangeVerdict.NOT_DECIDED, gain=Measured(0.0, 3.74, float("inf"), 1))


def test_what_is_not_decided_is_named_with_the_time_that_would_tell():
    words = "quickfit tune --budget 5m train:build"
    found = advice(OPEN, SLOWER, deciding_budget_s=280.0, deciding_words=words)
    shown = advice_text(found)
    assert "Not decided, and promising: XLA (jit_compile) 3.74× (1 pair)." in shown
    assert f"More time would decide:\n    {words}\n" in shown
    assert "Nothing to change" not in shown


def test_after_an_interrupt_no_budget_is_asked_for():
    shown = advice_text(advice(OPEN, deciding_words="budget_s=300", is_interrupted=True))
    assert "Not decided, and promising" in shown
    assert "budget_s" not in shown


def test_where_nothing_could_be_tried_no_change_is_called_slow():
    shown = advice_text(advice(NOT_TRIED))
    assert "Nothing was measured beside your training: the reasons are above." in shown


def test_an_input_that_is_the_limit_is_said_before_the_table():
    shown = advice_text(advice(XLA, input_note="Your input is the limit: look there."))
    assert shown.index("Your input is the limit") < shown.index("measured")
    assert "Your input" not in advice_text(advice(XLA))


def test_the_edit_of_a_script_is_shown_as_a_diff_with_its_notes():
    patch = "diff --git a/t.py b/t.py\n--- a/t.py\n+++ b/t.py\n-a\n+a, jit_compile=True\n"
    row = replace(XLA, fix_class="equivalent")
    found = advice(row, patch=patch, patch_notes=("XLA: losses agree to rounding.",))
    shown = advice_text(found)
    assert "\n    +a, jit_compile=True\n" in shown
    assert found.lines == ("a, jit_compile=True",)
    assert "XLA: losses agree to rounding." in shown
    assert "Put this into" not in shown
    assert "--apply writes same-results" in shown


def test_what_learns_less_is_left_to_the_user():
    shown = advice_text(advice(XLA, LESS))
    assert "yours to decide:\n    dataset = dataset.batch(128)" in shown
    assert "learns less: after 2,048 samples the loss is 1.1" in shown


def test_an_interrupted_one_says_so_and_shows_what_there_is():
    shown = advice_text(advice(XLA, FAILED, is_interrupted=True))
    assert "Interrupted: this is what was known by then." in shown
    assert "intra-op 1: failed: out of memory: the kernel" in shown


def test_notes_come_last():
    assert "The input was not measured." in advice_text(
        advice(XLA, notes=("The input was not measured.",))
    )


def test_nothing_measured_yet_is_shown_too():
    empty = advice()
    bare = replace(empty.baseline, samples_per_s=None, step_s=None, learned=None)
    shown = advice_text(replace(empty, baseline=bare))
    assert "as it is: batch 32, 1,234 parameters" in shown


def test_no_line_is_wider_than_a_screen_unless_it_is_code():
    note = "word " * 60
    lines = advice_text(advice(XLA, LESS, NOT_TRIED, notes=(note,))).splitlines()
    assert all(len(line) <= 100 for line in lines if not line.startswith("    "))


def test_on_a_terminal_there_is_colour_and_the_same_words():
    shown = colored_advice(advice(XLA, SLOWER), 120)
    assert "\x1b[" in shown
    assert "model.compile(..., jit_compile=True)" in shown
    assert "1.42× (1.31–1.54)" in shown


def test_a_repr_is_the_plain_text():
    found = advice(XLA)
    assert repr(found) == advice_text(found)
