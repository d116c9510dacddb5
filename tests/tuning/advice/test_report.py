"""What a reader sees: the device first, then the table, what to change, and what to know."""

import io
import math
from dataclasses import replace

import pytest
from rich.console import Console

from quickfit.lab.statistics import Measured
from quickfit.tuning.advice.report import (
    TABLE_HEADINGS,
    advice_text,
    colored_advice,
    loss_figure,
    plain_table,
    rich_table,
    row_cells,
    row_reasons,
)
from quickfit.tuning.advice.result import ChangeVerdict

from tuning.advice.advice_builder import FAILED, LESS, NOT_TRIED, SLOWER, XLA, advice


def test_the_device_is_first_and_the_lines_follow_the_table():
    lines = advice_text(advice(XLA, SLOWER, NOT_TRIED, took_s=150.0)).splitlines()
    assert lines[0] == "train:build on A CPU, 2 cores, no GPU"
    assert lines[1] == "as it is: batch 32, 10 ms a step, 1,234 parameters"
    assert lines[4].split()[:4] == ["as", "it", "is", "3,210/s"]
    place = lines.index("Put this into your script, 1.42× (1.31–1.54) as many samples per second:")
    assert lines[place + 1] == "    model.compile(..., jit_compile=True)"
    assert lines[-1] == "The trials took 2 min 30 s."


def test_that_the_losses_are_comparable_is_said():
    assert "before and after 2,048 samples, on the same samples" in advice_text(advice(XLA))


def test_where_nothing_helps_that_is_said():
    shown = advice_text(advice(SLOWER))
    assert "Nothing to change: no change was faster for sure" in shown
    assert "Put this" not in shown


OPEN = replace(XLA, verdict=ChangeVerdict.NOT_DECIDED, gain=Measured(0.0, 3.74, float("inf"), 1))


@pytest.mark.parametrize(("is_command", "words"), [(True, "--budget 5m"), (False, "budget_s=300")])
def test_what_is_not_decided_is_named_with_the_time_that_would_tell(is_command, words):
    found = advice(OPEN, SLOWER, deciding_budget_s=280.0, is_command=is_command)
    shown = " ".join(advice_text(found).split())
    assert "Not decided, and promising: XLA (jit_compile) 3.74× (1 pair)." in shown
    assert f"More time would decide: {words}" in shown
    assert "Nothing to change" not in shown


def test_somebody_who_interrupts_knows_that_it_was_not_the_budget():
    shown = advice_text(advice(OPEN, deciding_budget_s=280.0, is_interrupted=True))
    assert "Not decided, and promising" in shown
    assert "budget_s" not in shown


def test_where_nothing_could_be_tried_no_change_is_called_slow():
    shown = advice_text(advice(NOT_TRIED))
    assert "Nothing was measured beside your training: the reasons are above." in shown


def test_an_input_that_is_the_limit_is_said_before_the_table():
    gain = Measured(1.4, 1.6, 1.8, 3)
    shown = advice_text(advice(XLA, input_gain=gain, input_hint="Look there."))
    assert shown.index("Your input is the limit") < shown.index("samples/s")
    assert "1.60× (1.40–1.80) as fast" in shown
    assert "it waits. Look there." in " ".join(shown.split())


def test_one_pair_is_not_enough_to_be_sure_of_the_input():
    shown = advice_text(advice(XLA, input_gain=Measured(0.0, 1.6, float("inf"), 1)))
    assert "Your input may be the limit" in shown


def test_an_input_that_is_not_the_limit_is_not_mentioned():
    assert "Your input" not in advice_text(advice(XLA, input_gain=Measured(0.0, 1.05, 1.1, 3)))


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


def test_a_row_says_everything_that_is_known():
    assert row_cells(XLA) == (
        "XLA (jit_compile)",
        "1.42× (1.31–1.54)",
        "0.70×",
        "612 MB (+80 MB)",
        "1,240 steps",
        "2.31 → 0.62",
        "advised",
    )


def test_a_single_pair_is_told_as_one_and_less_memory_as_less():
    assert row_cells(SLOWER)[1:4] == ("0.90× (1 pair)", "1.10×", "500 MB (-32 MB)")


def test_what_was_not_measured_is_a_dash():
    assert row_cells(NOT_TRIED)[1:] == ("–", "–", "–", "–", "–", "not tried")


def test_plain_columns_are_aligned():
    text = plain_table([XLA, SLOWER], ["as it is", "3,210/s", "", "", "", "", ""])
    lines = text.splitlines()
    assert lines[0].split() == " ".join(TABLE_HEADINGS).split()
    column = lines[0].index("samples/s")
    assert [line[column:].split()[0] for line in lines[1:]] == ["3,210/s", "1.42×", "0.90×"]


def test_on_a_terminal_it_is_the_same_table():
    written = io.StringIO()
    console = Console(file=written, width=140, force_terminal=True, color_system="standard")
    console.print(rich_table([XLA, NOT_TRIED], ["as it is", "1", "", "", "", "", ""]))
    text = written.getvalue()
    assert "1.42× (1.31–1.54)" in text
    assert "\x1b[1;32m" in text


def test_brackets_in_a_name_are_no_markup():
    from dataclasses import replace

    written = io.StringIO()
    console = Console(file=written, width=140)
    console.print(rich_table([replace(XLA, name="[bold]x[/bold]")]))
    assert "[bold]x[/bold]" in written.getvalue()


def test_rows_with_the_same_reason_share_a_sentence():
    from dataclasses import replace

    other = replace(NOT_TRIED, name="mixed_float16")
    assert row_reasons([XLA, NOT_TRIED, FAILED, other, LESS]) == [
        "mixed_bfloat16, mixed_float16: not tried: this CPU has none",
        "intra-op 1: failed: out of memory: the kernel",
        "batch 128 (×4): learns less: after 2,048 samples the loss is 1.1, and 0.61 as it is",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [(2.3026, "2.3"), (0.000123, "0.000123"), (12345.6, "12,346"), (math.nan, "not finite")],
)
def test_a_loss_has_three_digits(value, text):
    assert loss_figure(value) == text
