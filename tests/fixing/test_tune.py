"""`quickfit tune train.py`: from a script that was watched to what is shown, kept and written."""

import io
import json
from dataclasses import replace
from typing import ClassVar

import pytest

from quickfit.errors import FixError, UsageError
from quickfit.findings import Change, Edit, FixClass
from quickfit.fixing import proven, write
from quickfit.fixing import tune as script_tuning
from quickfit.fixing.tune import (
    LEAST_S,
    ProofPace,
    TuneRequest,
    WatchTicker,
    check_least,
    input_text,
    search_settings,
    tune,
)
from quickfit.fixing.write import Asked
from quickfit.lab.budget import Budget
from quickfit.lab.observe import NO_TRAINING, Observed
from quickfit.lab.statistics import interval
from quickfit.lab.verdict import Outcome
from quickfit.launch.target import Target
from quickfit.tuning.advice.candidates import ChangeCandidate
from quickfit.tuning.advice.change_table import ChangeKind
from quickfit.tuning.advice.result import Advice, TrainingBaseline
from quickfit.tuning.advice.search import check_budget
from quickfit.tuning.trials.settings import Setting
from stories import story, write_script

import builders

TEXT = 'import tensorflow as tf\nds = ds.batch(32)\nmodel.compile("adam")\nmodel.fit(ds)\n'
FAST, FASTER, SAME = (1.5, 1.52, 1.54), (2.0, 2.02, 2.04), (1.0, 1.01, 1.0)
SAME_RESULTS, MAY = FixClass.SAME_RESULTS, FixClass.MAY_CHANGE_RESULTS
JIT = ((3, 20), (3, 20), ", jit_compile=True")
STEPS = ((3, 20), (3, 20), ", steps_per_execution=32")
BATCH = ((2, 14), (2, 16), "64")


class Proofs:
    """Stands for a machine: answers with ratios by the name of the change."""

    ratios: ClassVar = {}

    def __init__(self, setting, budget, tell, **given):
        self.budget = budget
        tell("pair 1 of 3")

    def prove(self, claim):
        ratios = self.ratios.get(claim.cause, SAME)
        if ratios == "interrupt":
            raise KeyboardInterrupt
        is_accepted = len(ratios) > 2 and min(ratios) >= 1.05
        measured = interval(ratios) if ratios else None
        why = "" if is_accepted else "gains less than 1.05×"
        return Outcome(
            claim.cause, "", claim.change, None, claim.change.kind, measured, "same batches",
            is_accepted, why, "whole epochs", 60.0,
        )  # fmt: skip


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_script(tmp_path, TEXT)
    return tmp_path


@pytest.fixture
def machine(home, monkeypatch):
    """Let a script be watched and its settings gain what is said; return what is asked with it."""
    path = str(home / "train.py")

    def edit(title, kind, place):
        return Change(title, kind, (Edit(path, *place),), f"{title}.")

    candidates = [
        ChangeCandidate(ChangeKind.XLA, "XLA", Setting(jit=True), edit("Use XLA", MAY, JIT)),
        ChangeCandidate(
            ChangeKind.STEPS,
            "32 steps",
            Setting(steps_per_execution=32),
            edit("32", SAME_RESULTS, STEPS),
        ),
        ChangeCandidate(ChangeKind.BATCH, "batch 64", Setting(batch=64), edit("64", MAY, BATCH)),
        ChangeCandidate(ChangeKind.THREADS, "threads", reason="there is one core"),
    ]

    def prepare(failure="", wait_s=0.001, only_left=False, **ratios):
        recording = builders.recording(input_wait_s=wait_s)
        told = story(home, recording=recording)

        def begun(request, *args):
            told.target = request.target
            return told, Observed(home, 4.0, failure)

        monkeypatch.setattr(script_tuning, "begun", begun)
        monkeypatch.setattr(script_tuning, "Prover", Proofs)
        left = [replace(one, edit=None, reason="`compile` has `**`") for one in candidates]
        found = left if only_left else candidates
        monkeypatch.setattr(script_tuning, "script_candidates", lambda *args: found)
        monkeypatch.setattr(
            Proofs, "ratios", {name.replace("_", " "): value for name, value in ratios.items()}
        )

    return prepare


