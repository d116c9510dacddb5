"""Proves candidates one by one within one budget, and then all accepted ones together."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from quickfit.capacity import free_memory_bytes
from quickfit.findings import MIN_GAIN, Change, FixClass, Gain
from quickfit.lab.budget import Budget
from quickfit.lab.results import Answer, Results, judge, read_results
from quickfit.lab.script_pair import PairResult, Setting, Version, measure_pair, progress_of
from quickfit.lab.script_trial import MEMORY_SHARE, Trial, started
from quickfit.lab.statistics import Measured, interval
from quickfit.lab.verdict import Outcome

PAIRS, MOST_PAIRS = 3, 6
RESULT_STEPS = 32
# Until a pair was measured: what one takes on two cores.
PAIR_S = 20.0
# An interval over pairs that were not measured in turns is this much wider.
ALONE = 2.0
_POLL_S = 0.1

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Claim:
    """A change to be proven, and what is claimed of it.

    Args:
        cause: what it is to remove.
        place: the line of the finding.
        change: what it does.
        predicted: the gain that was foretold.
        texts: the files as they become.
        counts_start: the time before the first step counts.
        base: the files as they are before it, where it is proven on top of other changes.
    """

    cause: str
    place: str
    change: Change
    predicted: Gain | None
    texts: Mapping[str, bytes]
    counts_start: bool = False
    base: Mapping[str, bytes] = field(default_factory=dict)


class Prover:
    """Proves changes of one script.

    Args:
        setting: what all trials have in common.
        budget: the time for all of them.
        tell: called with what is being done, often.
        failure: why the original makes no step, where that is known already.
    """

    def __init__(
        self,
        setting: Setting,
        budget: Budget,
        tell: Tell = lambda text: None,
        *,
        failure: str = "",
    ) -> None:
        self._setting = setting
        self._budget = budget
        self._tell = tell
        self._pair_s = PAIR_S
        self._trials = 0
        self._originals: tuple[_Kept, _Kept] | None = None
        # What confined the trials, in a few words; empty before the first.
        self.confinement = ""
        if failure:
            nothing = _Kept(Results(), failure, 0, is_over=True)
            self._originals = (nothing, nothing)

    def prove(self, claim: Claim) -> Outcome:
        """Compare the results of a change with the original's, then measure it in pairs."""
        began_s = time.monotonic()
        found = self._prove(claim)
        return replace(found, took_s=time.monotonic() - began_s)

    def _prove(self, claim: Claim) -> Outcome:
        if not self._budget.has(2 * self._pair_s):
            return _rejected(claim, "not tried: the time is used up; give more with --budget")
        self._tell("comparing results")
        answer = self._compared(claim)
        if answer.kind is None:
            return _rejected(claim, answer.text)
        claim = replace(claim, change=replace(claim.change, kind=answer.kind))
        first = self._originals[0] if self._originals else None
        if claim.change.kind == FixClass.REPAIRS and first is not None and first.failure:
            return _outcome(claim, None, answer.text, "")
        return self._measured(claim, answer)

    def _compared(self, claim: Claim) -> Answer:
        if self._originals is None:
            first, again, edited = self._keep([{}, {}, claim.texts])
            self._originals = (first, again)
        else:
            (edited,) = self._keep([claim.texts])
            first, again = self._originals
        if claim.change.kind == FixClass.REPAIRS and first.failure:
            return _repaired(first, edited)
        if edited.failure:
            return Answer(None, f"the edited script {edited.failure}")
        if first.failure and claim.change.kind != FixClass.REPAIRS:
            return Answer(None, f"the original {first.failure}")
        steps = (first.epoch_steps, edited.epoch_steps)
        return judge(
            first.results,
            again.results,
            edited.results,
            claimed=claim.change.kind,
            epoch_steps=steps,
        )

    def _keep(self, versions: Sequence[Mapping[str, bytes]]) -> list[_Kept]:
        """Run versions at once, not timed, and return what each kept of its results."""
        kept = []
        # Two at a time: a third one would only wait for a core.
        for begin in range(0, len(versions), 2):
            kept += self._keep_two(versions[begin : begin + 2])
        return kept

    def _keep_two(self, versions: Sequence[Mapping[str, bytes]]) -> list[_Kept]:
        import contextlib

        with contextlib.ExitStack() as stack:
            trials = []
            for texts in versions:
                self._trials += 1
                folder = self._setting.folder / f"results{self._trials}"
                trials.append(
                    stack.enter_context(
                        started(
                            self._setting.target,
                            folder,
                            cwd=self._setting.cwd,
                            texts=texts,
                            results_steps=RESULT_STEPS,
                            trusts_script=self._setting.trusts_script,
                        )
                    )
                )
            self._wait(trials)
            self.confinement = trials[0].confinement
            return [_kept(trial) for trial in trials]

    def _wait(self, trials: Sequence[Trial]) -> None:
        limit = MEMORY_SHARE * free_memory_bytes()
        patience_s = self._setting.patience_s + 60.0
        deadline_s = min(time.monotonic() + patience_s, self._budget.deadline_s)
        while running := [trial for trial in trials if not trial.has_ended]:
            if time.monotonic() > deadline_s:
                for trial in running:
                    trial.end(
                        f"did not come to an end of its first steps within {patience_s:.0f} s"
                    )
            for trial in running:
                trial.check_memory(limit)
            time.sleep(_POLL_S)

    def _measured(self, claim: Claim, answer: Answer) -> Outcome:
        setting = replace(self._setting, counts_start=claim.counts_start)
        before = Version("the original", claim.base)
        edited = Version("the edited script", claim.texts)
        ratios: list[float] = []
        last = PairResult(None)
        while _is_open(ratios, last) and (not ratios or self._budget.has(1.1 * self._pair_s)):
            self._trials += 1
            number = len(ratios) + 1
            tell = _numbered(self._tell, number)
            tell("starting both")
            last = measure_pair(
                (before, edited),
                replace(setting, folder=setting.folder / f"pairs{self._trials}"),
                number=number,
                deadline_s=self._budget.deadline_s,
                tell=tell,
            )
            if last.ratio is None:
                break
            ratios.append(last.ratio)
            self._pair_s = last.took_s
        if not ratios:
            return _unmeasured(claim, answer, last)
        found = interval(ratios, widened=1.0 if setting.in_turns else ALONE)
        why = _why_not(found, last) if claim.change.kind != FixClass.REPAIRS else ""
        return _outcome(claim, found, answer.text, why, unit=last.unit)


