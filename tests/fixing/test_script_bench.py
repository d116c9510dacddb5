"""Edits that make settings: proven one by one, and what their trials say beside the speed."""

import json
import math
from dataclasses import replace

import pytest

from fixing.setting_runs import FAST, FASTER, SLOW, Proofs, candidate, outcome
from quickfit.code.file_changes import read_source
from quickfit.findings import FixClass
from quickfit.fixing import script_bench
from quickfit.fixing.script_bench import (
    NOT_COMPARED,
    OUT_OF_TIME,
    ScriptBench,
    ScriptTraining,
    SeenInTrials,
    TrialFolders,
    agreement,
    class_of,
    loss_of,
)
from quickfit.fixing.sources import Sources
from quickfit.lab.budget import Budget
from quickfit.lab.results import Results
from quickfit.lab.sandbox.spec import RESULTS_FILE
from quickfit.tuning.advice.change_table import ChangeKind, ChangeVerdict, LossChange
from quickfit.tuning.advice.search import CandidateSearch
from quickfit.tuning.advice.verdicts import LATE
from quickfit.tuning.trials.settings import Setting

import builders


def results(losses, channel="fit"):
    values = {step: {"loss": loss} for step, loss in losses.items()}
    return Results(losses=values, loss_channels={channel})


def test_losses_are_compared_after_equally_many_samples():
    first = results({1: 0.9, 2: 0.8, 3: 0.7, 4: 0.6})
    edited = results({1: 0.85, 2: 0.65})
    found = loss_of(first, edited, 2, 0, 32)
    assert (found.samples, found.before, found.after, found.unchanged) == (128, 0.9, 0.65, 0.6)


def test_several_steps_in_one_call_are_compared_where_a_call_ends():
    first = results({step: 1.0 / step for step in range(1, 41)})
    found = loss_of(first, results({32: 0.5, 64: 0.4}), 1, 0, 8)
    assert (found.samples, found.after, found.unchanged) == (256, 0.5, 1 / 32)


def test_means_of_the_second_epoch_are_left_out():
    first, edited = results({1: 0.9, 2: 0.8, 3: 0.1}), results({1: 0.9, 2: 0.8, 3: 0.2})
    assert loss_of(first, edited, 1, 2, 32).after == 0.8


@pytest.mark.parametrize(
    ("first", "edited", "batch"),
    [
        pytest.param(results({}), results({1: 0.5}), 32, id="no loss at first"),
        pytest.param(results({1: 0.5}), results({}), 32, id="no loss after"),
        pytest.param(results({1: 0.5}), results({1: 0.5}, "function"), 32, id="other losses"),
        pytest.param(results({1: 0.5}), results({1: 0.5}), None, id="unknown batches"),
        pytest.param(results({1: 0.5}), results({2: 0.5}), 32, id="never as many samples"),
    ],
)
def test_losses_are_not_compared_with(first, edited, batch):
    assert loss_of(first, edited, 1, 0, batch) is None


def test_a_loss_without_its_name_is_the_first_value():
    first = Results(losses={1: {"a": 0.5, "b": 9.0}}, loss_channels={"function"})
    assert loss_of(first, first, 1, 0, 1).after == 0.5
    nothing = Results(losses={1: {}}, loss_channels={"function"})
    assert math.isnan(loss_of(nothing, nothing, 1, 0, 1).after)


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """Folders of trials whose recordings are made of numbers."""
    known = {}
    monkeypatch.setattr(script_bench, "_recording", lambda folder: known.get(folder.name))

    def add(name, recording=None, losses=None):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        known[folder.name] = recording
        lines = [
            {"kind": "loss", "channel": "fit", "step": step, "values": {"loss": value.hex()}}
            for step, value in (losses or {}).items()
        ]
        (folder / RESULTS_FILE).write_text("\n".join(map(json.dumps, lines)))

    add.path = tmp_path
    return add


