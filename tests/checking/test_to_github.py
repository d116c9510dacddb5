"""Commands of GitHub Actions, with everything escaped that it would take apart."""

import os
from dataclasses import replace

import pytest

from checking.cases import outcome, told
from quickfit.checking.records import Checked, Outcome, Trouble
from quickfit.checking.to_github import to_github
from quickfit.findings import Effect, Span

TEXT = "ds = make(bad)\n"


def line(file="a.py", **more):
    return to_github(outcome(told(os.path.abspath(file), TEXT, "bad", **more)))


def test_a_finding(home):
    assert line(becomes="good") == (
        "::error file=a.py,line=1,col=11,endLine=1,endColumn=14,"
        "title=shuffle-autotune%3A crashes::it is wrong%0AFix: Write it so\n"
    )


@pytest.mark.parametrize(
    ("more", "command"),
    [
        ({"effect": Effect.CRASHES}, "::error "),
        ({"effect": Effect.HANGS}, "::error "),
        ({"effect": Effect.WRONG}, "::error "),
        ({"effect": Effect.SLOW}, "::warning "),
        ({"effect": Effect.SLOW, "is_hint": True}, "::notice "),
    ],
)
def test_the_command_follows_the_effect(home, more, command):
    assert line(**more).startswith(command)


def test_names_and_messages_are_escaped(home):
    text = line("a,b:c%\n.py", summary="50%\r\nof it: a, b")
    assert text.count("\n") == 1
    assert "file=a%2Cb%3Ac%25%0A.py," in text
    assert text.endswith("::50%25%0D%0Aof it: a, b\n")


def test_a_name_that_is_not_utf8_can_be_written(home):
    text = line(os.fsdecode(b"\xff.py"))
    assert text.encode("utf-8")


def test_a_finding_over_several_lines_has_no_last_column(home):
    found = told(os.path.abspath("a.py"), TEXT, "bad")
    where = replace(found.spotted.where, end_line=4)
    text = to_github(outcome(replace(found, spotted=replace(found.spotted, where=where))))
    assert "endLine=4," in text
    assert "endColumn" not in text


def test_a_finding_in_a_notebook_has_the_line_of_its_file(home):
    found = told(os.path.abspath("a.ipynb"), TEXT, "bad")
    where = replace(found.spotted.where, cell=3)
    spotted = replace(found.spotted, where=where)
    text = to_github(outcome(replace(found, spotted=spotted, file_lines=(77,))))
    assert text.startswith("::error file=a.ipynb,line=77,title=")
    assert "::cell 3, line 1: it is wrong" in text


def test_paths_begin_at_the_top_of_the_checkout(home, monkeypatch):
    (home / "sub").mkdir()
    monkeypatch.chdir(home / "sub")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(home))
    assert "file=sub/a.py," in line()


def test_errors_of_files(home):
    troubles = (
        Trouble(Span(str(home / "a.py"), 3, 5), "invalid: syntax", "", 3),
        Trouble(Span(str(home / "b.ipynb"), 1, 5, cell=2), "invalid", "", 40),
        Trouble(Span(str(home / "c.py"), 0), "cannot read"),
    )
    assert to_github(Outcome((Checked("a.py", troubles=troubles),))) == (
        "::error file=a.py,line=3,col=5,title=cannot be checked::invalid: syntax\n"
        "::error file=b.ipynb,line=40,title=cannot be checked::invalid\n"
        "::error file=c.py,title=cannot be checked::cannot read\n"
    )


def test_nothing_found_is_nothing_said(home):
    assert to_github(outcome()) == ""
