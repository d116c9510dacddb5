"""The view model: every number is text, and what is not worth telling is left out."""

import dataclasses
from dataclasses import fields, is_dataclass, replace

import pytest

from quickfit.findings import (
    AccountNode,
    BreakdownPart,
    EarlyVerdict,
    Exhaustion,
    Fix,
    FixClass,
    Gain,
    Hunk,
    Location,
    NotChecked,
    Phase,
    RunOutcome,
    Symptom,
)
from quickfit.report._sentences import EFFECTS
from quickfit.report.view import HunkView, view

from report.builders import (
    BREAKDOWN,
    OVERHEAD,
    callback_mention,
    diagnosis,
    full_diagnosis,
    generator_finding,
    here,
    map_finding,
    memory_finding,
)


def leaves(value):
    if is_dataclass(value):
        for field in fields(value):
            yield from leaves(getattr(value, field.name))
    elif isinstance(value, tuple):
        for each in value:
            yield from leaves(each)
    elif value is not None:
        yield value


def shown_gain(low, likely, high, symptom=Symptom.SLOW):
    finding = map_finding(gain=Gain(low, likely, high, "because"), symptom=symptom)
    return view(diagnosis(finding)).findings[0].gain


@pytest.mark.parametrize(
    ("likely", "said"),
    [
        pytest.param(4.0, "75 % with what gets shorter with it", id="the input uses the cores"),
        pytest.param(1.5, "", id="a part of it stays"),
    ],
)
def test_a_gain_above_the_cost_is_explained_beside_the_cost(likely, said):
    finding = replace(map_finding(gain=Gain(1.2, likely, 5.0, "")), cost_share=0.5)
    assert view(diagnosis(finding)).findings[0].cost_detail == said


def test_a_step_of_one_of_several_loops_says_which():
    loops = tuple(AccountNode("fit", "fit", 5.0, 5.0, 5.0, 0.5, loop=number) for number in (1, 2))
    account = AccountNode("run", "run", 10.0, 10.0, 10.0, 1.0, children=loops)
    steps = replace(BREAKDOWN, where=Location(here("train.py"), 34))
    one = replace(account, children=loops[:1])
    shown = [
        view(replace(diagnosis(), account=tree, breakdown=steps)).total for tree in (account, one)
    ]
    assert "a step at train.py:34: 100 ms" in shown[0]
    assert "a step: 100 ms" in shown[1]


@pytest.mark.parametrize(
    ("used", "said"),
    [
        (
            Exhaustion("memory", "bytes", 1e9, 3.1e6, 5e6, 8e9, 1500.0),
            "memory: +3.1 MB per step, limit of 8.0 GB reached in about 25 min",
        ),
        (
            Exhaustion("memory", "bytes", 1e9, 4e7, 5e6, 8e9, 90_000.0, "round"),
            "memory: +40 MB per round, limit of 8.0 GB reached in about 25 h",
        ),
        (
            Exhaustion("open files", "count", 200, 2, 20, 1024, 41.0),
            "open files: +2 per step, limit of 1,024 reached in about 41 s",
        ),
        (Exhaustion("open files", "count", 200, 0.1, 2, None, None), "open files: +120 a minute"),
        (Exhaustion("memory", "bytes", 1e9, None, 5e6, None, None), "memory: +300 MB a minute"),
        (
            Exhaustion("GPU memory", "bytes", 0, None, 0, None, 0),
            "GPU memory: the limit is reached",
        ),
    ],
)
def test_what_runs_out_is_told_instead_of_a_gain(used, said):
    shown = view(diagnosis(memory_finding(exhaustion=used, after_first=Gain(1, 1, 1, ""))))
    (finding,) = shown.findings
    assert finding.gain == said
    assert (finding.cost, finding.basis, finding.after_first) == ("", "", "")
    assert shown.fix_command == ""


def test_the_command_that_proves_a_fix_is_shown_where_there_is_an_edit():
    found = generator_finding()
    edit = dataclasses.replace(found.fix, before="a", after="b")
    idea = dataclasses.replace(found.fix, before="", after="", hunks=(), example="c")
    for fix, is_shown in ((edit, True), (idea, False), (None, False)):
        shown = view(diagnosis(dataclasses.replace(found, fix=fix)))
        assert shown.fix_command.startswith("quickfit fix") == is_shown


def test_every_number_is_already_text():
    assert all(isinstance(leaf, str) for leaf in leaves(view(full_diagnosis())))