def run(asked=None, **given):
    out, err = io.StringIO(), io.StringIO()
    request = TuneRequest(Target(script="train.py"), **given)
    code = tune(request, asked or Asked(), out=out, err=err)
    assert code == 0
    return out.getvalue(), err.getvalue()


def text_of(home):
    return (home / "train.py").read_text()


def cells(text):
    return " ".join(text.split())


ALL = {"XLA + 32 steps + batch 64": (3.0, 3.02, 3.04)}


def test_the_winners_are_proven_together_shown_and_kept(home, machine):
    machine(XLA=FAST, **{"32 steps": FAST, "batch 64": FASTER, **ALL})
    out, err = run()
    assert "Advised: XLA + 32 steps + batch 64: 3.02× (2.9" in out
    assert '+model.compile("adam", jit_compile=True, steps_per_execution=32)' in out
    assert "+ds = ds.batch(64)" in out
    assert "threads: not tried: there is one core" in out
    assert "quickfit fix --apply --accept may-change-results\n" in out
    assert "1 of 3: XLA" in err
    assert "3 of them together" in err
    assert text_of(home) == TEXT
    assert [one.cause for one in proven.read(home)] == ["XLA", "32 steps", "batch 64"]


def test_what_was_proven_last_is_written_by_fix(home, machine):
    machine(XLA=FAST, **{"batch 64": FASTER, "XLA + batch 64": (3.0, 3.02, 3.04)})
    run()
    out = io.StringIO()
    write.apply_last(home, Asked(applies=True, accepted=frozenset({MAY.value})), out)
    assert 'compile("adam", jit_compile=True)' in text_of(home)
    assert "Written: XLA, batch 64 in train.py" in out.getvalue()
    write.undo(home, out)
    assert text_of(home) == TEXT


def test_apply_writes_what_has_the_same_results_without_a_flag(home, machine):
    machine(**{"32 steps": FAST})
    run(Asked(applies=True))
    assert text_of(home) == TEXT.replace('"adam"', '"adam", steps_per_execution=32')


def test_apply_says_which_flag_the_rest_needs(home, machine):
    machine(XLA=FAST)
    out, _ = run(Asked(applies=True))
    assert text_of(home) == TEXT
    assert "Nothing was written" in out
    assert "quickfit fix --apply --accept may-change-results" in out


def test_what_was_left_out_is_written_after_an_undo(home, machine):
    machine(XLA=FAST, **{"32 steps": FAST, "XLA + 32 steps": FASTER})
    out, _ = run(Asked(applies=True))
    assert "Written: 32 steps in train.py" in out
    assert out.endswith(
        "Proven and not written: XLA. To write all:\n    quickfit fix --undo\n"
        "    quickfit fix --apply --accept may-change-results\n"
    )
    write.undo(home, io.StringIO())
    write.apply_last(home, Asked(applies=True, accepted=frozenset({MAY.value})), io.StringIO())
    assert "jit_compile=True, steps_per_execution=32" in text_of(home)


def test_apply_with_the_flag_writes_all(home, machine):
    machine(XLA=FAST, **{"32 steps": FAST, "batch 64": FASTER, **ALL})
    out, _ = run(Asked(applies=True, accepted=frozenset({MAY.value})))
    assert "jit_compile=True, steps_per_execution=32" in text_of(home)
    assert "Written: XLA, 32 steps, batch 64 in train.py" in out


def test_together_no_faster_leaves_the_best_alone(home, machine):
    machine(XLA=FAST, **{"batch 64": FASTER, "XLA + batch 64": FAST})
    out, _ = run()
    assert "Advised: batch 64: 2.02×" in out
    assert "XLA: outdone: faster alone, but not together with batch 64" in out
    assert [one.cause for one in proven.read(home)] == ["batch 64"]


def test_where_nothing_gains_that_is_said_and_nothing_kept(home, machine):
    machine()
    out, _ = run()
    assert "Nothing to change: no change was faster for sure" in out
    with pytest.raises(FixError, match="nothing was proven here yet"):
        proven.read(home)


def test_where_nothing_can_be_tried_the_reasons_are_said(home, machine):
    machine(only_left=True)
    out, _ = run()
    assert "XLA, 32 steps, batch 64, threads: not tried: `compile` has `**`" in out.replace(
        "\n", " "
    )
    assert "Nothing was measured beside your training: the reasons are above." in out