def recorded(*, first_s=2.0, rss=600e6, cpu_cores=1.0, **given):
    found = builders.recording(cpu_cores=cpu_cores, **given)
    steps = found.main.tables["steps"]
    steps[0]["begin_s"] -= first_s - 2.0  # the builder's first step takes two seconds longer
    for row in found.main.tables["machine"]:
        row["rss_bytes"] = rss
    return found


def test_everything_is_read_from_new_folders(scratch):
    folders = TrialFolders(scratch.path)
    scratch("results1", losses={1: 0.9, 2: 0.8})
    scratch("results2", losses={1: 0.9, 2: 0.8})
    scratch("results3", losses={1: 0.9, 2: 0.7})
    scratch("pairs4/pair1-0", recorded())
    scratch("pairs4/pair1-1", recorded(first_s=6.0, rss=700e6, cpu_cores=0.5))
    seen = folders.seen(1, 32)
    assert (seen.peak_bytes, seen.more_bytes) == (700e6, 100e6)
    assert abs(seen.cpu - 0.5) < 0.02
    assert abs(seen.compile_s - 4.0) < 0.01
    assert (seen.loss.samples, seen.loss.after, seen.loss.unchanged) == (64, 0.7, 0.8)


def test_folders_of_earlier_trials_do_not_count_again(scratch):
    scratch("results1", losses={1: 0.9})
    scratch("results2", losses={1: 0.9})
    scratch("pairs3/pair1-0", recorded())
    scratch("pairs3/pair1-1", recorded())
    folders = TrialFolders(scratch.path)
    assert folders.seen(1, 32) == SeenInTrials()
    scratch("results10", losses={1: 0.5})
    assert folders.seen(1, 32).loss.after == 0.5
    assert folders.seen(1, 32) == SeenInTrials()


def test_a_larger_batch_is_measured_by_the_sample(scratch):
    folders = TrialFolders(scratch.path)
    scratch("pairs1/pair1-0", recorded())
    scratch("pairs1/pair1-1", recorded())
    assert abs(folders.seen(2, 32).cpu - 0.5) < 0.02


def test_a_trial_that_recorded_nothing_says_nothing(scratch):
    folders = TrialFolders(scratch.path)
    scratch("pairs1/pair1-0", recorded())
    scratch("pairs1/pair1-1", None)
    scratch("pairs2/pair1-0", recorded())
    assert folders.seen(1, 32) == SeenInTrials()


def test_without_two_readings_the_cpu_time_is_not_known(scratch):
    folders = TrialFolders(scratch.path)
    scratch("pairs1/pair1-0", recorded(steps=5))
    scratch("pairs1/pair1-1", recorded())
    assert folders.seen(1, 32).cpu is None


def test_a_folder_without_a_recording_is_no_recording(tmp_path):
    assert script_bench._recording(tmp_path) is None


EQUAL, EQUIVALENT = FixClass.SAME_RESULTS, FixClass.EQUIVALENT
MAY, REPAIRS = FixClass.MAY_CHANGE_RESULTS, FixClass.REPAIRS


def kept_results(*losses):
    kept = {step: {"loss": loss} for step, loss in enumerate(losses, 1)}
    return Results(kept, {step: str(loss) for step, loss in enumerate(losses, 1)})


BASE = kept_results(1.0, 0.9)


@pytest.mark.parametrize(
    ("again", "edited", "expected"),
    [
        pytest.param(BASE, BASE, EQUAL, id="equal bit by bit"),
        pytest.param(BASE, kept_results(1.0, 0.9000001), EQUIVALENT, id="to rounding"),
        pytest.param(BASE, kept_results(1.0, 0.7), None, id="others"),
        pytest.param(kept_results(1.0, 0.8), BASE, None, id="the original differs by itself"),
        pytest.param(Results(), BASE, EQUAL, id="equal, so that it was not run a second time"),
        pytest.param(Results(), kept_results(1.0, 0.7), None, id="not run a second time"),
        pytest.param(Results(), Results(), None, id="nothing kept"),
    ],
)
def test_results_agree(again, edited, expected):
    assert agreement(BASE, again, edited, (0, 0)) is expected


