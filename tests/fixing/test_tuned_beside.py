"""Settings after causes: what is offered beside accepted fixes, and what becomes of it."""

import io
from dataclasses import replace
from types import SimpleNamespace

import pytest

from fixing.tuned_runs import (
    BATCH64,
    BATCH128,
    FAST,
    FASTER,
    SAME,
    STEPS8,
    STEPS32,
    XLA,
    offer,
    outcome,
    recording,
    tried,
)
from quickfit.code.file_changes import read_source
from quickfit.findings import Change, Edit, FixClass
from quickfit.fixing import tuned_beside
from quickfit.fixing.progress import Ticker
from quickfit.fixing.sources import Sources
from quickfit.fixing.tuned_beside import free_offers, prove_settings, settled, unproven_settings
from quickfit.lab.budget import Budget
from quickfit.tuning.advice.result import ChangeKind
from stories import story

import builders

PLACE = ((3, 0), (3, 5))


def accepted(text, begin=(1, 0), end=(1, 0)):
    """Return an accepted fix of a cause that writes a text."""
    edit = Edit(builders.SCRIPT, begin, end, text)
    change = Change("Fix it", FixClass.SAME_RESULTS, (edit,))
    return replace(outcome(XLA, *FAST), cause="a-cause", change=change)


def test_what_cannot_be_edited_is_not_offered():
    assert free_offers([XLA, replace(STEPS32, made="no")], []) == [XLA]


def test_what_a_fix_has_set_already_is_not_offered_again():
    fix = accepted(", steps_per_execution=32")
    assert free_offers([XLA, STEPS32, STEPS8], [fix]) == [XLA]


def test_what_a_fix_has_rewritten_is_not_offered():
    replaces = replace(XLA.change, edits=(Edit(builders.SCRIPT, *PLACE, "x"),))
    fix = accepted("y", *PLACE)
    assert free_offers([replace(XLA, made=replaces), BATCH64], [fix]) == [BATCH64]


def test_of_each_kind_the_best_alone_stays_accepted():
    all_of = [tried(BATCH64, *FAST), tried(BATCH128, *FASTER), tried(XLA, *SAME, why="no gain")]
    found = settled(all_of, None)
    assert [(one.is_accepted, one.why) for one in found] == [
        (False, "another setting gains more"),
        (True, ""),
        (False, "no gain"),
    ]


def test_a_gain_that_learns_less_is_not_accepted():
    (found,) = settled([tried(BATCH64, *FAST, loss=(0.8, 0.5))], None)
    assert not found.is_accepted
    assert found.why.startswith("over the first 1,024 samples the mean loss is 0.8")


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """A story about a script of three lines, and offers for it."""
    path = tmp_path / "train.py"
    path.write_text("a = 1\nb = 2\nc = 3\n")
    offers = [
        offer(ChangeKind.XLA, "XLA", path=path),
        offer(ChangeKind.STEPS, "32 steps", path=path, setting={"steps_per_execution": 32}),
        offer(ChangeKind.STEPS, "8 steps", path=path, setting={"steps_per_execution": 8}),
    ]
    monkeypatch.setattr(tuned_beside, "offers_of", lambda watched: offers)
    sources = Sources({str(path): read_source(str(path))}, ())
    return story(tmp_path, recording=recording(), sources=sources)


def prove(told, answer, tmp_path):
    prover = SimpleNamespace(prove=answer)
    err = io.StringIO()
    budget = Budget(900.0, clock=lambda: 0.0)
    try:
        prove_settings(told, prover, budget, Ticker(err), tmp_path)
    finally:
        said = err.getvalue()
    return said


def test_the_story_gets_what_came_of_each_setting(begun, tmp_path):
    def answer(claim):
        return replace(outcome(offer(name=claim.cause), *FAST), change=claim.change)

    said = prove(begun, answer, tmp_path)
    assert [one.cause for one in begun.outcomes] == ["XLA", "32 steps"]
    assert len(begun.accepted) == 2
    assert "quickfit: settings, 1 of 3: XLA" in said


def test_an_interrupt_leaves_the_story_with_what_was_known(begun, tmp_path):
    def answer(claim):
        if claim.cause != "XLA":
            raise KeyboardInterrupt
        return replace(outcome(offer(name=claim.cause), *FAST), change=claim.change)

    with pytest.raises(KeyboardInterrupt):
        prove(begun, answer, tmp_path)
    assert [one.cause for one in begun.outcomes] == ["XLA"]


def test_without_a_loop_nothing_is_offered(tmp_path):
    empty = builders.recording()
    empty.main.tables["loops"] = []
    told = story(tmp_path, recording=empty)
    assert unproven_settings(told) == []
    assert prove(told, None, tmp_path) == ""


def test_without_a_proof_one_of_each_kind_is_made(begun):
    found = unproven_settings(begun)
    assert [(one.cause, one.why, one.is_accepted) for one in found] == [
        ("XLA", "not tried", False),
        ("32 steps", "not tried", False),
    ]