def test_a_diff_goes_to_stdout_and_the_rest_to_stderr(home, machine):
    machine(**{"32 steps": FAST})
    out, err = run(Asked(prints_patch=True))
    assert out.startswith("diff --git a/train.py b/train.py\n")
    assert "Advised: 32 steps" in err


def test_json_is_all_there_is_on_stdout(home, machine):
    machine(**{"32 steps": FAST})
    out, err = run(format="json")
    facts = json.loads(out)
    assert facts["advised"] == "32 steps"
    assert facts["setting"] == {"steps_per_execution": 32}
    assert facts["baseline"]["batch"] == 32
    assert facts["baseline"]["start_s"] == 4.0
    assert facts["baseline"]["samples"] is None
    assert facts["lines"] == ['model.compile("adam", steps_per_execution=32)']
    assert facts["remarks"] == ["32 steps: 32."]
    assert [row["class"] for row in facts["rows"]] == [
        "may-change-results", "same-results", "may-change-results", None,
    ]  # fmt: skip
    assert [row["verdict"] for row in facts["rows"]] == [
        "no gain", "advised", "no gain", "not tried",
    ]  # fmt: skip
    assert "+model.compile" in facts["patch"]
    assert "quickfit fix --apply" in err


def test_an_interrupt_shows_and_keeps_what_was_known(home, machine):
    machine(XLA=FAST, **{"32 steps": "interrupt"})
    out = io.StringIO()
    with pytest.raises(KeyboardInterrupt):
        tune(TuneRequest(Target(script="train.py")), Asked(), out=out, err=io.StringIO())
    assert "Interrupted: this is what was known by then." in out.getvalue()
    assert "Advised: XLA: 1.52×" in out.getvalue()
    assert [one.cause for one in proven.read(home)] == ["XLA"]


def test_an_interrupt_of_the_first_trial_says_of_every_setting_that_it_was_not_tried(home, machine):
    machine(XLA="interrupt")
    out = io.StringIO()
    with pytest.raises(KeyboardInterrupt):
        tune(TuneRequest(Target(script="train.py")), Asked(), out=out, err=io.StringIO())
    assert "XLA, 32 steps, batch 64: not tried: interrupted" in out.getvalue()
    assert "threads: not tried: there is one core" in out.getvalue()
    assert "Nothing was measured beside your training" in out.getvalue()


@pytest.mark.parametrize(
    ("asked", "format", "said"),
    [
        (Asked(applies=True, prints_patch=True), "text", "--apply and --diff do not go together"),
        (Asked(applies=True), "json", "--apply and --format json do not go together"),
        (Asked(prints_patch=True), "json", "--diff and --format json do not go together"),
    ],
)
def test_what_makes_no_sense_together_is_refused_before_anything_runs(home, asked, format, said):
    request = TuneRequest(Target(script="no-such.py"), format=format)
    with pytest.raises(UsageError, match=f"^tune: {said}"):
        tune(request, asked, out=io.StringIO(), err=io.StringIO())


def test_apply_says_first_which_classes_are_only_shown(home, machine):
    machine(XLA=FAST)
    _, err = run(Asked(applies=True))
    assert err.startswith(
        "quickfit: --apply writes no settings of class equivalent or may-change-results: these are"
        " only shown.\nTo write them too: --accept equivalent --accept may-change-results\n"
    )
    assert "only shown" not in run()[1]
    all_of = Asked(applies=True, accepted=frozenset({"equivalent", "may-change-results"}))
    assert "only shown" not in run(all_of)[1]


def test_a_budget_in_which_nothing_can_be_measured_is_refused(home, machine):
    machine()
    with pytest.raises(UsageError, match=r"train\.py: a budget of 45 s is too small for it"):
        run(budget_s=45.0)
    with pytest.raises(UsageError, match=r"no trial of a script is begun with less than 40 s"):
        run(budget_s=10.0)


def test_input_that_is_the_limit_is_said_first(home, machine):
    machine(wait_s=0.05)
    out, _ = run()
    assert "Your input is the limit: 50 % of a step waits for data" in out
    assert "First: quickfit fix train.py" in out