@pytest.mark.parametrize(
    ("kind", "judged", "agrees", "expected"),
    [
        pytest.param(
            ChangeKind.STEPS, MAY, EQUAL, MAY, id="steps beside a callback that acts seldom"
        ),
        pytest.param(ChangeKind.STEPS, MAY, None, MAY, id="steps that are not"),
        pytest.param(ChangeKind.STEPS, EQUAL, EQUIVALENT, EQUAL, id="never worse than judged"),
        pytest.param(ChangeKind.XLA, MAY, EQUAL, EQUIVALENT, id="XLA rounds in other ways"),
        pytest.param(ChangeKind.XLA, MAY, EQUIVALENT, EQUIVALENT, id="XLA to rounding"),
        pytest.param(ChangeKind.THREADS, MAY, EQUIVALENT, EQUIVALENT, id="threads"),
        pytest.param(ChangeKind.BATCH, MAY, EQUAL, MAY, id="a batch is another training"),
        pytest.param(ChangeKind.PRECISION, MAY, EQUIVALENT, MAY, id="so is another precision"),
        pytest.param(ChangeKind.XLA, REPAIRS, EQUAL, REPAIRS, id="another kind of class"),
    ],
)
def test_a_setting_is_of_class(kind, judged, agrees, expected):
    assert class_of(kind, judged, agrees) is expected


@pytest.fixture
def bench(tmp_path):
    """Return a bench on which edits gain what is said, on a script of three lines."""
    path = tmp_path / "train.py"
    path.write_text("a = 1\nb = 2\nc = 3\n")

    def make(ratios, *, left_s=1000.0, facts=None, **given):
        folder = tmp_path / "scratch"
        folder.mkdir(exist_ok=True)
        sources = Sources({str(path): read_source(str(path))}, ())
        made = ScriptBench(
            Proofs(ratios, **(facts or {})),
            Budget(left_s, clock=lambda: 0.0),
            sources,
            folder,
            training=given.pop("training", ScriptTraining(32, 0.1, 100)),
            **given,
        )
        made.said = []
        made._begin = made.said.append
        return made

    def one(kind, name, **given):
        return candidate(kind, name, path=path, **given)

    make.path = path
    make.xla = one(ChangeKind.XLA, "XLA")
    make.steps32 = one(ChangeKind.STEPS, "32 steps", setting=Setting(steps_per_execution=32))
    make.steps8 = one(ChangeKind.STEPS, "8 steps", setting=Setting(steps_per_execution=8))
    make.batch64 = one(ChangeKind.BATCH, "batch 64", setting=Setting(batch=64))
    make.batch128 = one(ChangeKind.BATCH, "batch 128", setting=Setting(batch=128))
    return make


def search(bench, candidates, steps_left=None):
    """Let a search try candidates; return its rows by name."""
    found = CandidateSearch(bench, steps_left=steps_left)
    is_interrupted = found.run(candidates)
    rows = {row.name: row for row in found.choice.rows()}
    return found.choice, rows, is_interrupted


def claims(bench):
    return [claim.cause for claim in bench._prover.claims]


def test_every_candidate_is_proven_by_its_edit_and_counted(bench):
    here = bench({"XLA": FAST})
    _, rows, _ = search(here, [bench.xla, bench.steps32])
    assert here.said == ["1 of 2: XLA", "2 of 2: 32 steps"]
    assert rows["XLA"].verdict is ChangeVerdict.ADVISED
    assert rows["XLA"].fix_class == "may-change-results"
    assert rows["32 steps"].verdict is ChangeVerdict.NO_GAIN
    assert "# XLA\nc = 3" in here._prover.claims[0].texts[str(bench.path)].decode()


def test_what_another_of_its_kind_has_answered_is_spared(bench):
    here = bench({"32 steps": FAST, "batch 64": SLOW})
    _, rows, _ = search(here, [bench.steps32, bench.steps8, bench.batch64, bench.batch128])
    assert claims(here) == ["32 steps", "batch 64"]
    assert rows["8 steps"].reason == "32 steps, which saves more calls, gains already"
    assert rows["batch 128"].reason == "batch 64 is no faster"