def test_findings_are_numbered_and_mentions_kept_apart():
    shown = view(diagnosis(callback_mention(), generator_finding(), map_finding()))
    assert [(f.number, f.cause) for f in shown.findings] == [
        ("1", "py-generator-input"),
        ("2", "sequential-map"),
    ]
    assert [f.cause for f in shown.mentions] == ["callback-batch-slow"]


@pytest.mark.parametrize(
    ("gain", "text"),
    [
        ((1.4, 1.9, 2.5), "training 1.4–2.5× faster, likely 1.9×"),
        ((8.0, 11.0, 14.0), "training 8.0–14× faster, likely 11×"),
        ((1.0, 1.06, 1.3), "training 1.00–1.3× faster, likely 1.06×"),
        ((2.0, 2.0, 2.0), "training about 2.0× faster"),
        ((1.2, 2.0, float("inf")), "training about 2.0× faster"),
        ((1.0, 1.0, 1.0), "no speed-up predicted"),
        ((float("nan"),) * 3, "no speed-up predicted"),
    ],
)
def test_a_gain_reads(gain, text):
    assert shown_gain(*gain) == text


def test_a_gain_says_whether_it_is_of_the_run():
    found = map_finding(gain=Gain(1.1, 1.2, 1.3, "because"), claims=("before_training",))
    assert view(diagnosis(found)).findings[0].gain == "run 1.1–1.3× faster, likely 1.2×"


def test_a_silence_that_is_over_needs_nothing_to_get_going():
    past = dataclasses.replace(
        map_finding(), symptom=Symptom.STUCK, gain=Gain(1, 1, 1, ""), is_past=True
    )
    (finding,) = view(diagnosis(past)).findings
    assert finding.gain == "over: the run went on by itself"


def test_a_gain_that_is_not_speed_says_what_it_is():
    assert shown_gain(1, 1, 1, symptom=Symptom.STUCK) == "gets the run going"
    assert shown_gain(1, 1, 1, symptom=Symptom.WRONG) == "makes the run right"


@pytest.mark.parametrize(
    ("gain", "text"),
    [
        (Gain(1.4, 1.9, 2.5, "the cores are shared"), "why 1.9×: the cores are shared"),
        (Gain(1.4, float("nan"), 2.5, "it hangs"), "why: it hangs"),
        (Gain(1.4, 1.9, 2.5, " "), ""),
    ],
)
def test_the_basis_of_a_gain_reads(gain, text):
    assert view(diagnosis(map_finding(gain=gain))).findings[0].basis == text


def test_a_finding_without_a_place_has_none():
    finding = view(diagnosis(map_finding(where=None))).findings[0]
    assert (finding.place, finding.source) == ("", "")


def test_parts_below_one_percent_are_left_out_and_the_largest_is_first():
    shown = view(diagnosis(breakdown=BREAKDOWN)).breakdown
    assert [p.label for p in shown.parts] == ["waiting for input", "training step", "callbacks"]


@pytest.mark.parametrize("share", [float("nan"), -0.2, 0.0])
def test_a_share_that_makes_no_sense_is_left_out(share):
    odd = replace(BREAKDOWN, parts=(BreakdownPart("x", "x", 0.1, share),))
    assert view(diagnosis(breakdown=odd)).breakdown.parts == ()


def test_a_bar_never_exceeds_the_whole():
    odd = replace(BREAKDOWN, parts=(BreakdownPart("x", "x", 0.1, 7.0),))
    assert view(diagnosis(breakdown=odd)).breakdown.parts[0].bar == "#" * 20


def test_an_example_is_shown_only_where_the_code_was_not_recognised():
    fix = Fix("t", FixClass.SAME_RESULTS, before="a", after="b", example="c")
    shown = view(diagnosis(map_finding(fix=fix))).findings[0].fix
    assert shown.hunks == (HunkView("", ("a",), ("b",)),)
    assert shown.example == ()


def test_a_change_in_several_places_names_each_of_them(at_home):
    hunks = (Hunk(here("train.py"), 3, "", "import b"), Hunk(here("feed.py"), 9, "x", "y"))
    fix = Fix("t", FixClass.SAME_RESULTS, before="x", after="import b\ny", hunks=hunks)
    shown = view(diagnosis(map_finding(fix=fix))).findings[0].fix
    assert shown.hunks == (
        HunkView("train.py:3", (), ("import b",)),
        HunkView("feed.py:9", ("x",), ("y",)),
    )


