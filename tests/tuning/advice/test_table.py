"""The table: what its cells say, in plain text and on a terminal."""

import io
import math

import pytest
from rich.console import Console

from quickfit.tuning.advice.table import HEADINGS, cells, loss_figure, plain, reasons, rich_table

from tuning.advice.advice_builder import FAILED, LESS, NOT_TRIED, SLOWER, XLA


def test_a_row_says_everything_that_is_known():
    assert cells(XLA) == (
        "XLA (jit_compile)",
        "1.42× (1.31–1.54)",
        "0.70×",
        "612 MB (+80 MB)",
        "1,240 steps",
        "2.31 → 0.62",
        "advised",
    )


def test_a_single_pair_is_told_as_one_and_less_memory_as_less():
    assert cells(SLOWER)[1:4] == ("0.90× (1 pair)", "1.10×", "500 MB (-32 MB)")


def test_what_was_not_measured_is_a_dash():
    assert cells(NOT_TRIED)[1:] == ("–", "–", "–", "–", "–", "not tried")


def test_plain_columns_are_aligned():
    text = plain([XLA, SLOWER], ["as it is", "3,210/s", "", "", "", "", ""])
    lines = text.splitlines()
    assert lines[0].split() == " ".join(HEADINGS).split()
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
    assert reasons([XLA, NOT_TRIED, FAILED, other, LESS]) == [
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