def test_the_best_are_proven_as_one_and_chosen_where_that_is_faster(bench):
    here = bench({"XLA": FAST, "batch 64": FASTER, "XLA + batch 64": (3.0, 3.02, 3.04)})
    choice, rows, _ = search(here, [bench.xla, bench.batch64])
    assert here.said[-1] == "2 of them together"
    assert choice.best().setting == Setting(jit=True, batch=64)
    assert choice.parts() == [bench.xla, bench.batch64]
    text = here._prover.claims[-1].texts[str(bench.path)]
    assert text == b"a = 1\nb = 2\n# XLA\n# batch 64\nc = 3\n"
    assert rows["XLA + batch 64"].verdict is ChangeVerdict.ADVISED
    slower = bench({"XLA": FAST, "batch 64": FASTER, "XLA + batch 64": FAST})
    choice, rows, _ = search(slower, [bench.xla, bench.batch64])
    assert choice.parts() == [bench.batch64]
    assert rows["XLA"].reason == "faster alone, but not together with batch 64"


def test_what_touches_the_same_text_gives_way_to_the_faster_one(bench):
    def replacing(kind, name, text):
        found = candidate(kind, name, path=bench.path)
        edit = replace(found.edit.edits[0], begin=(3, 0), end=(3, 5), text=text)
        return replace(found, edit=replace(found.edit, edits=(edit,)))

    both = [replacing(ChangeKind.XLA, "XLA", "x"), replacing(ChangeKind.THREADS, "threads", "y")]
    choice, _, _ = search(bench({"XLA": FAST, "threads": FASTER}), both)
    assert (choice.together, choice.best()) == (None, both[1])


def test_steps_per_call_must_fit_into_an_epoch_of_larger_batches(bench):
    ratios = {"32 steps": FAST, "batch 128": FASTER}
    few = search(bench(ratios), [bench.steps32, bench.batch128])[0]
    assert few.together is None
    enough = bench(ratios, training=ScriptTraining(32, 0.1, 128))
    assert search(enough, [bench.steps32, bench.batch128])[0].together is not None


def test_together_claims_no_more_than_may_change_results(bench):
    both = [
        candidate(kind, name, path=bench.path, claimed=FixClass.EQUIVALENT)
        for kind, name in ((ChangeKind.XLA, "XLA"), (ChangeKind.THREADS, "threads"))
    ]
    here = bench({"XLA": FAST, "threads": FAST})
    search(here, both)
    assert here._prover.claims[-1].change.kind is FixClass.MAY_CHANGE_RESULTS


def test_time_is_kept_for_the_best_ones_together(bench):
    ratios = {"XLA": FAST, "32 steps": FAST, "batch 64": FAST}
    all_of = [bench.xla, bench.steps32, bench.batch64]
    assert search(bench(ratios, left_s=100.0), all_of)[1]["batch 64"].reason == LATE
    assert search(bench(ratios, left_s=130.0), all_of)[1]["batch 64"].gain is not None


@pytest.mark.parametrize(
    ("answer", "left_s", "verdict", "reason"),
    [
        ("the edited script failed", 10.0, ChangeVerdict.FAILED, "the edited script failed"),
        ("the edited script failed", 0.0, ChangeVerdict.NOT_TRIED, OUT_OF_TIME),
        ("not tried: no time", 10.0, ChangeVerdict.NOT_TRIED, "no time"),
        (
            *((1.2, 6.3), 10.0, ChangeVerdict.NOT_DECIDED),
            "inconclusive: it may gain less than 1.05×; more time (--budget) would tell",
        ),
        ((0.9,), 10.0, ChangeVerdict.SLOWER, ""),
    ],
)
def test_a_setting_that_is_not_proven_is(bench, answer, left_s, verdict, reason):
    _, rows, _ = search(bench({"XLA": answer}, left_s=left_s), [bench.xla])
    assert (rows["XLA"].verdict, rows["XLA"].reason) == (verdict, reason)


