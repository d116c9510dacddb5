"""Lines wrap at words, keep numbers and units together, and never exceed their width."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quickfit.report._layout import Span, cells, columns, painted, paragraph, wrap


def plain(lines):
    return [painted(line, colored=False) for line in lines]


def test_breaks_at_words():
    assert wrap("time spent waiting for input", 17) == ["time spent", "waiting for input"]


def test_never_parts_a_number_from_its_unit():
    assert wrap("the model waits 61 % of it", 18) == ["the model waits", "61 % of it"]


def test_a_word_wider_than_the_line_is_chopped():
    assert wrap("x" * 40, 16) == ["x" * 16, "x" * 16, "x" * 8]


def test_wide_characters_count_twice():
    assert wrap("数" * 10, 16) == ["数" * 8, "数" * 2]


def test_further_lines_start_below_the_first():
    lines = paragraph("keep the filter you trained with", 26, lead=Span("note: "))
    assert plain(lines) == ["note: keep the filter you", "      trained with"]


def test_columns_stand_side_by_side_where_there_is_room():
    (line,) = plain(columns(Span("left"), Span("right"), 100, lead=Span("1  ")))
    assert line == "1  left" + " " * 46 + "right"


def test_columns_wrap_each_for_itself():
    lines = plain(columns(Span("left " * 12), Span("right"), 100, lead=Span("   ")))
    assert lines[0].endswith("right")
    assert lines[1].strip() == "left left left"


def test_columns_on_a_narrow_terminal_are_flush_right_when_they_fit():
    assert plain(columns(Span("left"), Span("right"), 40, lead=Span("   "))) == [
        "   left" + " " * 28 + "right"
    ]


def test_columns_that_do_not_fit_are_stacked():
    lines = plain(columns(Span("l" * 30), Span("r" * 20), 40, lead=Span("   ")))
    assert lines == ["   " + "l" * 30, "     " + "r" * 20]


def test_a_place_wider_than_its_column_gets_its_own_line():
    lines = plain(columns(Span("left"), Span("/very/long" * 9 + ".py:1"), 100, lead=Span("   ")))
    assert lines == ["   left", "     " + "/very/long" * 9 + ".py:1"]


def test_a_place_is_never_broken():
    lines = plain(columns(Span("left"), Span("/very/long" * 9 + ".py:1"), 60, lead=Span("   ")))
    assert lines[1].strip() == "/very/long" * 9 + ".py:1"


@pytest.mark.parametrize("width", [60, 100])
def test_further_lines_of_a_detail_start_behind_its_number(width):
    right = Span("measured at the iterator, warm-up dropped, over many steps of 3 epochs")
    lines = plain(columns(Span("wait"), right, width, lead=Span("   "), number="61 %  "))
    first, second = lines[-2:]
    assert first.index("measured") == len(second) - len(second.lstrip())


def test_an_empty_right_column_takes_no_room():
    assert plain(columns(Span("left " * 4), Span(""), 40, lead=Span(""))) == ["left left left left"]


@settings(deadline=None)
@given(
    st.text(st.characters(categories=["L", "N", "P", "Zs"]), max_size=200),
    st.text(st.characters(categories=["L", "N", "P", "Zs"]), max_size=200),
    st.integers(min_value=40, max_value=120),
)
def test_no_line_is_wider_than_asked_for(left, right, width):
    lines = columns(Span(left), Span(right), width, lead=Span("1  "))
    shown = [painted(line, colored=False) for line in lines]
    # A single word is a place and is left whole.
    assert all(cells(line) <= width or line.strip() == right for line in shown)


@pytest.mark.parametrize("text", ["", " ", "  a  "])
def test_spaces_alone_do_not_break_it(text):
    assert "".join(wrap(text, 20)).strip() == text.strip()
