"""The table of `tune` and `fix`: what a row shows, and what is left out."""

import io
import math
from dataclasses import replace

import pytest
from rich.console import Console

from quickfit.findings import Gain
from quickfit.lab.statistics import Measured, interval
from quickfit.tuning.advice.change_table import (
    ChangeKind,
    ChangeRow,
    ChangeVerdict,
    gain_text,
    loss_figure,
    plain_table,
    rich_table,
    row_reasons,
    table_lines,
)

from tuning.advice.advice_builder import FAILED, LESS, NOT_TRIED, SLOWER, XLA


def test_a_row_says_everything_that_is_known():
    titles, cells = table_lines([XLA])
    assert dict(zip(titles, cells, strict=True)) == {
        "change": "XLA (jit_compile)",
        "measured": "1.42× (1.31–1.54)",
        "CPU": "0.70×",
        "memory": "612 MB (+80 MB)",
        "pays after": "1,240 steps",
        "loss": "2.31 → 0.62",
        "verdict": "advised",
    }


def test_a_single_pair_is_told_as_one_and_less_memory_as_less():
    assert table_lines([SLOWER])[1][1:4] == ("0.90× (1 pair)", "1.10×", "500 MB (-32 MB)")


def test_columns_without_a_value_are_left_out_and_what_was_not_measured_is_a_dash():
    assert table_lines([NOT_TRIED]) == [
        ("change", "measured", "verdict"),
        ("mixed_bfloat16", "–", "not tried"),
    ]
    assert table_lines([XLA, NOT_TRIED])[2][1:] == ("–", "–", "–", "–", "–", "not tried")


def test_a_fix_of_a_cause_is_a_row_of_the_same_table():
    row = ChangeRow(
        "sequential-map", ChangeKind.CAUSE, ChangeVerdict.ACCEPTED, gain=Measured(1.7, 1.8, 2, 3),
        fix_class="same-results", place="train.py:7", predicted=Gain(1.4, 1.8, 2.5, ""),
        results="bit-equal", unit="steps",
    )  # fmt: skip
    titles, cells = table_lines([row])
    assert titles == ("change", "predicted", "measured", "results", "verdict")
    assert cells[0] == "sequential-map\ntrain.py:7\nsame-results"
    assert cells[1:3] == ("1.40–2.50×", "1.80×\n(1.70–2.00, 3 pairs of steps)")
    assert "train.py:7   " in plain_table([row])


def test_an_interval_that_is_too_wide_is_not_measured():
    assert gain_text(interval([1.2, 4.3])) == "not measured"
    assert gain_text(interval([1.2, 1.3, 1.25])).startswith("1.25× (1.")
    assert gain_text(Measured(1.4, 3.0, 6.0, 3)) == "3.00× (1.40–6.00)"


def test_plain_columns_are_aligned():
    text = plain_table([XLA, SLOWER], {"change": "as it is", "measured": "3,210/s"})
    lines = text.splitlines()
    column = lines[0].index("measured")
    assert [line[column:].split()[0] for line in lines[1:]] == ["3,210/s", "1.42×", "0.90×"]


def test_on_a_terminal_it_is_the_same_table():
    written = io.StringIO()
    console = Console(file=written, width=140, force_terminal=True, color_system="standard")
    console.print(rich_table([XLA, NOT_TRIED], {"change": "as it is"}))
    text = written.getvalue()
    assert "1.42× (1.31–1.54)" in text
    assert "\x1b[1;32m" in text


def test_brackets_in_a_name_are_no_markup():
    written = io.StringIO()
    console = Console(file=written, width=140)
    console.print(rich_table([replace(XLA, name="[bold]x[/bold]")]))
    assert "[bold]x[/bold]" in written.getvalue()


def test_rows_with_the_same_reason_share_a_sentence():
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