@dataclass(frozen=True)
class _Kept:
    results: Results
    failure: str
    epoch_steps: int
    is_over: bool = False


# What Python and TensorFlow say of a file that is not there.
_MISSING = re.compile(r"FileNotFoundError|NotFoundError|No such file or directory")


def _repaired(first: _Kept, edited: _Kept) -> Answer:
    """Return whether a script without a step is repaired: it trains, ends, or says what lacks."""
    if edited.failure:
        is_named = _MISSING.search(edited.failure) and edited.failure != first.failure
        if is_named:
            return Answer(FixClass.REPAIRS, f"it says at once what is missing: {edited.failure}")
        return Answer(None, f"the edited script {edited.failure}")
    found = judge(
        first.results, first.results, edited.results, claimed=FixClass.REPAIRS, epoch_steps=(0, 0)
    )
    if found.kind is None and edited.is_over and not edited.epoch_steps:
        return Answer(FixClass.REPAIRS, "it runs to its end")
    return found


def _kept(trial: Trial) -> _Kept:
    progress = progress_of(trial.read())
    steps = int(progress.epoch_steps) if progress is not None else 0
    if progress is not None and not steps and trial.has_ended and not trial.failure():
        steps = len(progress.steps)
    return _Kept(read_results(trial.scratch), trial.failure(), steps, trial.has_ended)


def _numbered(tell: Tell, number: int) -> Tell:
    return lambda text: tell(f"pair {number} of {max(number, PAIRS)}, {text}")


def _is_open(ratios: Sequence[float], last: PairResult) -> bool:
    """Tell whether another pair may change the answer."""
    if len(ratios) < 2:
        return True
    found = interval(ratios)
    if len(ratios) < PAIRS:
        return found.mean > 1.0  # two pairs that are no faster: a third will not make it so
    return len(ratios) < MOST_PAIRS and found.low < MIN_GAIN < found.mean


def _why_not(found: Measured, last: PairResult) -> str:
    if last.ratio is None:
        return last.why
    if found.low >= MIN_GAIN and found.pairs >= PAIRS:
        return ""
    if found.mean < MIN_GAIN:
        return f"gains less than {MIN_GAIN:g}×"
    if found.pairs < PAIRS:
        return f"the time was used up after {found.pairs} of {PAIRS} pairs; give more with --budget"
    return f"inconclusive: it may gain less than {MIN_GAIN:g}×; a quieter machine would tell"


def _unmeasured(claim: Claim, answer: Answer, last: PairResult) -> Outcome:
    if claim.change.kind == FixClass.REPAIRS and not last.is_fault_of_second:
        return _outcome(claim, None, answer.text, "")
    return _outcome(claim, None, answer.text, last.why or "could not be measured")


def _rejected(claim: Claim, why: str) -> Outcome:
    return _outcome(claim, None, "", why)


def _outcome(
    claim: Claim, measured: Measured | None, results: str, why: str, *, unit: str = ""
) -> Outcome:
    return Outcome(
        claim.cause,
        claim.place,
        claim.change,
        claim.predicted,
        claim.change.kind,
        measured,
        results,
        not why,
        why,
        unit,
    )
