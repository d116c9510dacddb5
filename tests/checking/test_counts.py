"""The line that a report ends with."""

import pytest

from checking.cases import bare, outcome
from quickfit.checking.records import FREE, Checked, Outcome, Told, Trouble, hidden_hints, summary
from quickfit.findings import Change, Edit, Effect, FixClass, Span

EDIT = Edit("a.py", (1, 0), (1, 1), "x")
DOT = {"words": (".",)}


def fixable(kind=FixClass.REPAIRS, line=1, **more):
    change = Change("t", kind, (EDIT,))
    told = bare(change=change, **more)
    where = Span("a.py", line)
    return Told(type(told.spotted)(**{**vars(told.spotted), "where": where}), "x", (1,))


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (outcome(), "no findings in 1 file"),
        (outcome(files=14), "no findings in 14 files"),
        (outcome(bare()), "1 finding in 1 file (1 crashes)"),
        (outcome(bare(), files=14), "1 finding in 1 of 14 files (1 crashes)"),
        (
            outcome(bare(), bare("a", Effect.SLOW), bare("b", Effect.SLOW), files=2),
            "3 findings in 1 of 2 files (1 crashes, 2 slow)",
        ),
        (
            outcome(bare("a", Effect.HANGS), bare("b", Effect.WRONG), bare("c"), bare("d")),
            "4 findings in 1 file (2 crash, 1 hangs, 1 trains on wrong numbers)",
        ),
        (outcome(bare(is_hint=True)), "1 finding in 1 file (1 hint)"),
        (Outcome(()), "no findings in 0 files"),
    ],
)
def test_a_report_ends_with(outcome, said):
    assert summary(outcome) == said


def test_files_with_errors_are_counted_once():
    troubles = (Trouble(Span("a.py", 1), "m"), Trouble(Span("a.py", 2), "m"))
    assert summary(Outcome((Checked("a.py", troubles=troubles),))).endswith("; 1 file with errors")


@pytest.mark.parametrize(
    ("tolds", "more", "said"),
    [
        ([fixable()], DOT, "1 can be fixed: quickfit check --fix"),
        ([fixable(), fixable(line=2)], DOT, "2 can be fixed: quickfit check --fix"),
        (
            [fixable(FixClass.SAME_RESULTS)],
            {"words": ("a b.py", "c")},
            "1 can be fixed: quickfit check --fix 'a b.py' c",
        ),
        (
            [fixable(FixClass.EQUIVALENT)],
            DOT,
            "1 can be fixed: quickfit check --fix --accept equivalent",
        ),
        (
            [fixable(), fixable(FixClass.EQUIVALENT, 2), fixable(FixClass.MAY_CHANGE_RESULTS, 3)],
            DOT,
            "1 can be fixed: quickfit check --fix"
            " (2 more with --accept equivalent --accept may-change-results)",
        ),
        (
            [fixable(), fixable(FixClass.EQUIVALENT, 2)],
            {**DOT, "accepted": FREE | {FixClass.EQUIVALENT}},
            "2 can be fixed: quickfit check --fix --accept equivalent",
        ),
    ],
)
def test_the_command_that_fixes_is_named(tolds, more, said):
    assert summary(outcome(*tolds, **more)).endswith(f"; {said}")
    assert "fixed" not in summary(outcome(*tolds, **more), fixes=False)


@pytest.mark.parametrize(
    "told", [fixable(FixClass.SHOW_ONLY), fixable(is_hint=True), bare()], ids=str
)
def test_what_cannot_be_fixed_is_not_offered(told):
    assert "fixed" not in summary(outcome(told))


@pytest.mark.parametrize(
    ("hints", "said"),
    [
        (0, ""),
        (1, "1 hint is not shown (only sometimes slow): --hints"),
        (3, "3 hints are not shown (only sometimes slow): --hints"),
    ],
)
def test_hints_that_are_not_shown_are_counted(hints, said):
    assert hidden_hints(Outcome((Checked("a.py", hints=hints),))) == said


def test_what_two_files_tell_of_one_place_is_told_once():
    twice = Outcome((Checked("a.py", (bare(),)), Checked("b.py", (bare(),))))
    assert len(twice.told) == 1


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (outcome(), 0),
        (outcome(bare()), 1),
        (Outcome((Checked("a.py", troubles=(Trouble(Span("a.py", 1), "m"),)),)), 2),
        (Outcome((Checked("a.py", (bare(),), (Trouble(Span("a.py", 1), "m"),)),)), 2),
    ],
)
def test_the_exit_code(outcome, code):
    assert outcome.exit_code == code
