"""Every number of the table as text."""

import itertools
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from compression.shrinking.rows_builder import a_result, row, shrunk
from quickfit.compression.shrinking.report import (
    CHART_HEIGHT,
    CHART_WIDTH,
    accuracy_text,
    markdown_report,
    svg_chart,
    table_cells,
    table_columns,
    text_report,
    text_table,
    verdict_reasons,
)
from quickfit.compression.shrinking.result import CandidateRow, Shrunk
from quickfit.compression.shrinking.targets import Target


@pytest.mark.parametrize("for_training", [False, True])
def test_all_that_was_measured_has_a_column(for_training):
    heads = {column.head for column in table_columns(a_result(for_training=for_training))}
    assert heads >= {"parameters", "flops", "file", "step", "batch 1", "batch 64", "accuracy"}


def test_what_counts_is_never_left_out():
    kept = {
        for_training: [
            c.head for c in table_columns(a_result(for_training=for_training)) if not c.is_extra
        ]
        for for_training in (False, True)
    }
    assert {"batch 1", "batch 64", "faster", "file"} <= set(kept[False])
    assert {"step", "faster", "parameters"} <= set(kept[True])


def test_a_row_without_figures_has_dashes():
    missing = table_cells(a_result())[-1]
    assert missing[0] == "separable-1"
    assert set(missing[1:-1]) == {"–"}
    assert missing[-1] == "not made"


def test_speed_is_that_of_a_step_for_training():
    found = shrunk(row("a", time_s=0.0005, step_s=0.005), for_training=True)
    heads = [column.head for column in table_columns(found)]
    assert table_cells(found)[1][heads.index("faster")] == "4.0×"


def test_an_accuracy_that_is_no_share_is_shown_as_it_is():
    assert accuracy_text(0.956) == "95.6 %"
    assert accuracy_text(-12.5) == "-12.5"
    assert accuracy_text(None) == "–"


def test_rows_with_the_same_reason_are_told_together():
    rejected = [row(name, reason="loses 3 points") for name in ("a", "b")]
    assert verdict_reasons(shrunk(*rejected)) == ["a, b: loses 3 points"]


def test_the_table_marks_the_front_and_aligns_its_columns():
    lines = text_table(a_result())
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
    told = text_report(
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
    head = text_table(shrunk(row("a", step_s=0.01), for_training=True))
    assert head[0].split()[:5] == ["candidate", "accuracy", "points", "step", "faster"]
    assert "2.0×" in head[2]


def test_a_narrow_terminal_has_fewer_columns():
    wide, narrow = text_table(a_result(), 140), text_table(a_result(), 90)
    assert "parameters" in wide[0]
    assert "parameters" not in narrow[0]
    assert "batch 64" in narrow[0]
    assert len(wide) == len(narrow)


def test_reasons_that_are_alike_are_told_together():
    rows = [CandidateRow(name, "x", reason="no time was left") for name in ("a", "b")]
    assert "\na, b: no time was left\n" in text_report(shrunk(*rows))


def test_lines_are_no_wider_than_the_terminal():
    told = text_report(shrunk(row("a"), notes=("word " * 60,)), width=80)
    assert max(map(len, told.splitlines())) <= 100
    assert max(len(line) for line in told.splitlines() if line.startswith("word")) <= 80


def test_an_early_ctrl_c_has_no_table():
    assert (
        text_report(Shrunk((), Target(), is_interrupted=True))
        == "Interrupted before anything was made."
    )


def test_the_report_has_the_table_the_chart_and_how_to_use_it():
    told = markdown_report(
        a_result(
            chosen="pruned-50-int8",
            keras_path=Path("out/model.keras"),
            litert_path=Path("out/model.tflite"),
            notes=("A note.",),
        )
    )
    assert "| * | pruned-50-int8 | 94.9 % | -0.1 |" in told
    assert "![accuracy against time](chart.svg)" in told
    assert 'model = keras.saving.load_model("model.keras")' in told
    assert 'run = Runner("model.tflite")' in told
    assert "- A note.\n" in told
    assert "- 94.0 % on samples that nothing has seen\n" in told


def test_names_of_layers_cannot_break_the_page():
    assert "no convolution &lt;here>" in markdown_report(a_result())


def test_without_a_choice_nothing_is_to_be_used():
    told = markdown_report(a_result())
    assert "Chosen: nothing." in told
    assert "To use it" not in told


SVG = "{http://www.w3.org/2000/svg}"


def parsed(result):
    return ET.fromstring(svg_chart(result))


def test_every_measured_row_is_a_point_inside_the_picture():
    drawn = parsed(a_result(chosen="pruned-50-int8"))
    dots = drawn.findall(f"{SVG}circle")
    assert len(dots) == 4
    for dot in dots:
        assert 0 < float(dot.get("cx")) < CHART_WIDTH
        assert 0 < float(dot.get("cy")) < CHART_HEIGHT
    titles = [dot.find(f"{SVG}title").text for dot in dots]
    assert titles[2] == "pruned-50-int8: 94.9 %, 100 µs, 20 kB"
    assert dots[2].get("r") > dots[1].get("r")


def test_faster_is_left_and_better_is_up():
    drawn = parsed(shrunk(row("fast", 0.90, 0.0001), row("slow", 0.99, 0.1)))
    first, fast, slow = drawn.findall(f"{SVG}circle")
    assert float(fast.get("cx")) < float(first.get("cx")) < float(slow.get("cx"))
    assert float(slow.get("cy")) < float(first.get("cy")) < float(fast.get("cy"))


@pytest.mark.parametrize("marks", [(1.0, 1.0), (0.981, 0.999), (0.2, 0.95)])
def test_accuracies_on_the_axis_are_round_and_none_is_above_all(marks):
    drawn = parsed(shrunk(*(row(f"n{k}", mark, 0.001) for k, mark in enumerate(marks))))
    ends = [one.text for one in drawn.findall(f"{SVG}text") if one.get("text-anchor") == "end"]
    levels = [float(text.removesuffix(" %")) for text in ends if text.endswith(" %")]
    assert len(levels) >= 3
    assert max(levels) <= 100
    steps = {round(b - a, 6) for a, b in itertools.pairwise(sorted(levels))}
    assert len(steps) == 1
    assert steps.pop() in {0.1, 0.2, 0.5, 1, 2, 5, 10, 20}


def test_names_do_not_stand_on_each_other():
    drawn = parsed(shrunk(*(row(f"candidate-{n}", 0.95, 0.001) for n in range(8))))
    names = [one for one in drawn.findall(f"{SVG}text") if (one.text or "").startswith("candidate")]
    heights = sorted(float(one.get("y")) for one in names)
    assert all(after - before >= 11.9 for before, after in itertools.pairwise(heights))


@pytest.mark.parametrize("result", [Shrunk((), Target()), shrunk(CandidateRow("a", "x"))])
def test_little_to_show_is_a_chart_too(result):
    assert parsed(result) is not None


def test_nothing_measured_is_said():
    assert "Nothing was measured." in svg_chart(Shrunk((CandidateRow("a", "x"),), Target()))


def test_hostile_names_stay_text():
    drawn = parsed(shrunk(row('<script>alert("x")</script>&')))
    assert drawn.find(f".//{SVG}script") is None
