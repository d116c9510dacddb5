"""The bench of scripts: proves settings as edits of the text, one after the other.

The prover of `fix` compares results and measures pairs; what its trials recorded says the rest of
a row: memory, CPU time, compiling and the loss.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from quickfit.code.edits import is_in_conflict
from quickfit.errors import RecordingError
from quickfit.findings import Change, FixClass
from quickfit.fixing.sources import Sources, edited_files, join_outcomes
from quickfit.lab.budget import Budget
from quickfit.lab.proof import Claim, Prover
from quickfit.lab.results import Results, are_equal, judge, read_results
from quickfit.lab.script_pair import Progress, progress_of
from quickfit.lab.verdict import Outcome, Verdict, VerdictKind
from quickfit.recording.reader import Recording, read
from quickfit.tuning.advice.candidates import ChangeCandidate
from quickfit.tuning.advice.change_table import ChangeKind, LossChange
from quickfit.tuning.advice.search import RoundPlan
from quickfit.tuning.advice.verdicts import Measurement
from quickfit.tuning.trials.settings import Setting

# Without parts of epochs to go by, a step of more examples is compared with one of fewer.
STEPS_ONLY = "steps"
NOT_COMPARED = (
    "an epoch takes longer than a trial, so that equally many samples could not be compared;"
    " measure it with module:function"
)
OUT_OF_TIME = "the time is used up; give more with --budget"
_NOT_TRIED = "not tried: "


@dataclass(frozen=True)
class ScriptTraining:
    """The training of a script as it is; None is what is not known.

    Args:
        batch: examples in a step.
        step_s: the time of a step.
        epoch_steps: steps in an epoch.
    """

    batch: int | None = None
    step_s: float | None = None
    epoch_steps: int | None = None


class ScriptBench:
    """Measures edits of a script; a round is the whole proof of one of them.

    Args:
        prover: proves changes within one budget.
        budget: the same, for the time that the best ones together will need.
        sources: the user's files.
        scratch: the prover's folder, in which every trial leaves what it recorded.
        training: as it is.
        base: changes that were accepted before; settings are proven on top of them.
        begin: called with what is tried next.
        proof_s: about the time of one proof, before there was one.
    """

    rounds = 1
    is_busy = False
    begin_s = 0.0
    ended = OUT_OF_TIME

    def __init__(
        self,
        prover: Prover,
        budget: Budget,
        sources: Sources,
        scratch: Path,
        *,
        training: ScriptTraining | None = None,
        base: Sequence[Outcome] = (),
        begin: Callable[[str], None] = lambda text: None,
        proof_s: float = 0.0,
    ) -> None:
        self._prover = prover
        self.budget = budget
        self._sources = sources
        self._folders = TrialFolders(scratch)
        self._training = training or ScriptTraining()
        self._base = list(base)
        self._begin = begin
        self._proof_s = proof_s
        self.measured: dict[ChangeCandidate, Measurement] = {}
        self.failures: dict[ChangeCandidate, str] = {}
        self.refusals: dict[ChangeCandidate, str] = {}
        # The proof of every candidate that was tried.
        self.outcomes: dict[ChangeCandidate, Outcome] = {}

    def round_s(self, candidates: int) -> float:
        """Return how long so many proofs take: as long as the longest so far."""
        took = [outcome.took_s for outcome in self.outcomes.values()]
        return candidates * max(took, default=self._proof_s)

    def room(self, seconds: float) -> int:
        """Return that proofs come one after the other."""
        return 1

    def measure(self, plan: RoundPlan) -> bool:
        """Prove candidates; a proof that finds no time left says so itself."""
        for place, one in enumerate(plan.candidates, plan.begun + 1):
            what = f"{plan.total} of them together" if plan.is_together else one.name
            self._begin(what if plan.is_together else f"{place} of {plan.total}: {what}")
            self._prove(one)
        return True

    def join(self, winners: Sequence[ChangeCandidate]) -> ChangeCandidate | None:
        """Return winners in one; what does not fit beside faster ones gives way to them."""
        kept: list[ChangeCandidate] = []
        for one in winners:
            edits = [edit for other in kept for edit in self.outcomes[other].change.edits]
            is_free = not is_in_conflict(self.outcomes[one].change.edits, edits)
            if is_free and self._fits_epoch([*kept, one]):
                kept.append(one)
        if len(kept) < 2:
            return None
        parts = [one for one in self.outcomes if one in kept]
        setting = Setting()
        for one in parts:
            setting = setting.with_all(one.setting)
        change = join_outcomes([self.outcomes[one] for one in parts])
        if change.kind is FixClass.EQUIVALENT:
            # Rounding of one may grow in many steps of another's call.
            change = replace(change, kind=FixClass.MAY_CHANGE_RESULTS)
        name = " + ".join(one.name for one in parts)
        return ChangeCandidate(ChangeKind.TOGETHER, name, setting, change)

    def _times(self, one: ChangeCandidate) -> int:
        """Return how many times as many examples a step has."""
        batch, own = one.setting.batch, self._training.batch
        return round(batch / own) if batch and own else 1

    def _fits_epoch(self, parts: Sequence[ChangeCandidate]) -> bool:
        """Tell whether an epoch of larger batches still has as many steps as one call takes."""
        steps = self._training.epoch_steps
        per_call = max(one.setting.steps_per_execution or 1 for one in parts)
        return steps is None or steps // max(map(self._times, parts)) >= per_call

    def _prove(self, one: ChangeCandidate) -> None:
        change, times = one.edit, self._times(one)
        assert change is not None
        outcome = self._prover.prove(self._claim(one, change))
        seen = self._folders.seen(times, self._training.batch)
        fix_class = class_of(one.kind, outcome.kind, seen.agrees)
        # Proven on top of others; what is written is its own edit, of the class that was seen.
        own = replace(outcome.change, edits=change.edits, kind=fix_class)
        self.outcomes[one] = outcome = replace(outcome, kind=fix_class, change=own)
        if outcome.why.startswith(_NOT_TRIED):
            self.refusals[one] = outcome.why.removeprefix(_NOT_TRIED)
        elif outcome.measured is None and not self.budget.left_s:
            self.refusals[one] = OUT_OF_TIME  # it was ended, and did not fail by itself
        elif outcome.measured is None:
            self.failures[one] = outcome.why
        elif times > 1 and outcome.unit == STEPS_ONLY:
            self.refusals[one] = NOT_COMPARED
        else:
            kind = VerdictKind.ACCEPTED if outcome.is_accepted else VerdictKind.NOT_DECIDED
            self.measured[one] = Measurement(
                gain=outcome.measured,
                verdict=Verdict(kind, is_open=False, why=outcome.why),
                cpu=seen.cpu,
                peak_bytes=seen.peak_bytes,
                more_bytes=seen.more_bytes,
                compile_s=seen.compile_s if one.setting.jit else None,
                step_s=self._training.step_s,
                loss=seen.loss,
                fix_class=outcome.kind.value,
            )

    def _claim(self, one: ChangeCandidate, change: Change) -> Claim:
        whole, below = change, {}
        if self._base:
            alone = Outcome(one.name, "", change, None, change.kind, None, "", False)
            joined = join_outcomes([*self._base, alone])
            whole = replace(joined, title=change.title, note=change.note)
            below = edited_files(join_outcomes(self._base), self._sources)
        return Claim(one.name, "", whole, None, edited_files(whole, self._sources), base=below)


SAME = FixClass.SAME_RESULTS
_CLASS_ORDER = (SAME, FixClass.EQUIVALENT, FixClass.MAY_CHANGE_RESULTS)
# The most that results can prove of a kind. Another batch or precision is never the same training;
# several steps per call are what they claim: a callback that acts at batch 1,000 shows in no trial.
_BEST_CLASS = {
    ChangeKind.XLA: FixClass.EQUIVALENT,
    ChangeKind.THREADS: FixClass.EQUIVALENT,
}


def agreement(
    first: Results, again: Results, edited: Results, epoch_steps: tuple[int, int]
) -> FixClass | None:
    """Return how well results agree with the original's; None where that is not certain.

    Args:
        first: of the original.
        again: of the original, a second time: where the two differ, nothing can be said.
        edited: of the script with a setting.
        epoch_steps: batches in the first epoch of the original and of the edited script.
    """
    if not again.losses and not again.weights:  # not needed where results are equal bit by bit
        return SAME if are_equal(first, edited) else None
    both = (epoch_steps[0], epoch_steps[0])
    if judge(first, first, again, claimed=SAME, epoch_steps=both).kind is not SAME:
        return None
    return judge(first, again, edited, claimed=SAME, epoch_steps=epoch_steps).kind


def class_of(kind: ChangeKind, judged: FixClass, agrees: FixClass | None) -> FixClass:
    """Return the class of a setting: what its results prove, where that is more than it claims.

    A setting claims little, because a claim that does not hold rejects it: XLA may draw other
    random numbers. Where its results agree with the original's, they are the better witness.
    """
    best = _BEST_CLASS.get(kind)
    if best is None or agrees is None or judged not in _CLASS_ORDER:
        return judged
    return min(judged, max(best, agrees, key=_CLASS_ORDER.index), key=_CLASS_ORDER.index)


@dataclass(frozen=True)
class SeenInTrials:
    """What was seen of a change and of the script without it; None is what was not seen.

    Args:
        peak_bytes: the most memory that the changed script held.
        more_bytes: how much more that is than without the change.
        cpu: CPU time of a sample, as a multiple of what it was.
        compile_s: how much longer the first step took.
        loss: after equally many samples.
        agrees: how well the results agree with the original's.
    """

    peak_bytes: int | None = None
    more_bytes: int | None = None
    cpu: float | None = None
    compile_s: float | None = None
    loss: LossChange | None = None
    agrees: FixClass | None = None


class TrialFolders:
    """The scratch folder of a prover, in which every trial leaves what it recorded.

    The first results are those of the original: a prover runs it before any change.
    """

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._known = self._all()

    def _all(self) -> set[Path]:
        # Beside the folder of a trial lies quickfit's copy of its recording.
        names = ("pairs*", "results*")
        return {f for name in names for f in self._scratch.glob(name) if f.suffix != ".qfrun"}

    def seen(self, times: int, batch: int | None) -> SeenInTrials:
        """Return what the trials since the last time say.

        Args:
            times: so many times as many examples in a step.
            batch: how many examples a step of the original has; None where it is not known.
        """
        new = self._all() - self._known
        self._known |= new
        pairs = [_pair(folder) for folder in sorted(new) if folder.name.startswith("pairs")]
        results = [folder for folder in new if folder.name.startswith("results")]
        found = _seen([p for p in pairs if p], times)
        return self._compared(found, max(results, key=_number), times, batch) if results else found

    def _compared(
        self, seen: SeenInTrials, folder: Path, times: int, batch: int | None
    ) -> SeenInTrials:
        """Add what the results of the edited script say beside those of the original."""
        original, again = self._scratch / "results1", self._scratch / "results2"
        first, edited = read_results(original), read_results(folder)
        steps = (_epoch_steps(original), _epoch_steps(folder))
        return replace(
            seen,
            loss=loss_of(first, edited, times, steps[0], batch),
            agrees=agreement(first, read_results(again), edited, steps),
        )


def _number(folder: Path) -> int:
    return int(folder.name.removeprefix("results"))


def _epoch_steps(folder: Path) -> int:
    progress = progress_of(_recording(folder))
    return int(progress.epoch_steps) if progress is not None else 0


def loss_of(
    first: Results, edited: Results, times: int, epoch_steps: int, batch: int | None
) -> LossChange | None:
    """Return the losses of two trials after equally many samples of the first epoch.

    `fit` says the mean over the epoch so far: where both have seen the same samples, that is the
    mean over the same samples.
    """
    if first.loss_channels != edited.loss_channels or batch is None or not first.losses:
        return None
    shared = [step for step in edited.losses if step * times in first.losses]
    shared = [step for step in shared if not epoch_steps or step * times <= epoch_steps]
    if not shared:
        return None
    step = max(shared)
    values = (first.losses[min(first.losses)], edited.losses[step], first.losses[step * times])
    before, after, unchanged = (_loss(value) for value in values)
    return LossChange(step * times * batch, before, after, unchanged)


def _loss(values: dict[str, float]) -> float:
    return values.get("loss", next(iter(values.values()), float("nan")))


Pair = tuple[Recording, Recording]


def _pair(folder: Path) -> Pair | None:
    """Return the recordings of the original and of the changed script."""
    both = [_recording(found) for who in (0, 1) for found in folder.glob(f"pair*-{who}")]
    if len(both) != 2 or both[0] is None or both[1] is None:
        return None
    return both[0], both[1]


def _recording(folder: Path) -> Recording | None:
    try:
        return read(folder / "run.qfrun")
    except RecordingError:
        return None


def _seen(pairs: Sequence[Pair], times: int) -> SeenInTrials:
    peaks = [(_peak_bytes(one), _peak_bytes(other)) for one, other in pairs]
    known = [(one, other) for one, other in peaks if one and other]
    compiling = [_first_s(other) - _first_s(one) for one, other in pairs]
    cpus = [(_batch_cpu_s(one), _batch_cpu_s(other)) for one, other in pairs]
    ratios = [other / one / times for one, other in cpus if one and other]
    return SeenInTrials(
        round(statistics.median(other for _, other in known)) if known else None,
        round(statistics.median(other - one for one, other in known)) if known else None,
        statistics.median(ratios) if ratios else None,
        # Both start at once: what is shortest was disturbed least.
        max(min(compiling), 0.0) if compiling else None,
    )


def _peak_bytes(recording: Recording) -> float:
    rows = [row.get("rss_bytes") or 0 for row in recording.main.rows("machine")]
    return float(max(rows, default=0))


def _first_s(recording: Recording) -> float:
    """Return how much longer the first step took than the usual one."""
    took = [_took_s(row) for row in recording.main.rows("steps")]
    return took[0] - statistics.median(took) if took else 0.0


def _took_s(row: dict[str, Any]) -> float:  # a recorded row
    return float(row["end_s"] - row["begin_s"])


def _batch_cpu_s(recording: Recording) -> float | None:
    """Return the CPU time of one batch; None where other processes work for it too."""
    progress = progress_of(recording)
    if progress is None or recording.others:
        return None
    marks = progress.warm_steps()
    rows = recording.main.rows("machine")
    inside = [row for row in rows if marks[0][0] <= row["at_s"] <= marks[-1][0]]
    if len(inside) < 2:
        return None
    done = _done_at(progress, inside[-1]["at_s"]) - _done_at(progress, inside[0]["at_s"])
    return float(inside[-1]["cpu_s"] - inside[0]["cpu_s"]) / done if done else None


def _done_at(progress: Progress, at_s: float) -> float:
    return max((done for end_s, done in progress.steps if end_s <= at_s), default=0.0)
