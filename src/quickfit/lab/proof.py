"""Proves candidates within one budget: results compared first, then measured in turns.

Candidates that do not depend on each other share the runs of the original: in a round, one fresh
original takes turns with all of them.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from quickfit.findings import Change, FixClass, Gain
from quickfit.lab.budget import Budget
from quickfit.lab.results import Answer, Results, are_equal, judge, read_results
from quickfit.lab.script_pair import (
    PairResult,
    Scope,
    Setting,
    Version,
    measure_round,
    progress_of,
)
from quickfit.lab.script_trial import CUT_BY_BUDGET, MEMORY_SHARE, Trial, started
from quickfit.lab.statistics import Measured, interval
from quickfit.lab.verdict import Outcome, judge_gain
from quickfit.machine import free_memory_bytes

TIME_IS_UP = "not tried: the time is used up; give more with --budget"

RESULT_STEPS = 32
# Until a pair was measured: what one takes on two cores.
PAIR_S = 20.0
# An interval over pairs that were not measured in turns is this much wider.
ALONE = 2.0
_POLL_S = 0.1
# So often results are looked at that are still being written.
_LOOK_S = 1.0

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
        scope: what has to be compared to see the gain.
        base: the files as they are before it, where it is proven on top of other changes.
    """

    cause: str
    place: str
    change: Change
    predicted: Gain | None
    texts: Mapping[str, bytes]
    scope: Scope = Scope.STEPS
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
        # The first two folders of results are those of the original.
        self._trials = 2
        # The original, and the same a second time where that was needed.
        self._original: _Kept | None = None
        self._again: _Kept | None = None
        # What confined the trials, in a few words; empty before the first.
        self.confinement = ""
        if failure:
            self._original = self._again = _Kept(Results(), failure, 0, is_over=True)

    def prove(self, claim: Claim) -> Outcome:
        """Compare the results of a change with the original's, then measure it in pairs."""
        return self.prove_all([claim])[0]

    def prove_all(
        self,
        claims: Sequence[Claim],
        settled: Callable[[int, Outcome], None] = lambda number, outcome: None,
    ) -> list[Outcome]:
        """Prove changes that do not depend on each other; return what became of each, in order.

        Args:
            claims: the changes.
            settled: called with the number of each claim and its outcome, once that is known.
        """
        outcomes: dict[int, Outcome] = {}
        for group in self._groups(claims):
            for number, outcome in self._prove_group({n: claims[n] for n in group}):
                outcomes[number] = outcome
                settled(number, outcome)
        return [outcomes[number] for number in range(len(claims))]

    def _prove_group(self, claims: Mapping[int, Claim]) -> Iterator[tuple[int, Outcome]]:
        """Compare the results of some claims, then measure those that are left, in turns.

        Group by group: where the time does not reach for all, the first ones are proven whole.
        """
        judged: dict[int, tuple[Claim, Answer, float]] = {}
        for number, claim in claims.items():
            began_s = time.monotonic()
            outcome, answer = self._compare(claim)
            took_s = time.monotonic() - began_s
            if outcome is not None:
                yield number, replace(outcome, took_s=took_s)
            elif answer.kind is not None:
                own = replace(claim, change=replace(claim.change, kind=answer.kind))
                judged[number] = (own, answer, took_s)
        if judged:
            yield from self._measure(judged)

    def _groups(self, claims: Sequence[Claim]) -> list[list[int]]:
        """Return the claims that can be measured in one round each: same base, same scope."""
        groups: list[list[int]] = []
        for number, claim in enumerate(claims):
            for group in groups:
                other = claims[group[0]]
                is_alike = (other.scope, other.base) == (claim.scope, claim.base)
                if is_alike and len(group) < self._setting.together:
                    group.append(number)
                    break
            else:
                groups.append([number])
        return groups

    def _compare(self, claim: Claim) -> tuple[Outcome | None, Answer]:
        """Return what became of a claim, if its results settle that, and how they compare."""
        if not self._budget.has(2 * self._pair_s):
            return _rejected(claim, TIME_IS_UP), Answer(None, TIME_IS_UP)
        self._tell("comparing results")
        answer = self._compared(claim)
        if answer.kind is None:
            return _rejected(claim, answer.text), answer
        is_repaired = self._original is not None and bool(self._original.failure)
        if answer.kind == FixClass.REPAIRS and is_repaired:
            own = replace(claim, change=replace(claim.change, kind=answer.kind))
            return _outcome(own, None, answer.text, ""), answer
        return None, answer

    def _compared(self, claim: Claim) -> Answer:
        if self._original is None:
            self._original, edited = self._keep([{}, claim.texts])
        else:
            (edited,) = self._keep([claim.texts])
        first = self._original
        if claim.change.kind == FixClass.REPAIRS and first.failure:
            return _repaired(first, edited)
        if edited.failure:
            return Answer(None, f"the edited script {edited.failure}")
        if first.failure and claim.change.kind != FixClass.REPAIRS:
            return Answer(None, f"the original {first.failure}")
        # Results that are equal bit by bit are so without a second run of the original.
        is_equal = are_equal(first.results, edited.results)
        if not is_equal and claim.change.kind != FixClass.REPAIRS:
            first = self._compared_with_itself(first)
            failure = first.failure or (self._again.failure if self._again else "")
            if failure:
                # Its results are incomplete and say nothing; the next claim tries once more.
                self._again = None
                self._original = None if first.failure else self._original
                if first.failure or claim.change.kind != FixClass.MAY_CHANGE_RESULTS:
                    return Answer(None, f"the original, run once more, {failure}")
        return judge(
            first.results,
            (self._again or first).results,
            edited.results,
            claimed=claim.change.kind,
            epoch_steps=(first.epoch_steps, edited.epoch_steps),
        )

    def _compared_with_itself(self, first: _Kept) -> _Kept:
        """Return the original's results, in full and with a second run of it to compare with."""
        if first.is_cut:
            first, self._again = self._keep([{}, {}], cuts=False)
            self._original = first
        elif self._again is None:
            (self._again,) = self._keep([{}])
        return first

    def _keep(self, versions: Sequence[Mapping[str, bytes]], *, cuts: bool = True) -> list[_Kept]:
        """Run one or two versions at once, not timed; return what each kept of its results.

        Args:
            versions: edited files of each; none for the original.
            cuts: end both once their first steps are equal.
        """
        originals = 0 if self._original is None or not cuts else 1
        with contextlib.ExitStack() as stack:
            trials = []
            for texts in versions:
                if texts:
                    self._trials += 1
                else:
                    originals += 1
                folder = self._setting.folder / f"results{self._trials if texts else originals}"
                shutil.rmtree(folder, ignore_errors=True)  # an original that was cut
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
            self._wait(trials, cuts=cuts and len(trials) == 2)
            self.confinement = trials[0].confinement
            return [_kept(trial) for trial in trials]

    def _wait(self, trials: Sequence[Trial], *, cuts: bool) -> None:
        limit = MEMORY_SHARE * free_memory_bytes()
        patience_s = self._setting.patience_s + 60.0
        looked_s = time.monotonic()
        deadline_s = min(looked_s + patience_s, self._budget.deadline_s)
        why = f"did not come to an end of its first steps within {patience_s:.0f} s"
        if self._budget.deadline_s < looked_s + patience_s:
            why = CUT_BY_BUDGET
        while running := [trial for trial in trials if not trial.has_ended]:
            now_s = time.monotonic()
            if now_s > deadline_s:
                for trial in running:
                    trial.end(why)
            if cuts and now_s - looked_s > _LOOK_S:
                looked_s = now_s
                self._end_equal(trials)
            for trial in running:
                trial.check_memory(limit)
            time.sleep(_POLL_S)

    def _end_equal(self, trials: Sequence[Trial]) -> None:
        """End two trials whose first steps are equal bit by bit: more of them add nothing."""
        first, second = (read_results(trial.scratch) for trial in trials)
        steps = min(first.last_step, second.last_step)
        if steps >= RESULT_STEPS and are_equal(first, second) and not _has_failed(trials):
            for trial in trials:
                trial.end_well()

    def _measure(
        self, judged: Mapping[int, tuple[Claim, Answer, float]]
    ) -> Iterator[tuple[int, Outcome]]:
        """Measure claims of the same base and scope in rounds; yield each once it is decided."""
        first = next(iter(judged.values()))[0]
        setting = replace(self._setting, scope=first.scope)
        widened = 1.0 if setting.in_turns else ALONE
        ratios: dict[int, list[float]] = {number: [] for number in judged}
        took_s = {number: took_s for number, (_, _, took_s) in judged.items()}
        still = list(judged)
        rounds = 0
        while still:
            if not rounds and not self._budget.has(self._pair_s):
                for number in still:
                    claim, answer, _ = judged[number]
                    # That it trains again is seen; how fast is not.
                    why = "" if claim.change.kind == FixClass.REPAIRS else TIME_IS_UP
                    yield (
                        number,
                        replace(_outcome(claim, None, answer.text, why), took_s=took_s[number]),
                    )
                return
            rounds += 1
            found = self._measured_round(rounds, first, [judged[n][0] for n in still], setting)
            round_s = found[0].took_s
            # A round has one trial per claim, and the original.
            self._pair_s = 2 * round_s / (len(still) + 1)
            has_time = self._budget.has(1.1 * round_s)
            for number, result in zip(list(still), found, strict=True):
                ratios[number] += [result.ratio] if result.ratio is not None else []
                took_s[number] += result.took_s / len(found)
                is_open = judge_gain(ratios[number], widened=widened).is_open
                if result.ratio is not None and is_open and has_time:
                    continue
                still.remove(number)
                claim, answer, _ = judged[number]
                outcome = _measured_outcome(claim, answer, result, ratios[number], widened)
                yield number, replace(outcome, took_s=took_s[number])

    def _measured_round(
        self, number: int, first: Claim, claims: Sequence[Claim], setting: Setting
    ) -> list[PairResult]:
        self._trials += 1
        tell = _numbered(self._tell, number)
        tell("starting both" if len(claims) == 1 else f"starting all {len(claims) + 1}")
        edited = (Version("the edited script", claim.texts) for claim in claims)
        return measure_round(
            (Version("the original", first.base), *edited),
            replace(setting, folder=setting.folder / f"pairs{self._trials}"),
            number=number,
            deadline_s=self._budget.deadline_s,
            tell=tell,
        )


