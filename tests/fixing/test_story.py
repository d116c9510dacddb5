"""The way from a recording to outcomes: what is tried, in which order, and what stops it."""

import io
from dataclasses import replace
from pathlib import Path

import pytest

from quickfit.diagnosis.candidates import Candidate, Unrecognised
from quickfit.errors import FixError, RecordingError, UsageError
from quickfit.findings import Change, Edit, FixClass, Gain
from quickfit.fixing import story as module
from quickfit.fixing import story as stories_of_fix
from quickfit.fixing.sources import join_outcomes
from quickfit.fixing.story import Request, _target_of, told
from quickfit.lab.observe import Observed
from quickfit.lab.statistics import Measured
from quickfit.launch.target import Target
from quickfit.tuning.advice.candidates import ChangeCandidate
from quickfit.tuning.advice.change_table import ChangeKind
from stories import BATCH, MAP, TEXT, outcome, story, write_script

import builders
from report.builders import diagnosis, generator_finding, map_finding

RUN = Path("run.qfrun")
SAME, MAY = FixClass.SAME_RESULTS, FixClass.MAY_CHANGE_RESULTS
REPAIRS = FixClass.REPAIRS


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_script(tmp_path)
    return tmp_path


def candidate(home, edit=MAP, *, kind=SAME, finding=None, is_relief=False):
    change = Change("Do it", kind, (Edit(str(home / "train.py"), *edit),))
    return Candidate(finding or map_finding(), change, is_relief=is_relief)


class Proofs:
    """Stands in for the prover: answers by cause, and keeps what it was asked."""

    confinement = "own namespaces"

    def __init__(self):
        self.claims, self.whys, self.setting = [], {}, None

    def __call__(self, setting, budget, tell, *, failure=""):
        self.setting, self.budget, self.failure = setting, budget, failure
        tell("pair 1 of 3")
        return self

    def prove(self, claim):
        self.claims.append(claim)
        why = self.whys.get(claim.cause, "")
        if why == "interrupt":
            raise KeyboardInterrupt
        if isinstance(why, list):
            why = why.pop(0)
        found = outcome(Path("x"), cause=claim.cause, kind=claim.change.kind, why=why)
        return replace(found, change=claim.change, place=claim.place)

    def prove_all(self, claims, settled):
        for number, claim in enumerate(claims):
            settled(number, self.prove(claim))


@pytest.fixture
def tell(home, monkeypatch):
    """Tell a story about given candidates; return it, what was asked of the prover, and stderr."""
    proofs = Proofs()

    def run(*groups, request=None, without=(), findings=None, whys=None, failure=""):
        proofs.whys = whys or {}
        found = findings or [group[0].finding for group in groups]
        begun = story(home, diagnosis=diagnosis(*found))
        seen = Observed(RUN, 4.0, failure)
        monkeypatch.setattr(module, "begun", lambda *args: (begun, seen))
        answer = [list(group) for group in groups], list(without)
        monkeypatch.setattr(module, "candidates", lambda *args: answer)
        monkeypatch.setattr(module, "Prover", proofs)
        err = io.StringIO()
        return told(request or Request(run=RUN), err), proofs, err.getvalue()

    return run


def test_each_candidate_is_proven_and_then_all_together(home, tell):
    other = candidate(home, BATCH, finding=generator_finding())
    found, proofs, err = tell([candidate(home)], [other])
    assert [one.cause for one in found.outcomes] == ["sequential-map", "py-generator-input"]
    assert found.together.cause == "sequential-map + py-generator-input"
    text = TEXT.replace("decode)", "decode, num_parallel_calls=tf.data.AUTOTUNE)")
    texts = [claim.texts[str(home / "train.py")].decode() for claim in proofs.claims]
    assert texts == [text, TEXT.replace("32", "256"), text.replace("32", "256")]
    assert "quickfit: 1 of 2: sequential-map" in err
    assert "quickfit: all accepted ones together" in err


def test_repairs_of_a_script_that_makes_no_step_are_proven_together(home, tell):
    other = candidate(home, BATCH, kind=REPAIRS, finding=generator_finding())
    found, proofs, _ = tell(
        [candidate(home, kind=REPAIRS)], [other], failure="ended with exit code 1"
    )
    assert [claim.cause for claim in proofs.claims] == ["sequential-map + py-generator-input"]
    assert [one.cause for one in found.outcomes] == ["sequential-map", "py-generator-input"]
    assert all(one.is_accepted for one in found.outcomes)
    assert proofs.failure == "ended with exit code 1"