def test_what_a_change_takes_away_is_shortened_and_what_it_brings_is_not():
    long = "\n".join(f"line{n}" for n in range(40))
    fix = Fix("t", FixClass.SAME_RESULTS, hunks=(Hunk("a.py", 11, long, long),))
    (shown,) = view(diagnosis(map_finding(fix=fix))).findings[0].fix.hunks
    assert shown.before == ("line0", "line1", "line2", "line3", "line4", "… to line 50")
    assert shown.after == tuple(long.split("\n"))


def test_every_class_of_fix_has_words():
    assert set(EFFECTS) == set(FixClass)


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        (RunOutcome("finished", exit_code=0), ""),
        (RunOutcome("finished"), ""),
        (RunOutcome("exit 3", exit_code=3), "the script ended with exit code 3"),
        (RunOutcome("signal SIGKILL", signal="SIGKILL"), "the script was ended by SIGKILL"),
        (RunOutcome("running"), "the script is still running; this report covers it so far"),
        (
            RunOutcome("gone"),
            "the script is no longer running here, and its end was not recorded: it was killed "
            "with quickfit, or the machine went down. This report covers it up to then",
        ),
        (RunOutcome("unknown"), "how the script ended was not recorded"),
    ],
)
def test_an_outcome_is_told_unless_the_script_plainly_finished(outcome, text):
    assert view(diagnosis(outcome=outcome)).outcome == text


def test_an_early_verdict_that_held_is_said_to_have_held():
    early = EarlyVerdict("input-bound", at_step=20, held=True)
    said = view(diagnosis(early=early)).early
    assert said == "the early verdict, given at step 20, held"


def test_causes_that_miss_the_same_thing_share_its_reason():
    missing = tuple(NotChecked(name, "no GPU readings") for name in ("a", "b", "c"))
    shown = view(diagnosis(not_checked=missing))
    assert shown.not_checked == ("a, b and c, no GPU readings",)
    assert shown.not_checked_count == "3"


def test_overhead_that_was_not_measured_is_not_zero():
    unknown = replace(OVERHEAD, step_cpu_s=None, threads_core_share=None)
    assert view(diagnosis(overhead=unknown)).overhead == "cost not measured"


def test_only_probes_that_are_off_are_told():
    some = replace(OVERHEAD, probes=(("fit_loop", "on"), ("gpu", "off: no driver")))
    assert view(diagnosis(overhead=some)).probes_off == ("gpu off: no driver",)


def test_a_run_whose_name_needs_quotes_gives_a_command_to_paste():
    shown = view(diagnosis(run="/data/my runs/a.qfrun"))
    assert shown.command == "quickfit report '/data/my runs/a.qfrun' --format json"


def first_step_of(*phases, breakdown=None):
    return view(diagnosis(phases=phases, breakdown=breakdown)).first_step


def test_the_time_to_the_first_step_is_told_by_phase_without_the_small_ones():
    without_clock = replace(full_diagnosis(), account=None)
    assert view(without_clock).first_step == (
        "after 8.2 s: imports 3.1 s, data 400 ms (train.py:12), other Python 300 ms (train.py:20), "
        "tracing 1.2 s, shuffle fill 2.5 s (10,000 elements, train.py:31), first batch 200 ms, "
        "first step 450 ms"
    )


def test_a_phase_below_one_percent_of_the_time_is_left_out():
    told = first_step_of(Phase("imports", "imports", 99.5), Phase("data", "data", 0.5))
    assert told == "after 1 min 40 s: imports 1 min 40 s"


def test_a_run_without_a_first_step_says_where_it_was_last_seen():
    told = first_step_of(
        Phase("imports", "imports", 3.0),
        Phase("shuffle_fill", "shuffle fill", 9.0, "400 of 1,000 elements", is_open=True),
    )
    assert told == (
        "none in 12 s: imports 3.0 s, shuffle fill 9.0 s (400 of 1,000 elements); "
        "last seen in shuffle fill"
    )


def test_phases_that_took_no_time_are_not_listed():
    assert first_step_of(Phase("imports", "imports", 0.0)) == "after 0 s"


def test_without_phases_the_time_to_the_first_step_is_that_of_the_breakdown():
    assert first_step_of(breakdown=BREAKDOWN) == "after 8.2 s"
    assert first_step_of() == ""