def test_only_some_kinds_are_tried_where_that_is_asked_for(home, machine):
    machine()
    request = TuneRequest(Target(script="train.py"), only=frozenset({"batch"}))
    assert [row.kind for row in search_settings(request, io.StringIO())[1].rows] == [
        ChangeKind.BATCH
    ]


def test_a_script_that_makes_no_step_cannot_be_tuned(home, machine):
    machine(failure="ended with exit code 1: KeyError: 'x'")
    with pytest.raises(FixError) as caught:
        run()
    assert str(caught.value) == (
        "train.py: ended with exit code 1: KeyError: 'x'\n"
        "There is no training to tune. To see what it does:\n    quickfit run train.py"
    )


def test_a_module_is_named_with_its_arguments_as_it_is_run(home, machine):
    machine(failure="ended with exit code 1: KeyError: 'x'")
    request = TuneRequest(Target(module="proj.main", args=("4",)))
    with pytest.raises(FixError, match=r"    quickfit run -m proj\.main 4$"):
        tune(request, Asked(), out=io.StringIO(), err=io.StringIO())


def test_a_script_that_is_not_safe_to_try_is_told_about_tuning_not_fixes(home, monkeypatch):
    def refuse(*args):
        raise Observed(home, 0.0, "cannot be tried safely: x.py:2 deletes a").unprovable("x.py")

    monkeypatch.setattr(script_tuning, "begun", refuse)
    with pytest.raises(FixError) as caught:
        run()
    assert str(caught.value) == (
        "x.py: cannot be tried safely: x.py:2 deletes a\n"
        "There is no training to tune. To see what it does:\n    quickfit run train.py"
    )


def test_a_script_that_ends_without_a_step_is_not_said_to_be_slow(home, machine):
    machine(failure=NO_TRAINING)
    with pytest.raises(FixError, match=r"train\.py: ended by itself without a step of training"):
        run()


def test_a_recording_without_a_loop_cannot_be_tuned(home, machine, monkeypatch):
    machine()
    told = story(home, recording=builders.recording())
    told.recording.main.tables["loops"] = []
    told.recording.main.tables["steps"] = []
    monkeypatch.setattr(script_tuning, "begun", lambda *args: (told, Observed(home, 4.0)))
    with pytest.raises(FixError, match="cannot be tuned, because quickfit needs a training loop"):
        run()


def test_json_has_the_same_names_for_a_script_and_a_function(home, machine):
    machine(XLA=FAST)
    found = json.loads(run(format="json")[0])
    wanted = Advice("a", "b", TrainingBaseline(), ()).as_json()
    assert wanted.keys() == found.keys()
    assert wanted["baseline"].keys() == found["baseline"].keys()


def test_what_was_measured_too_little_is_named_with_the_command_that_decides(home, machine):
    machine(XLA=(3.0, 3.2))
    out, _ = run()
    assert "Nothing to change" not in out
    assert "Not decided, and promising: XLA 3.10× (" in out
    command = "quickfit tune --budget 1200s --only xla train.py"
    assert f"More time would decide:\n    {command}\n" in out
    machine(XLA=(3.0, 3.2))
    facts = json.loads(run(format="json")[0])
    assert (facts["deciding_budget_s"], facts["rows"][0]["verdict"]) == (1200.0, "not decided")


def test_the_class_stands_below_the_name(home, machine):
    machine(XLA=FAST)
    out, _ = run()
    assert "may-change-results" in out
    assert "--apply writes same-results; the others need --accept and their class." in out


def test_a_terminal_without_signs_gets_plain_ones(home, machine):
    machine(XLA=FAST)
    buffer = io.BytesIO()
    stream = io.TextIOWrapper(buffer, encoding="ascii")
    tune(TuneRequest(Target(script="train.py")), Asked(), out=stream, err=io.StringIO())
    stream.flush()
    assert b"Advised: XLA: 1.52x" in buffer.getvalue()


MODULE = Target(module="proj.main", args=("4",))


def budget(seconds, watched_s=0.0):
    """Return a budget of which watching has taken some."""
    now = [0.0]
    made = Budget(seconds, clock=lambda: now[0])
    now[0] = watched_s
    return made