def _has_failed(trials: Sequence[Trial]) -> bool:
    return any(trial.failure() for trial in trials)


def _measured_outcome(
    claim: Claim, answer: Answer, last: PairResult, ratios: Sequence[float], widened: float
) -> Outcome:
    is_repair = claim.change.kind == FixClass.REPAIRS
    if not ratios:
        is_fine = is_repair and not last.is_fault_of_second
        why = "" if is_fine else last.why or "could not be measured"
        return _outcome(claim, None, answer.text, why)
    why = last.why if last.ratio is None else judge_gain(ratios, widened=widened).why
    found = interval(ratios, widened=widened)
    return _outcome(claim, found, answer.text, "" if is_repair else why, unit=last.unit)


@dataclass(frozen=True)
class _Kept:
    results: Results
    failure: str
    epoch_steps: int
    is_over: bool = False
    is_cut: bool = False


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
    if (
        progress is not None
        and not steps
        and trial.has_ended
        and not (trial.failure() or trial.is_enough)
    ):
        steps = len(progress.steps)
    results = read_results(trial.scratch)
    return _Kept(results, trial.failure(), steps, trial.has_ended, trial.is_enough)


def _numbered(tell: Tell, number: int) -> Tell:
    return lambda text: tell(f"pair {number}, {text}")


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
