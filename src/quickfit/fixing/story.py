"""The whole way: run or read, diagnose, make candidates, prove each, prove all together."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TextIO

from quickfit import terminal, trust
from quickfit.causes import catalogue
from quickfit.code.edits import is_in_conflict
from quickfit.code.file_changes import check_inside
from quickfit.diagnosis import diagnose_recording
from quickfit.diagnosis.candidates import Candidate, Unrecognised, candidates
from quickfit.errors import FixError, RecordingError, SignalMissing, UsageError
from quickfit.findings import Change, Diagnosis, FixClass
from quickfit.fixing.progress import Ticker
from quickfit.fixing.repairing import failure_of, repaired_at_once, repairs
from quickfit.fixing.script_bench import ScriptBench
from quickfit.fixing.setting_candidates import (
    Watched,
    free_candidates,
    script_candidates,
    script_training,
)
from quickfit.fixing.sources import Sources, edited_files, join_outcomes, sources_of
from quickfit.lab.budget import Budget
from quickfit.lab.observe import Observed, observe
from quickfit.lab.proof import Claim, Prover
from quickfit.lab.script_pair import Setting, scope_of
from quickfit.lab.statistics import MIN_GAIN
from quickfit.lab.verdict import Outcome
from quickfit.launch.place import launch_facts
from quickfit.launch.target import Target
from quickfit.machine import free_memory_bytes
from quickfit.recording import folder as folders
from quickfit.recording.reader import Recording, read
from quickfit.recording.taking import take
from quickfit.trust import is_inside
from quickfit.tuning.advice.candidates import ChangeCandidate
from quickfit.tuning.advice.change_table import ChangeKind
from quickfit.tuning.advice.search import CandidateSearch
from quickfit.tuning.advice.verdicts import is_part_of
from quickfit.tuning.trials.trial import scratch_folder

# A trial gets so many times as long to its first step as the script took when it was watched.
PATIENCE = 5.0
MIN_PATIENCE_S = 90.0
# Without a recording of its own memory, this much is taken for granted.
TRIAL_BYTES = 2e9
# Free memory for a trial, as a multiple of what the watched run took.
MEMORY_ROOM = 1.1
# Candidates that share the runs of the original. More would make each round longer than a budget
# is patient.
MOST_TOGETHER = 3


@dataclass(frozen=True)
class Request:
    """What is asked for.

    Args:
        target: a script to run, or None.
        run: a recording, or None.
        causes: those to fix; none for all.
        budget_s: the time for all proofs.
        proves: try the candidates; else they are only made.
        prefers: classes that may be written; of several ways to fix a cause, these come first.
        tunes: settings are tried as well, after the causes.
        trusts_script: it is tried also where only Python guards the user's files.
        needs_findings: the script is watched until its steps say what it suffers from.
    """

    target: Target | None = None
    run: Path | None = None
    causes: tuple[str, ...] = ()
    budget_s: float = 300.0
    proves: bool = True
    prefers: frozenset[FixClass] = frozenset()
    tunes: bool = False
    trusts_script: bool = False
    needs_findings: bool = True


@dataclass
class Story:
    """What is known so far; `confinement` is what kept the trials from doing harm."""

    recording: Recording
    diagnosis: Diagnosis
    sources: Sources
    target: Target
    cwd: Path
    outcomes: list[Outcome] = field(default_factory=list)
    without: list[Unrecognised] = field(default_factory=list)
    together: Outcome | None = None
    is_interrupted: bool = False
    is_trusted: bool = True
    confinement: str = ""

    @property
    def home(self) -> Path:
        """The project folder: no file outside of it is changed, and `.quickfit` lies in it.

        It is where the script is run; of a script elsewhere that the user has named, its folder;
        and where quickfit itself is run if only a recording of another user says otherwise.
        """
        if not self.is_trusted:
            return Path.cwd()
        script = self.target.script
        if script is None or is_inside(self.cwd / script, self.cwd):
            return self.cwd
        return Path(os.path.abspath(self.cwd / script)).parent

    @property
    def accepted(self) -> list[Outcome]:
        """The changes that were proven, without those that touch the same text as a better one."""
        kept: list[Outcome] = []
        for outcome in self.outcomes:
            edits = [edit for other in kept for edit in other.change.edits]
            if outcome.is_accepted and not is_in_conflict(outcome.change.edits, edits):
                kept.append(outcome)
        return kept


def told(request: Request, err: TextIO) -> Story:
    """Do what was asked for; a Ctrl-C ends it with what is known by then.

    Raises:
        FixError: the script cannot be tried, or its recording does not say how it was run.
        UsageError: a cause was asked for that was not found.
        RecordingError: the recording cannot be read.
    """
    with scratch_folder("quickfit-fix-") as scratch:
        ticker = Ticker(err)
        story, seen = begun(request, scratch, ticker)
        groups = _candidates(request, story)
        if seen.failure:
            groups = repairs(groups)
            if not groups:
                raise seen.unprovable(story.target.name)
        tunes = request.tunes and not seen.failure
        if not request.proves or not (groups or tunes):
            story.outcomes = [_unproven(group[0], story) for group in groups]
            story.outcomes += _unproven_settings(story) if tunes else []
            return story
        if not story.is_trusted:
            confirm_launch(story)
        budget = Budget(request.budget_s)
        ticker = Ticker(err, lambda: budget.left_s)
        setting = setting_of(story, scratch, seen.first_s)
        setting = replace(setting, trusts_script=request.trusts_script)
        prover = Prover(setting, budget, ticker.tell, failure=seen.failure)
        more = partial(_prove_settings, story, prover, budget, ticker, scratch)
        try:
            with ticker.beating():
                if not seen.failure or not repaired_at_once(story, groups, prover, ticker):
                    _prove_all(story, groups, prover, ticker, more if tunes else None)
        except KeyboardInterrupt:
            story.is_interrupted = True
        finally:
            ticker.clear()
        story.confinement = prover.confinement or story.confinement
        return story


def begun(request: Request, scratch: Path, ticker: Ticker) -> tuple[Story, Observed]:
    """Read the recording, or make one; return what it says, and how it was made."""
    if request.run is not None:
        recording = read(request.run)
        target, cwd = _target_of(recording)
        is_trusted = _is_own(recording, cwd)
        seen = Observed(request.run, 0.0, failure_of(recording))
    else:
        assert request.target is not None
        target, cwd, is_trusted = request.target, Path.cwd(), True
        target.check(is_repeated=True)
        ticker.begin(f"watching {target.name}, with everything it writes kept apart")
        seen = observe(
            target,
            scratch / "observed",
            cwd=cwd,
            tell=ticker.tell,
            trusts_script=request.trusts_script,
            is_decided=_is_decided if request.needs_findings else lambda path: True,
        )
        ticker.clear()
        recording = read(_kept(seen.recording, target))
    story = Story(
        recording,
        diagnose_recording(recording),
        sources_of(recording),
        target,
        cwd,
        is_trusted=is_trusted,
        confinement=seen.confinement,
    )
    return story, seen


def _is_decided(path: Path) -> bool:
    """Tell whether what was recorded so far says what a script suffers from."""
    try:
        return diagnose_recording(read(path)).verdict != "inconclusive"
    except RecordingError:
        return True


def _is_own(recording: Recording, cwd: Path) -> bool:
    """Tell whether this user has recorded a run, in the project that quickfit is run in."""
    here = Path.cwd()
    if not (os.path.samefile(cwd, here) or is_inside(cwd, here) or is_inside(here, cwd)):
        return False
    path = recording.path
    try:
        folders.check_launch(recording.run, path if path.is_dir() else path.parent)
    except trust.NotTrusted:
        return False
    return True


def confirm_launch(story: Story) -> None:
    """Ask before the command of a recording is run that is not this user's own.

    Raises:
        FixError: the answer is no, or there is no terminal to ask at.
    """
    # On one line each, so that nothing in them can look like a question or an answer of ours.
    words = terminal.escape(story.target.words, keep="")
    cwd = terminal.escape(shlex.quote(str(story.cwd)), keep="")
    said = (
        f"{story.recording.path}: this recording was not made by you in this folder, and proving a"
        " fix runs the command that it names.\n"
        f"Received: python {words}, to be run in {cwd}.\n"
    )
    if terminal.ask(f"quickfit: {said}Run it?"):
        story.is_trusted = True
        return
    raise FixError(
        f"{said}Nothing was run. If this is the script you mean, name it yourself:\n"
        f"    cd {cwd}\n    quickfit fix {words}"
    )


def _kept(watched: Path, target: Target) -> Path:
    """Keep the recording where those of `quickfit run` are, if that can be."""
    try:
        folder = folders.default_run_folder(target.name)
        folders.create(folder)
        take(watched, folder)
        facts = folders.read_run_file(watched) | launch_facts(target, Path.cwd())
        folders.write_run_file(folder, folders.seal_launch(facts, folder))
    except (OSError, RecordingError, UsageError):
        return watched
    folders.drop_old_runs(folder.parent)
    return folder


def _target_of(recording: Recording) -> tuple[Target, Path]:
    facts = recording.run
    script, cwd, args = facts.get("script"), facts.get("cwd"), facts.get("argv") or []
    if not isinstance(script, str) or not isinstance(cwd, str) or not Path(cwd).is_dir():
        raise FixError(
            f"{recording.path}: this recording does not say how its script was run here, so no fix"
            " can be proven on it.\nGive the script instead:\n    quickfit fix train.py"
        )
    args = tuple(str(arg) for arg in args)
    if facts.get("module"):
        return Target(module=str(facts["module"]), args=args), Path(cwd)
    target = Target(script=script, args=args)
    target.check(is_repeated=True)
    return target, Path(cwd)


def _candidates(request: Request, story: Story) -> list[list[Candidate]]:
    found = {finding.cause for finding in story.diagnosis.findings}
    for cause in request.causes:
        if cause not in catalogue():
            raise UsageError(f"{cause}: there is no such cause.\nAll causes: quickfit explain")
        if cause not in found:
            there = ", ".join(sorted(found)) or "nothing"
            raise UsageError(f"{cause}: was not found in this run (found: {there}).")
    groups, without = candidates(story.recording, story.diagnosis, story.sources.texts)
    wanted = set(request.causes) or found
    story.without = [one for one in without if one.finding.cause in wanted]
    made = [_makeable(group, story) for group in groups if group[0].cause in wanted]
    chosen = [group for group in made if group]
    # A way that may be written as it is comes before one that needs a flag.
    if request.prefers:
        chosen = [sorted(g, key=lambda c: c.change.kind not in request.prefers) for g in chosen]
    return chosen


def _makeable(group: list[Candidate], story: Story) -> list[Candidate]:
    """Return the candidates whose edits can be made; one that cannot must not stop the others."""
    kept = []
    for candidate in group:
        try:
            for path in candidate.change.files:
                check_inside(path, story.home)
            edited_files(candidate.change, story.sources)
        except FixError as error:
            why = str(error)
        else:
            kept.append(candidate)
    if not kept:
        story.without.append(Unrecognised(group[0].finding, why))
    return kept


def setting_of(story: Story, scratch: Path, first_s: float) -> Setting:
    """Return what all trials of a script have in common."""
    rows = story.recording.main.rows("machine")
    peak = max((row.get("rss_bytes") or 0 for row in rows), default=0) or TRIAL_BYTES
    fitting = int(free_memory_bytes() / (MEMORY_ROOM * peak))
    account = story.diagnosis.account
    has_ended = story.recording.run.get("exit_code") == 0
    return Setting(
        story.target,
        story.cwd,
        scratch,
        run_s=account.seconds if account is not None and has_ended else None,
        patience_s=max(PATIENCE * first_s, MIN_PATIENCE_S),
        in_turns=fitting >= 2,
        together=max(min(fitting - 1, MOST_TOGETHER), 1),
    )


def _prove_all(
    story: Story,
    groups: list[list[Candidate]],
    prover: Prover,
    ticker: Ticker,
    more: Callable[[], None] | None = None,
) -> None:
    """Prove every group, then what comes after the causes, then all that was accepted as one."""
    known: dict[int, Outcome] = {}
    done = 0
    try:
        _prove_together(story, groups, prover, ticker, known)
        for number, group in enumerate(groups):
            ticker.begin(f"{number + 1} of {len(groups)}: {group[0].cause}")
            outcome = _first_proven(group, story, prover, known.get(number))
            story.outcomes += [outcome] if outcome is not None else []
            done = number + 1
    except KeyboardInterrupt:
        story.outcomes += [outcome for n, outcome in sorted(known.items()) if n >= done]
        raise
    if more is not None:
        more()
    accepted = story.accepted
    if len(accepted) > 1:
        ticker.begin("all accepted ones together")
        story.together = prover.prove(_claim_together(accepted, story))
        _drop_needless(story)


def _drop_needless(story: Story) -> None:
    """Keep the best change alone where others of the same wait add nothing to it."""
    causes = {f.cause for f in story.diagnosis.findings if "input_wait" in f.claims}
    accepted, together = story.accepted, story.together
    if together is None or not together.is_accepted or together.measured is None:
        return
    if not all(one.cause in causes and one.measured is not None for one in accepted):
        return
    best = max(accepted, key=lambda one: one.measured.mean if one.measured else 0.0)
    if best.measured is None or together.measured.mean >= MIN_GAIN * best.measured.mean:
        return
    why = f"adds nothing to: {best.change.title}"
    story.together = replace(together, is_accepted=False, why=why)
    story.outcomes = [
        one if one is best or one not in accepted else replace(one, is_accepted=False, why=why)
        for one in story.outcomes
    ]


def _prove_together(
    story: Story,
    groups: list[list[Candidate]],
    prover: Prover,
    ticker: Ticker,
    known: dict[int, Outcome],
) -> None:
    """Prove the first candidates of groups that do not depend on others, beside one original."""
    chosen: list[int] = []
    for number, (first, *_) in enumerate(groups):
        edits = [edit for other in chosen for edit in groups[other][0].change.edits]
        if not _is_behind(first) and not is_in_conflict(first.change.edits, edits):
            chosen.append(number)
    if len(chosen) < 2:
        return
    ticker.begin(", ".join(groups[number][0].cause for number in chosen))
    prover.prove_all(
        [_claim(groups[number][0], story) for number in chosen],
        lambda place, outcome: known.update({chosen[place]: outcome}),
    )


def _is_behind(candidate: Candidate) -> bool:
    """Tell whether it gains nothing before a larger cause is removed, which hides it."""
    finding = candidate.finding
    return finding.after_first is not None and finding.gain.likely < MIN_GAIN


def _first_proven(
    group: list[Candidate], story: Story, prover: Prover, known: Outcome | None = None
) -> Outcome | None:
    """Return the first of the alternatives for one finding that is proven; the last if none is.

    None of reliefs for code that another change has replaced: there is nothing to say of them.

    Args:
        group: the alternatives.
        story: with what was accepted before.
        prover: proves them.
        known: what became of the first one, if it was proven before.
    """
    outcome: Outcome | None = None
    for number, candidate in enumerate(group):
        rival = _rival(candidate, story)
        if rival and candidate.is_relief:
            continue
        if rival:
            said = f"changes the same lines as {rival}: apply that one, then run quickfit fix again"
            outcome = outcome or _unproven(candidate, story, said)
            continue
        is_known = number == 0 and known is not None
        outcome = known if is_known else prover.prove(_claim(candidate, story))
        assert outcome is not None
        if outcome.is_accepted:
            break
    return outcome


def _rival(candidate: Candidate, story: Story) -> str:
    """Return the cause whose accepted fix touches the same text, or nothing."""
    for outcome in story.accepted:
        if is_in_conflict(candidate.change.edits, outcome.change.edits):
            return outcome.cause
    return ""


def _claim(candidate: Candidate, story: Story) -> Claim:
    finding, change = candidate.finding, candidate.change
    accepted = story.accepted
    below = accepted if _is_behind(candidate) else []
    whole = join_outcomes([*below, _bare(candidate)]) if below else change
    where = finding.where.short if finding.where else ""
    return Claim(
        candidate.cause,
        f"{where}, on top of the first" if below else where,
        change if not below else Change(change.title, whole.kind, change.edits, change.note),
        finding.after_first if below else finding.gain,
        edited_files(whole, story.sources),
        scope_of(finding.claims),
        edited_files(join_outcomes(below), story.sources) if below else {},
    )


def _bare(candidate: Candidate) -> Outcome:
    change = candidate.change
    return Outcome(candidate.cause, "", change, None, change.kind, None, "", False)


def _claim_together(outcomes: list[Outcome], story: Story) -> Claim:
    change = join_outcomes(outcomes)
    causes = " + ".join(outcome.cause for outcome in outcomes)
    proven = {outcome.cause for outcome in outcomes}
    parts = [part for f in story.diagnosis.findings if f.cause in proven for part in f.claims]
    return Claim(causes, "", change, None, edited_files(change, story.sources), scope_of(parts))


def _unproven(candidate: Candidate, story: Story, why: str = "not tried") -> Outcome:
    finding = candidate.finding
    where = finding.where.short if finding.where else ""
    return replace(_bare(candidate), place=where, predicted=finding.gain, why=why)


def _watched_candidates(story: Story) -> tuple[Watched, list[ChangeCandidate]]:
    """Return the settings that can be tried beside what was accepted."""
    watched = Watched(story.recording, story.sources.texts)
    try:
        found = script_candidates(watched)
    except SignalMissing:
        found = []  # a recording without a loop
    return watched, free_candidates(found, [outcome.change for outcome in story.accepted])


def _prove_settings(
    story: Story, prover: Prover, budget: Budget, ticker: Ticker, scratch: Path
) -> None:
    """Search among settings, on top of the fixes that were accepted; of each kind one is."""
    watched, candidates = _watched_candidates(story)
    if not candidates:
        return
    bench = ScriptBench(
        prover,
        budget,
        story.sources,
        scratch,
        training=script_training(watched),
        base=story.accepted,
        begin=lambda text: ticker.begin(f"settings, {text}"),
    )
    search = CandidateSearch(bench, steps_left=watched.steps_left)
    try:
        search.try_alone(candidates)
    finally:
        choice, winners = search.choice, search.choice.winners()
        joined = bench.join(winners)
        kept = [one for one in winners if is_part_of(one, joined)] if joined else winners[:1]
        reasons = {row.name: row.reason for row in choice.rows()}
        for one, outcome in bench.outcomes.items():
            if outcome.is_accepted and one not in kept:
                beside = " + ".join(other.name for other in kept)
                why = f"it does not fit {beside}" if one in winners else reasons[one.name]
                outcome = replace(outcome, is_accepted=False, why=why)
            story.outcomes.append(outcome)


def _unproven_settings(story: Story) -> list[Outcome]:
    """Return the first setting of each kind as a change that was not tried."""
    first: dict[ChangeKind, ChangeCandidate] = {}
    for one in _watched_candidates(story)[1]:
        first.setdefault(one.kind, one)
    return [
        Outcome(one.name, "", one.edit, None, one.edit.kind, None, "", False, "not tried")
        for one in first.values()
        if one.edit is not None
    ]
