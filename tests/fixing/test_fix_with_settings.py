"""Settings after causes: what is tried beside accepted fixes, and what becomes of it."""

import io
from dataclasses import replace
from types import SimpleNamespace

import pytest

from fixing.setting_runs import FAST, FASTER, NO_GAIN, SAME, candidate, outcome, recording
from quickfit.code.file_changes import read_source
from quickfit.findings import Change, Edit, FixClass
from quickfit.fixing import story as stories_of_fix
from quickfit.fixing.progress import Ticker
from quickfit.fixing.script_bench import SeenInTrials, TrialFolders
from quickfit.fixing.setting_candidates import free_candidates
from quickfit.fixing.sources import Sources
from quickfit.lab.budget import Budget
from quickfit.tuning.advice.change_table import ChangeKind, LossChange
from quickfit.tuning.trials.settings import Setting
from stories import story

import builders

XLA = candidate()
STEPS32 = candidate(ChangeKind.STEPS, "32 steps", setting=Setting(steps_per_execution=32))
BATCH64 = candidate(ChangeKind.BATCH, "batch 64", setting=Setting(batch=64))
PLACE = ((3, 0), (3, 5))


def change(text, begin=(1, 0), end=(1, 0)):
    """Return a fix of a cause that writes a text."""
    return Change("Fix it", FixClass.SAME_RESULTS, (Edit(builders.SCRIPT, begin, end, text),))


def test_what_cannot_be_edited_is_not_tried():
    assert free_candidates([XLA, replace(STEPS32, edit=None, reason="no")], []) == [XLA]


def test_what_a_fix_has_set_already_is_not_tried_again():
    fix = change(", steps_per_execution=32")
    assert free_candidates([XLA, STEPS32], [fix]) == [XLA]


def test_what_a_fix_has_rewritten_is_not_tried():
    replaces = replace(XLA.edit, edits=(Edit(builders.SCRIPT, *PLACE, "x"),))
    fix = change("y", *PLACE)
    assert free_candidates([replace(XLA, edit=replaces), BATCH64], [fix]) == [BATCH64]


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """A story about a script of three lines, and settings for it."""
    path = tmp_path / "train.py"
    path.write_text("a = 1\nb = 2\nc = 3\n")
    settings = {"32 steps": 32, "8 steps": 8}
    candidates = [
        candidate(ChangeKind.XLA, "XLA", path=path),
        *(
            candidate(ChangeKind.STEPS, name, path=path, setting=Setting(steps_per_execution=count))
            for name, count in settings.items()
        ),
        candidate(ChangeKind.BATCH, "batch 64", path=path, setting=Setting(batch=64)),
        candidate(ChangeKind.BATCH, "batch 128", path=path, setting=Setting(batch=128)),
    ]
    monkeypatch.setattr(stories_of_fix, "script_candidates", lambda watched: candidates)
    sources = Sources({str(path): read_source(str(path))}, ())
    return story(tmp_path, recording=recording(loop={"steps": 1000}), sources=sources)


def prove(told, answers, tmp_path):
    def answer(claim):
        ratios = answers.get(claim.cause, SAME)
        if ratios == "interrupt":
            raise KeyboardInterrupt
        why = "" if min(ratios) > 1.05 else NO_GAIN
        return outcome(claim.cause, claim.change, *ratios, why=why)

    prover, err = SimpleNamespace(prove=answer), io.StringIO()
    budget = Budget(900.0, clock=lambda: 0.0)
    try:
        stories_of_fix._prove_settings(told, prover, budget, Ticker(err), tmp_path)
    finally:
        told.said = err.getvalue()
    return [(one.cause, one.is_accepted, one.why) for one in told.outcomes]


def test_the_story_gets_what_came_of_each_setting_and_of_each_kind_one_is_accepted(begun, tmp_path):
    answers = {"XLA": FAST, "32 steps": FAST, "batch 64": FAST, "batch 128": FASTER}
    assert prove(begun, answers, tmp_path) == [
        ("XLA", True, ""),
        ("32 steps", True, ""),
        ("batch 64", False, "faster, but batch 128 is faster still"),
        ("batch 128", True, ""),
    ]
    assert "quickfit: settings, 1 of 5: XLA" in begun.said


def test_what_does_not_fit_beside_the_best_gives_way(begun, tmp_path):
    begun.recording.main.tables["loops"][0]["facts"]["steps"] = 100
    found = prove(begun, {"XLA": FAST, "32 steps": FAST, "batch 128": FASTER}, tmp_path)
    assert ("32 steps", False, "it does not fit batch 128 + XLA") in found
    assert ("batch 128", True, "") in found


def test_a_gain_that_learns_less_is_not_accepted(begun, tmp_path, monkeypatch):
    seen = SeenInTrials(loss=LossChange(1024, 0.9, 0.8, 0.5))
    monkeypatch.setattr(TrialFolders, "seen", lambda *args: seen)
    found = prove(begun, {"batch 64": FAST}, tmp_path)
    (why,) = [why for cause, _, why in found if cause == "batch 64"]
    assert why.startswith("after 1,024 samples the loss is 0.8, and 0.5 as it is")


def test_an_interrupt_leaves_the_story_with_what_was_known(begun, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        prove(begun, {"XLA": FAST, "32 steps": "interrupt"}, tmp_path)
    assert [one.cause for one in begun.outcomes] == ["XLA"]


def test_without_a_loop_nothing_is_tried(tmp_path):
    empty = builders.recording()
    empty.main.tables["loops"] = []
    told = story(tmp_path, recording=empty)
    assert stories_of_fix._unproven_settings(told) == []
    assert prove(told, {}, tmp_path) == []


def test_without_a_proof_one_of_each_kind_is_made(begun):
    found = stories_of_fix._unproven_settings(begun)
    assert [(one.cause, one.why, one.is_accepted) for one in found] == [
        ("XLA", "not tried", False),
        ("32 steps", "not tried", False),
        ("batch 64", "not tried", False),
    ]
