"""The chart."""

import itertools
import xml.etree.ElementTree as ET

import pytest

from compression.shrinking.rows_builder import a_result, row, shrunk
from quickfit.compression.shrinking.rows import Row
from quickfit.compression.shrinking.shrunk import Shrunk
from quickfit.compression.shrinking.targets import Target
from quickfit.compression.shrinking.to_chart import HEIGHT, WIDTH, chart

SVG = "{http://www.w3.org/2000/svg}"


def parsed(result):
    return ET.fromstring(chart(result))


def test_every_measured_row_is_a_point_inside_the_picture():
    drawn = parsed(a_result(chosen="pruned-50-int8"))
    dots = drawn.findall(f"{SVG}circle")
    assert len(dots) == 4
    for dot in dots:
        assert 0 < float(dot.get("cx")) < WIDTH
        assert 0 < float(dot.get("cy")) < HEIGHT
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


@pytest.mark.parametrize("result", [Shrunk((), Target()), shrunk(Row("a", "x"))])
def test_little_to_show_is_a_chart_too(result):
    assert parsed(result) is not None


def test_nothing_measured_is_said():
    assert "Nothing was measured." in chart(Shrunk((Row("a", "x"),), Target()))


def test_hostile_names_stay_text():
    drawn = parsed(shrunk(row('<script>alert("x")</script>&')))
    assert drawn.find(f".//{SVG}script") is None
