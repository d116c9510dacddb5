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
from quickfit.capacity import free_memory_bytes
from quickfit.causes import catalogue
from quickfit.code.edits import is_in_conflict, merge_edits
from quickfit.code.file_changes import check_inside
from quickfit.diagnosis import diagnose_recording
from quickfit.diagnosis.candidates import Candidate, Unrecognised, candidates
from quickfit.errors import FixError, RecordingError, UsageError
from quickfit.findings import MIN_GAIN, Change, Diagnosis, FixClass
from quickfit.fixing.commands import words_of
from quickfit.fixing.progress import Ticker
from quickfit.fixing.repairing import failure_of, repaired_at_once, repairs
from quickfit.fixing.sources import Sources, sources_of
from quickfit.lab.budget import Budget
from quickfit.lab.observe import Observed, observe
from quickfit.lab.proof import Claim, Prover
from quickfit.lab.script_pair import Setting
from quickfit.lab.verdict import Outcome
from quickfit.launch.place import launch_facts
from quickfit.launch.target import Target
from quickfit.recording import folder as folders
from quickfit.recording.reader import Recording, read
from quickfit.recording.taking import take
from quickfit.trust import is_inside
from quickfit.tuning.trials.trial import scratch_folder

# A trial gets so many times as long to its first step as the script took when it was watched.
PATIENCE = 5.0
MIN_PATIENCE_S = 90.0
# Without a recording of its own memory, this much is taken for granted.
TRIAL_BYTES = 2e9


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
    """

    target: Target | None = None
    run: Path | None = None
    causes: tuple[str, ...] = ()
    budget_s: float = 300.0
    proves: bool = True
    prefers: frozenset[FixClass] = frozenset()
    tunes: bool = False
    trusts_script: bool = False


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
    from quickfit.fixing.tuned_beside import prove_settings, unproven_settings

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
            story.outcomes += unproven_settings(story) if tunes else []
            return story
        if not story.is_trusted:
            confirm_launch(story)
        budget = Budget(request.budget_s)
        ticker = Ticker(err, lambda: budget.left_s)
        setting = setting_of(story, scratch, seen.first_s)
        setting = replace(setting, trusts_script=request.trusts_script)
        prover = Prover(setting, budget, ticker.tell, failure=seen.failure)
        more = partial(prove_settings, story, prover, budget, ticker, scratch)
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
        target.check()
        ticker.begin(f"watching {target.name}, with everything it writes kept apart")
        seen = observe(
            target,
            scratch / "observed",
            cwd=cwd,
            tell=ticker.tell,
            trusts_script=request.trusts_script,
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
    words = terminal.escape(words_of(story.target), keep="")
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
    target.check()
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
            edited(candidate.change, story.sources)
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
    return Setting(
        story.target,
        story.cwd,
        scratch,
        patience_s=max(PATIENCE * first_s, MIN_PATIENCE_S),
        in_turns=free_memory_bytes() > 2.2 * peak,
    )


def _prove_all(
    story: Story,
    groups: list[list[Candidate]],
    prover: Prover,
    ticker: Ticker,
    more: Callable[[], None] | None = None,
) -> None:
    """Prove every group, then what comes after the causes, then all that was accepted as one."""
    for number, group in enumerate(groups, 1):
        ticker.begin(f"{number} of {len(groups)}: {group[0].cause}")
        story.outcomes.append(_first_proven(group, story, prover))
    if more is not None:
        more()
    accepted = story.accepted
    if len(accepted) > 1:
        ticker.begin("all accepted ones together")
        story.together = prover.prove(_joined(accepted, story))


def _first_proven(group: list[Candidate], story: Story, prover: Prover) -> Outcome:
    """Return the first of the alternatives for one finding that is proven; the last if none is."""
    outcome: Outcome | None = None
    for candidate in group:
        rival = _rival(candidate, story)
        if rival:
            said = f"changes the same lines as {rival}: apply that one, then run quickfit fix again"
            outcome = outcome or _unproven(candidate, story, said)
            continue
        outcome = prover.prove(_claim(candidate, story))
        if outcome.is_accepted:
            break
    assert outcome is not None
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
    # What is hidden behind a larger cause gains nothing before that one is removed.
    is_behind = finding.after_first is not None and finding.gain.likely < MIN_GAIN
    below = accepted if is_behind else []
    whole = joined([*below, _bare(candidate)]) if below else change
    where = finding.where.short if finding.where else ""
    return Claim(
        candidate.cause,
        f"{where}, on top of the first" if below else where,
        change if not below else Change(change.title, whole.kind, change.edits, change.note),
        finding.after_first if below else finding.gain,
        edited(whole, story.sources),
        catalogue()[candidate.cause].counts_start,
        edited(joined(below), story.sources) if below else {},
    )


def _bare(candidate: Candidate) -> Outcome:
    change = candidate.change
    return Outcome(candidate.cause, "", change, None, change.kind, None, "", False)


def edited(change: Change, sources: Sources) -> dict[str, bytes]:
    """Return the bytes of the files that a change touches, with the change made."""
    return {path: sources.files[path].edited(change.edits) for path in change.files}


_ORDER = (
    *(FixClass.SAME_RESULTS, FixClass.REPAIRS, FixClass.EQUIVALENT),
    *(FixClass.MAY_CHANGE_RESULTS, FixClass.SHOW_ONLY),
)


def joined(outcomes: list[Outcome]) -> Change:
    """Return several changes as one, of the lowest class among them."""
    kind = max((outcome.kind for outcome in outcomes), key=_ORDER.index)
    return Change("All of them", kind, merge_edits([outcome.change for outcome in outcomes]))


def _joined(outcomes: list[Outcome], story: Story) -> Claim:
    change = joined(outcomes)
    causes = " + ".join(outcome.cause for outcome in outcomes)
    known = [catalogue().get(outcome.cause) for outcome in outcomes]  # a setting is no cause
    starts = any(cause is not None and cause.counts_start for cause in known)
    return Claim(causes, "", change, None, edited(change, story.sources), starts)


def _unproven(candidate: Candidate, story: Story, why: str = "not tried") -> Outcome:
    finding = candidate.finding
    where = finding.where.short if finding.where else ""
    return replace(_bare(candidate), place=where, predicted=finding.gain, why=why)