def test_a_setting_needs_its_results_and_three_pairs():
    pace = ProofPace(10.0, 0.5)
    assert pace.setting_s == (10 + 16) + 3 * (10 + 10)
    assert pace.all_s(2) == 26 + 2 * 86


def checked(budget, pace, settings, warn=None):
    check_budget(
        MODULE.name,
        budget,
        pace.needs(settings, budget.seconds - budget.left_s),
        command=lambda seconds: f"quickfit tune --budget {seconds:.0f}s {MODULE.words}",
        warn=warn or pytest.fail,
    )


def test_too_little_is_refused_with_what_is_needed():
    with pytest.raises(UsageError) as caught:
        checked(budget(90.0, 50.0), ProofPace(10.0, 0.5), 2)
    assert str(caught.value) == (
        "proj.main: a budget of 90 s is too small for it. It takes 10 s to its first step, and was"
        " watched for 50 s; to decide one change takes about 1 min 52 s more, and all 2 about"
        " 3 min 18 s.\n"
        "Give more:\n    quickfit tune --budget 248s -m proj.main 4"
    )


def test_one_setting_is_not_told_about_the_others():
    with pytest.raises(UsageError, match=r"takes about 1 min 52 s more\.\n"):
        checked(budget(90.0), ProofPace(10.0, 0.5), 1)


def test_enough_for_one_is_enough_and_that_it_may_not_decide_all_is_said():
    said = []
    checked(budget(112.0), ProofPace(10.0, 0.5), 7, said.append)
    assert "1 min 52 s may not decide all 7 changes" in said[0]
    assert said[0].endswith("    quickfit tune --budget 628s -m proj.main 4")
    checked(budget(628.0), ProofPace(10.0, 0.5), 7)


def test_what_watching_took_is_not_there_for_settings():
    checked(budget(162.0, 50.0), ProofPace(10.0, 0.5), 1)
    with pytest.raises(UsageError, match="was watched for 51 s"):
        checked(budget(162.0, 51.0), ProofPace(10.0, 0.5), 1)


def test_watching_ends_with_the_budget():
    told = io.StringIO()
    WatchTicker(told, MODULE, budget(60.0, 59.0)).tell("12 steps")
    assert told.getvalue() == "quickfit: 12 steps · 1.0 s of the budget left\n"
    with pytest.raises(UsageError) as caught:
        WatchTicker(told, MODULE, budget(60.0, 60.0)).tell("13 steps")
    assert str(caught.value) == (
        "proj.main: the budget of 60 s was over while the script was still being watched"
        " (13 steps).\nGive more:\n    quickfit tune --budget 240s -m proj.main 4"
    )


def test_where_nothing_can_be_tried_no_time_is_needed():
    checked(budget(1.0), ProofPace(10.0), 0)


def test_what_is_too_little_for_any_script_is_known_before_it_is_watched():
    check_least(MODULE, LEAST_S)
    with pytest.raises(UsageError) as caught:
        check_least(MODULE, 5.0)
    assert str(caught.value) == (
        "proj.main: a budget of 5.0 s is too small: no trial of a script is begun with less than"
        " 40 s left.\nA small script needs some minutes:\n"
        "    quickfit tune --budget 10m -m proj.main 4"
    )


def test_a_wait_that_does_not_dominate_is_not_the_limit():
    assert input_text(0.34, MODULE) == (
        "34 % of a step waits for data. Without the wait it is 1.52× as fast at most; settings"
        " gain at most the other 66 %.\nFor the input: quickfit fix -m proj.main 4"
    )


def test_a_wait_of_half_a_step_is_the_limit():
    text = input_text(0.6, MODULE)
    assert text.startswith("Your input is the limit: 60 % of a step waits for data. Without the")
    assert "2.50× as fast at most; settings gain at most the other 40 %." in text
    assert text.endswith("\nFirst: quickfit fix -m proj.main 4")


@pytest.mark.parametrize("share", [None, 0.0, 0.29])
def test_a_short_wait_is_not_worth_a_word(share):
    assert input_text(share, MODULE) == ""


def test_a_step_that_only_waits_has_no_number():
    assert "100 % of a step waits for data. Settings gain at most" in input_text(1.0, MODULE)
