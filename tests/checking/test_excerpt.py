"""A line with a mark under it: tabs, wide characters, control characters and long lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from quickfit.checking.to_text import MARK, excerpt


@pytest.mark.parametrize(
    ("line", "part", "code", "marks"),
    [
        ("x = bad(1)", "bad", "x = bad(1)", "    ^^^"),
        ("\tx = bad", "bad", "    x = bad", "        ^^^"),
        ("a\tbad", "bad", "a   bad", "    ^^^"),
        ("名 = bad", "bad", "名 = bad", "     ^^^"),
        ("x = '名前'", "'名前'", "x = '名前'", "    ^^^^^^"),
        ("x\x1b[31m = bad", "bad", "x\\x1b[31m = bad", "            ^^^"),
        ("\x0cx = bad", "bad", "\\x0cx = bad", "        ^^^"),
        ("bad", "bad", "bad", "^^^"),
    ],
)
def test_the_mark_stands_under_its_part(line, part, code, marks):
    column = line.index(part) + 1
    shown = excerpt(line, column, column + len(part), 80)
    assert (shown.code, shown.marks) == (code, marks)


def test_of_a_long_line_the_part_around_the_mark_is_shown():
    line = "x = [" + "1, " * 5000 + "bad, " + "2, " * 5000 + "]"
    column = line.index("bad") + 1
    shown = excerpt(line, column, column + 3, 60)
    assert shown.code.startswith("…")
    assert shown.code.endswith("…")
    assert cell_len(shown.code) <= 60
    at = shown.marks.index(MARK)
    assert shown.code[at : at + 3] == "bad"


def test_a_part_that_is_too_long_is_marked_as_far_as_it_is_shown():
    shown = excerpt("x = " + "y" * 500, 5, 505, 40)
    assert shown.code == "x = " + "y" * 35 + "…"
    assert shown.marks == "    " + MARK * 35


@pytest.mark.parametrize(("column", "end"), [(0, 0), (1, 1), (99, 120), (5, 2)])
def test_columns_that_are_not_in_the_line_are_no_error(column, end):
    shown = excerpt("abcdef", column, end, 40)
    assert shown.code == "abcdef"
    assert shown.marks.strip() == MARK


def test_an_empty_line_is_no_error():
    assert excerpt("", 1, 5, 40).marks == MARK


@given(st.text(st.characters(exclude_characters="\n\r"), max_size=300), st.integers(1, 320))
def test_nothing_is_wider_than_it_may_be_and_nothing_steers_a_terminal(line, column):
    shown = excerpt(line, column, column + 5, 50)
    assert cell_len(shown.code) <= 51
    assert shown.code.isprintable()
