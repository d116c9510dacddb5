"""The table in the terminal."""

from pathlib import Path

from compression.shrinking.rows_builder import a_result, row, shrunk
from quickfit.compression.shrinking.rows import Row
from quickfit.compression.shrinking.shrunk import Shrunk
from quickfit.compression.shrinking.targets import Target
from quickfit.compression.shrinking.to_text import table, text


def test_the_table_marks_the_front_and_aligns_its_columns():
    lines = table(a_result())
    assert lines[0].split() == [
        *("candidate", "accuracy", "points", "batch", "1", "faster"),
        *("batch", "64", "file", "flops", "parameters", "step", "verdict"),
    ]
    assert lines[1].split() == [
        *("original", "95.0", "%", "–", "1.0", "ms", "1.00×", "20", "ms", "100", "kB", "100", "%"),
        *("20,000", "20", "ms"),
    ]
    marked = [line for line in lines if line.startswith("*")]
    assert len(marked) == 1
    assert "pruned-50-int8" in marked[0]
    assert marked[0].endswith("chosen")
    assert "-0.1" in marked[0]
    assert "10×" in marked[0]
    assert lines[-1].split() == ["separable-1", *"–––––––––", "not", "made"]


def test_the_text_says_what_was_chosen_and_why_others_were_not():
    told = text(
        a_result(
            chosen="pruned-50-int8",
            notes=("On 400 samples …",),
            took_s=75,
            out=Path("out"),
            keras_path=Path("out/model.keras"),
            litert_path=Path("out/model.tflite"),
        )
    )
    assert told.startswith("target: at most 1 point lost\n\n")
    assert "pruned-75: loses 15 points\n" in told
    assert "separable-1: no convolution <here>\n" in told
    assert (
        "Chosen: pruned-50-int8 (the pruned-50-int8): 10× as fast (prediction: 100 µs), 20 % of the"
        in told
    )
    assert "On 400 samples …\nIt took 75 s.\n" in told
    assert "Written: out/model.keras, out/model.tflite\n" in told
    assert told.endswith("Report and chart: out/report.md, out/chart.svg")


def test_for_training_the_step_is_shown():
    head = table(shrunk(row("a", step_s=0.01), for_training=True))
    assert head[0].split()[:5] == ["candidate", "accuracy", "points", "step", "faster"]
    assert "2.0×" in head[2]


def test_a_narrow_terminal_has_fewer_columns():
    wide, narrow = table(a_result(), 140), table(a_result(), 90)
    assert "parameters" in wide[0]
    assert "parameters" not in narrow[0]
    assert "batch 64" in narrow[0]
    assert len(wide) == len(narrow)


def test_reasons_that_are_alike_are_told_together():
    rows = [Row(name, "x", reason="no time was left") for name in ("a", "b")]
    assert "\na, b: no time was left\n" in text(shrunk(*rows))


def test_lines_are_no_wider_than_the_terminal():
    told = text(shrunk(row("a"), notes=("word " * 60,)), width=80)
    assert max(map(len, told.splitlines())) <= 100
    assert max(len(line) for line in told.splitlines() if line.startswith("word")) <= 80


def test_an_early_ctrl_c_has_no_table():
    assert (
        text(Shrunk((), Target(), is_interrupted=True)) == "Interrupted before anything was made."
    )