def test_repairs_that_do_not_hold_together_are_proven_one_by_one(home, tell):
    other = candidate(home, BATCH, kind=REPAIRS, finding=generator_finding())
    both = "sequential-map + py-generator-input"
    found, proofs, _ = tell(
        [candidate(home, kind=REPAIRS)], [other], failure="ended", whys={both: "it crashes"}
    )
    assert [claim.cause for claim in proofs.claims][:2] == [both, "sequential-map"]
    assert len(found.accepted) == 2


def test_a_script_that_makes_no_step_and_has_no_repair_is_said(home, tell):
    with pytest.raises(FixError, match="ended with exit code 1: KeyError"):
        tell([candidate(home)], failure="ended with exit code 1: KeyError")


def test_what_confined_the_trials_is_kept_and_the_users_trust_is_passed_on(home, tell):
    found, proofs, _ = tell([candidate(home)], request=Request(run=RUN, trusts_script=True))
    assert found.confinement == "own namespaces"
    assert proofs.setting.trusts_script


def test_one_accepted_fix_needs_no_proof_of_all_together(home, tell):
    assert tell([candidate(home)])[0].together is None


def test_alternatives_are_tried_until_one_is_accepted(home, tell):
    best, second, third = candidate(home), candidate(home, BATCH), candidate(home)
    found, proofs, _ = tell([best, second, third], whys={"sequential-map": ["no gain", "", ""]})
    assert len(proofs.claims) == 2
    assert found.outcomes[0].change == second.change


def test_where_no_alternative_is_accepted_the_last_is_told(home, tell):
    found, proofs, _ = tell(
        [candidate(home), candidate(home, BATCH)], whys={"sequential-map": "no gain"}
    )
    assert len(proofs.claims) == 2
    assert [one.why for one in found.outcomes] == ["no gain"]
    assert found.accepted == []


def test_a_fix_of_the_same_lines_as_an_accepted_one_waits(home, tell):
    same_place = ((2, 12), (2, 18), "fast")
    first = candidate(home, ((2, 12), (2, 18), "parse"))
    other = candidate(home, same_place, finding=generator_finding())
    found, proofs, _ = tell([first], [other])
    assert len(proofs.claims) == 1
    assert found.outcomes[1].why.startswith("changes the same lines as sequential-map: apply that")


def test_what_is_hidden_behind_a_larger_cause_is_proven_on_top_of_it(home, tell):
    hidden = generator_finding(
        gain=Gain(1.0, 1.0, 1.1, "hidden"), after_first=Gain(1.2, 1.4, 1.6, "then")
    )
    found, proofs, _ = tell([candidate(home)], [candidate(home, BATCH, finding=hidden)])
    claim = proofs.claims[1]
    assert claim.base == proofs.claims[0].texts
    assert claim.place.endswith(", on top of the first")
    assert claim.predicted == hidden.after_first
    assert found.outcomes[1].is_accepted


def test_without_proofs_the_candidates_are_only_made(home, tell):
    found, proofs, err = tell([candidate(home)], request=Request(run=RUN, proves=False))
    assert [one.why for one in found.outcomes] == ["not tried"]
    assert (proofs.claims, err) == ([], "")


def test_an_interrupt_leaves_what_is_known(home, tell):
    other = candidate(home, BATCH, finding=generator_finding())
    found, _, _ = tell([candidate(home)], [other], whys={"py-generator-input": "interrupt"})
    assert found.is_interrupted
    assert [one.cause for one in found.accepted] == ["sequential-map"]


def test_only_the_causes_that_were_asked_for_are_tried(home, tell):
    other = candidate(home, BATCH, finding=generator_finding())
    request = Request(run=RUN, causes=("py-generator-input",))
    without = [Unrecognised(map_finding())]
    found, proofs, _ = tell([candidate(home)], [other], request=request, without=without)
    assert [claim.cause for claim in proofs.claims] == ["py-generator-input"]
    assert found.without == []