def test_a_batch_that_was_compared_by_steps_says_nothing(bench):
    here = bench({"batch 64": FAST}, facts={"unit": "steps"})
    _, rows, _ = search(here, [bench.batch64])
    assert (rows["batch 64"].gain, rows["batch 64"].reason) == (None, NOT_COMPARED)


def test_an_interrupt_leaves_what_was_known_and_says_so_of_the_rest(bench):
    left = replace(bench.batch128, edit=None, reason="an epoch has only 3 steps")
    here = bench({"XLA": FAST, "32 steps": "interrupt"})
    _, rows, is_interrupted = search(here, [bench.xla, bench.steps32, bench.batch64, left])
    assert is_interrupted
    assert rows["XLA"].verdict is ChangeVerdict.ADVISED
    assert [rows[name].reason for name in ("32 steps", "batch 64", "batch 128")] == [
        "interrupted", "interrupted", "an epoch has only 3 steps",
    ]  # fmt: skip


def test_a_setting_is_proven_on_top_of_what_was_accepted(bench):
    fix = candidate(name="fix", path=bench.path, place=(1, 0))
    here = bench({"XLA": FAST}, base=[outcome("fix", fix.edit, *FAST)])
    search(here, [bench.xla])
    (claim,) = here._prover.claims
    assert claim.texts[str(bench.path)] == b"# fix\na = 1\nb = 2\n# XLA\nc = 3\n"
    assert claim.base[str(bench.path)] == b"# fix\na = 1\nb = 2\nc = 3\n"
    assert here.outcomes[bench.xla].change.edits == bench.xla.edit.edits


def test_compiling_must_pay_in_the_steps_left(bench, monkeypatch):
    seen = SeenInTrials(640e6, 40e6, 0.9, 5.0, LossChange(1024, 0.9, 0.51, 0.5))
    monkeypatch.setattr(TrialFolders, "seen", lambda *args: seen)
    row = search(bench({"XLA": (2.0, 2.0, 2.0)}), [bench.xla])[1]["XLA"]
    assert (row.peak_bytes, row.more_bytes, row.cpu, row.compile_s) == (640e6, 40e6, 0.9, 5.0)
    assert row.pays_after == 100
    assert (row.loss.after, row.loss.unchanged) == (0.51, 0.5)
    late = search(bench({"XLA": (2.0, 2.0, 2.0)}), [bench.xla], 60)[1]["XLA"]
    assert late.reason == "it pays after 100 steps, and you have 60 left"
    steps = search(bench({"32 steps": FAST}), [bench.steps32])[1]["32 steps"]
    assert (steps.compile_s, steps.pays_after) == (None, 0)


@pytest.mark.parametrize("after", [0.8, float("nan")])
def test_what_learns_less_is_not_worth_having(bench, monkeypatch, after):
    seen = SeenInTrials(loss=LossChange(1024, 0.9, after, 0.5))
    monkeypatch.setattr(TrialFolders, "seen", lambda *args: seen)
    choice, rows, _ = search(bench({"XLA": FAST}), [bench.xla])
    assert choice.best() is None
    assert rows["XLA"].verdict is ChangeVerdict.LEARNS_LESS


@pytest.mark.parametrize(
    ("kind", "agrees", "expected"),
    [
        (ChangeKind.STEPS, FixClass.SAME_RESULTS, FixClass.MAY_CHANGE_RESULTS),
        (ChangeKind.XLA, FixClass.EQUIVALENT, FixClass.EQUIVALENT),
        (ChangeKind.BATCH, FixClass.EQUIVALENT, FixClass.MAY_CHANGE_RESULTS),
    ],
)
def test_a_setting_gets_the_class_that_its_results_prove(
    bench, monkeypatch, kind, agrees, expected
):
    monkeypatch.setattr(TrialFolders, "seen", lambda *args: SeenInTrials(agrees=agrees))
    one = candidate(kind, "it", path=bench.path)
    here = bench({"it": FAST})
    search(here, [one])
    assert here.outcomes[one].kind is here.outcomes[one].change.kind is expected
