"""The report for people, line by line."""

import io
import os
from dataclasses import replace

import pytest

from checking.cases import outcome, told
from quickfit.checking.records import Checked, Outcome, Trouble
from quickfit.checking.to_text import place, write_statistics, write_text
from quickfit.findings import Effect, FixClass, Span

TEXT = "import tf\nds = make(bad).batch(3)\n"


@pytest.fixture
def file(home):
    return str(home / "train.py")


def shown(*tolds, color=False, write=write_text, **more):
    stream = io.StringIO()
    write(outcome(*tolds, **{"words": (".",), **more}), stream, color=color)
    return stream.getvalue()


def test_a_finding_in_full(file):
    related = ((Span(file, 1, 1, 1, 3), "imported here"),)
    found = told(file, TEXT, "bad", becomes="good", related=related, note="Mind it.")
    assert shown(found) == (
        "train.py:2:11  crashes  shuffle-autotune\n"
        "   it is wrong\n"
        "   2 | ds = make(bad).batch(3)\n"
        "     |           ^^^\n"
        "   train.py:1:1  imported here\n"
        "   fix: Write it so\n"
        "   - ds = make(bad).batch(3)\n"
        "   + ds = make(good).batch(3)\n"
        "   note: Mind it.\n"
        "   repairs it · explain: quickfit explain shuffle-autotune\n"
        "\n"
        "1 finding in 1 file (1 crashes); 1 can be fixed: quickfit check --fix\n"
    )


def test_a_finding_without_a_change(file):
    assert shown(told(file, TEXT, "bad", effect=Effect.SLOW)).splitlines()[-3:] == [
        "   explain: quickfit explain shuffle-autotune",
        "",
        "1 finding in 1 file (1 slow)",
    ]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (FixClass.SAME_RESULTS, "same results ·"),
        (FixClass.EQUIVALENT, "small differences in values (--accept equivalent) ·"),
        (FixClass.MAY_CHANGE_RESULTS, "may change results (--accept may-change-results) ·"),
        (FixClass.SHOW_ONLY, "an idea to adapt by hand ·"),
    ],
)
def test_the_class_of_a_change_says_what_it_needs(file, kind, said):
    assert said in shown(told(file, TEXT, "bad", becomes="good", kind=kind))


def test_a_class_that_was_accepted_needs_no_flag(file):
    found = told(file, TEXT, "bad", becomes="good", kind=FixClass.EQUIVALENT)
    assert "--accept equivalent) ·" not in shown(found, accepted=frozenset([FixClass.EQUIVALENT]))


def test_a_hint_is_called_one(file):
    assert "  slow sometimes  " in shown(told(file, TEXT, "bad", effect=Effect.SLOW, is_hint=True))


def test_a_finding_over_several_lines_is_marked_to_the_end_of_its_first(file):
    found = told(file, TEXT, "make", effect=Effect.HANGS)
    where = replace(found.spotted.where, end_line=3, end_column=2)
    long = replace(found, spotted=replace(found.spotted, where=where))
    assert "     |      ^^^^^^^^^^^^^^^^^^\n" in shown(long)


def test_a_finding_in_a_notebook_names_its_cell(file):
    found = told(file, TEXT, "bad")
    where = replace(found.spotted.where, cell=3)
    assert shown(replace(found, spotted=replace(found.spotted, where=where))).startswith(
        "train.py:cell 3:2:11  crashes"
    )


def test_a_change_in_another_file_says_so(file, home):
    found = told(file, TEXT, "bad", becomes="good")
    other = replace(found.rewrites[0], where=Span(str(home / "data.py"), 7))
    assert "   data.py:7:1\n   - ds" in shown(replace(found, rewrites=(other,)))


def test_a_long_summary_is_wrapped_and_code_is_not(file):
    found = told(file, TEXT, "bad", summary="word " * 60, becomes="x" * 150)
    lines = shown(found).splitlines()
    assert max(len(line) for line in lines if "word" in line) <= 100
    assert sum("word" in line for line in lines) > 2
    assert f"   + ds = make({'x' * 150}).batch(3)" in lines


def test_nothing_in_a_text_steers_the_terminal(home):
    file = str(home / "a\x1b[2J\n.py")
    text = "x = bad  # \x1b[31m\x07\u202e\n"
    found = told(file, text, "bad", summary="s\x1b[2J\nline", becomes="g\x1b", note="\x07")
    written = shown(found)
    assert all(line.isprintable() for line in written.split("\n"))
    assert "a\\x1b[2J\\n.py:1:5" in written


def test_a_name_that_is_not_utf8_is_shown(home):
    file = os.fsdecode(bytes(home) + b"/\xff.py")
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    write_text(outcome(told(file, "bad", "bad")), stream)
    assert b"\\udcff.py:1:1" in stream.buffer.getvalue()


def test_an_ascii_terminal_gets_ascii(file):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    write_text(outcome(told(file, "s = 'ö'; bad", "bad", becomes="x")), stream)
    assert b"s = '\\xf6'; bad" in stream.buffer.getvalue()


def test_colours_are_used_when_asked_for_and_only_then(file):
    found = told(file, TEXT, "bad", becomes="good")
    assert "\x1b[" in shown(found, color=True)
    assert "\x1b[" not in shown(found, color=False)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("env", "colored"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
)
def test_a_terminal_gets_colours_unless_they_were_declined(file, monkeypatch, env, colored):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    stream = Terminal()
    write_text(outcome(told(file, TEXT, "bad")), stream)
    assert ("\x1b[" in stream.getvalue()) is colored


def test_a_pipe_gets_no_colours_even_if_the_shell_forces_them_elsewhere(file, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    stream = io.StringIO()
    write_text(outcome(told(file, TEXT, "bad")), stream)
    assert "\x1b[" not in stream.getvalue()


def test_a_file_that_cannot_be_checked_is_shown_with_its_line(home):
    trouble = Trouble(Span(str(home / "a.py"), 3, 5), "invalid syntax", "x = = 1", 3)
    stream = io.StringIO()
    write_text(Outcome((Checked("a.py", troubles=(trouble,)),)), stream)
    assert stream.getvalue() == (
        "a.py:3:5  error\n   invalid syntax\n   3 | x = = 1\n     |     ^\n\n"
        "no findings in 1 file; 1 file with errors\n"
    )


def test_hints_that_are_hidden_are_said(home):
    stream = io.StringIO()
    write_text(Outcome((Checked("a.py", hints=2),)), stream)
    assert stream.getvalue().endswith("2 hints are not shown (only sometimes slow): --hints\n")


def test_places(home):
    assert place(Span(str(home / "a.py"), 3, 5)) == "a.py:3:5"
    assert place(Span(str(home / "a.py"), 0)) == "a.py"
    assert place(Span("/elsewhere/a.py", 3, 5, cell=2)) == "/elsewhere/a.py:cell 2:3:5"


def test_statistics_count_causes_the_most_frequent_first(file):
    one = told(file, TEXT, "bad", becomes="good")
    other = told(file, TEXT, "make", becomes="made")
    slow = told(file, TEXT, "batch", cause="predict-in-loop", effect=Effect.SLOW)
    first, second, last = shown(slow, one, other, write=write_statistics).splitlines()
    assert first == "2  shuffle-autotune  2 fixable  A shuffle is given AUTOTUNE"
    assert second.split()[:2] == ["1", "predict-in-loop"]
    assert last.startswith("3 findings in 1 file (2 crash, 1 slow); 2 can be fixed")


def test_statistics_of_nothing(home):
    assert shown(write=write_statistics) == "no findings in 1 file\n"