def test_a_cause_that_there_is_not_is_said(home, tell):
    with pytest.raises(UsageError) as caught:
        tell([candidate(home)], request=Request(run=RUN, causes=("no-such",)))
    assert "no-such: there is no such cause" in str(caught.value)
    assert "quickfit explain" in str(caught.value)


def test_a_cause_that_was_not_found_is_said_with_those_that_were(home, tell):
    with pytest.raises(UsageError) as caught:
        tell([candidate(home)], request=Request(run=RUN, causes=("tiny-batch",)))
    assert str(caught.value) == ("tiny-batch: was not found in this run (found: sequential-map).")


def test_a_candidate_whose_edit_cannot_be_made_does_not_stop_the_others(home, tell):
    broken = candidate(home, ((2, 0), (2, 2), "(("), finding=generator_finding())
    found, proofs, _ = tell([broken], [candidate(home)])
    assert [claim.cause for claim in proofs.claims] == ["sequential-map"]
    (one,) = found.without
    assert one.finding.cause == "py-generator-input"
    assert "would not be valid Python" in one.why


def test_an_alternative_whose_edit_cannot_be_made_is_passed_over(home, tell):
    broken = candidate(home, ((2, 0), (2, 2), "(("))
    found, _, _ = tell([broken, candidate(home)])
    assert found.outcomes[0].is_accepted
    assert found.without == []


def test_trials_get_time_by_how_long_the_script_took(home, tell, monkeypatch):
    monkeypatch.setattr(module, "free_memory_bytes", lambda: 1.0)
    _, proofs, _ = tell([candidate(home)])
    assert proofs.setting.patience_s == module.MIN_PATIENCE_S
    assert not proofs.setting.in_turns  # two do not fit into one byte


def test_scratch_folders_are_removed(home, tell):
    _, proofs, _ = tell([candidate(home)])
    assert not proofs.setting.folder.exists()


# -- which changes go together ------------------------------------------------------------------


def test_of_two_in_conflict_the_first_is_kept(home):
    path = home / "train.py"
    first = outcome(path, ((2, 12), (2, 18), "a"))
    second = outcome(path, ((2, 12), (2, 18), "b"), cause="other")
    third = outcome(path, BATCH, cause="third")
    assert story(home, first, second, third).accepted == [first, third]


def test_one_that_was_not_accepted_keeps_no_other_out(home):
    path = home / "train.py"
    first = outcome(path, ((2, 12), (2, 18), "a"), why="no gain")
    second = outcome(path, ((2, 12), (2, 18), "b"))
    assert story(home, first, second).accepted == [second]


def test_several_changes_are_of_the_lowest_class_among_them(home):
    path = home / "train.py"
    kinds = (FixClass.REPAIRS, SAME, MAY, FixClass.EQUIVALENT)
    assert join_outcomes([outcome(path, kind=kind) for kind in kinds]).kind == MAY
    assert join_outcomes([outcome(path, kind=kind) for kind in kinds[:2]]).kind == FixClass.REPAIRS


# -- where it begins ----------------------------------------------------------------------------


def test_a_recording_says_how_its_script_was_run(home):
    facts = {"script": str(home / "train.py"), "cwd": str(home), "argv": ["--lr", "1"]}
    target, cwd = _target_of(builders.recording(run=facts))
    assert target == Target(script=str(home / "train.py"), args=("--lr", "1"))
    assert cwd == home
    module_facts = {"script": "pkg.mod", "module": "pkg.mod", "cwd": str(home), "argv": []}
    assert _target_of(builders.recording(run=module_facts))[0] == Target(module="pkg.mod")


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"script": "train.py", "cwd": "/no/such/folder"}, id="elsewhere"),
        pytest.param({"script": None, "cwd": "/"}, id="no script"),
    ],
)
def test_a_recording_from_elsewhere_cannot_be_proven_on(facts):
    with pytest.raises(FixError) as caught:
        _target_of(builders.recording(run=facts))
    assert "does not say how its script was run here" in str(caught.value)
    assert "quickfit fix train.py" in str(caught.value)


def test_a_script_that_is_gone_is_said(home):
    facts = {"script": str(home / "gone.py"), "cwd": str(home)}
    with pytest.raises(UsageError, match=r"gone\.py: cannot run this script"):
        _target_of(builders.recording(run=facts))


def test_a_recording_that_is_none_is_said(home):
    with pytest.raises(RecordingError):
        told(Request(run=home / "no-such.qfrun"), io.StringIO())


def test_a_script_that_is_not_there_is_said(home):
    with pytest.raises(UsageError, match=r"gone\.py: cannot run this script"):
        told(Request(Target(script="gone.py")), io.StringIO())


@pytest.fixture
def settings(home, monkeypatch):
    """Let one setting be offered, which writes the batch size of the script."""
    edit = Edit(str(home / "train.py"), *BATCH)
    change = Change("Take 256", MAY, (edit,))
    one = ChangeCandidate(ChangeKind.BATCH, "batch 256 (×8)", edit=change)
    monkeypatch.setattr(stories_of_fix, "script_candidates", lambda watched: [one])


@pytest.mark.usefixtures("settings")
def test_settings_are_proven_after_the_causes_and_on_top_of_them(home, tell):
    found, proofs, err = tell([candidate(home)], request=Request(run=RUN, tunes=True))
    assert [one.cause for one in found.outcomes] == ["sequential-map", "batch 256 (×8)"]
    texts = [claim.texts[str(home / "train.py")].decode() for claim in proofs.claims]
    mapped = TEXT.replace("decode)", "decode, num_parallel_calls=tf.data.AUTOTUNE)")
    assert texts == [mapped, mapped.replace("32", "256"), mapped.replace("32", "256")]
    assert proofs.claims[1].base[str(home / "train.py")].decode() == mapped
    assert found.together.cause == "sequential-map + batch 256 (×8)"
    assert "settings, 1 of 1: batch 256 (×8)" in err


@pytest.mark.usefixtures("settings")
def test_settings_are_tried_where_no_cause_was_found(tell):
    found, _, _ = tell(findings=[map_finding()], request=Request(run=RUN, tunes=True))
    assert [one.cause for one in found.outcomes] == ["batch 256 (×8)"]


@pytest.mark.usefixtures("settings")
def test_settings_are_only_made_where_nothing_is_to_be_proven(tell):
    request = Request(run=RUN, tunes=True, proves=False)
    found, proofs, _ = tell(findings=[map_finding()], request=request)
    assert [one.why for one in found.outcomes] == ["not tried"]
    assert proofs.claims == []


@pytest.mark.usefixtures("settings")
def test_settings_wait_until_a_script_trains(home, tell):
    repair = candidate(home, kind=REPAIRS)
    request = Request(run=RUN, tunes=True)
    found, _, _ = tell([repair], request=request, failure="ended with exit code 1")
    assert [one.cause for one in found.outcomes] == ["sequential-map"]


def test_reliefs_of_code_that_another_change_has_replaced_are_not_spoken_of(home, tell):
    whole = ((2, 0), (2, 19), "ds = ds.map(decode).cache()")
    relief = candidate(home, whole, finding=generator_finding(), is_relief=True)
    found, proofs, _ = tell([candidate(home)], [relief])
    assert [one.cause for one in found.outcomes] == ["sequential-map"]
    assert [claim.cause for claim in proofs.claims] == ["sequential-map"]


@pytest.mark.parametrize(
    ("together", "kept"),
    [(2.0, ["sequential-map"]), (3.0, ["sequential-map", "py-generator-input"])],
)
def test_what_adds_nothing_to_the_best_change_of_the_same_wait_is_dropped(
    home, tell, monkeypatch, together, kept
):
    gains = {"sequential-map": 2.0, "py-generator-input": 1.5}

    def prove(self, claim):
        found = Proofs.plain(self, claim)
        mean = gains.get(claim.cause, together)
        return replace(found, measured=Measured(mean, mean, mean, 2))

    monkeypatch.setattr(Proofs, "plain", Proofs.prove, raising=False)
    monkeypatch.setattr(Proofs, "prove", prove)
    findings = [replace(f, claims=("input_wait",)) for f in (map_finding(), generator_finding())]
    groups = [
        [candidate(home, edit, finding=f)] for edit, f in zip((MAP, BATCH), findings, strict=True)
    ]
    found, _, _ = tell(*groups)
    assert [one.cause for one in found.accepted] == kept
    whys = [one.why for one in found.outcomes if not one.is_accepted]
    assert whys == ["adds nothing to: Do it"] * (2 - len(kept))
    assert found.together.is_accepted == (len(kept) == 2)
