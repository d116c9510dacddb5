"""Proves the settings of a script one by one, the best of each kind, and those together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from quickfit import units
from quickfit.code.edits import is_in_conflict
from quickfit.findings import MIN_GAIN, Change, FixClass
from quickfit.fixing.sources import Sources
from quickfit.fixing.story import edited, joined
from quickfit.fixing.tuned_class import class_of
from quickfit.fixing.tuned_offer import Offer
from quickfit.fixing.tuned_seen import Seen, TrialFolders
from quickfit.lab.budget import Budget
from quickfit.lab.proof import Claim, Prover
from quickfit.lab.verdict import Outcome
from quickfit.tuning.advice.result import ChangeKind

# Without parts of epochs to go by, a step of more examples is compared with one of fewer.
STEPS_ONLY = "steps"

OUT_OF_TIME = "not tried: the time is used up; give more with --budget"
INTERRUPTED = "interrupted"
LATE = "the time left is for the best ones together; give more with --budget"


@dataclass(frozen=True)
class Tried:
    """What came of one offer.

    Args:
        offer: what was offered.
        outcome: of its proof; None where it was not tried.
        seen: what its trials say beside the speed.
        why: why it was not tried, or is not to be had in spite of its proof.
    """

    offer: Offer
    outcome: Outcome | None = None
    seen: Seen = field(default_factory=Seen)
    why: str = ""

    @property
    def mean(self) -> float:
        """How many times faster it is; 0 where nobody knows."""
        measured = self.outcome.measured if self.outcome is not None else None
        return measured.mean if measured is not None else 0.0

    @property
    def is_compared(self) -> bool:
        """Whether the same number of samples was compared."""
        return self.offer.times == 1 or self.outcome is None or self.outcome.unit != STEPS_ONLY

    @property
    def is_worth_having(self) -> bool:
        """Whether it is faster, learns as well, and nothing else speaks against it."""
        is_worse = self.seen.loss is not None and self.seen.loss.is_worse
        is_accepted = self.outcome is not None and self.outcome.is_accepted
        return is_accepted and self.is_compared and not is_worse and not self.why


@dataclass(frozen=True)
class Training:
    """The training as it is; None is what nobody knows.

    Args:
        batch: examples in a step.
        batch_s: the time of a step.
        epoch_steps: steps in an epoch.
        steps_left: steps that are still to be trained.
    """

    batch: int | None = None
    batch_s: float | None = None
    epoch_steps: int | None = None
    steps_left: int | None = None


@dataclass(frozen=True)
class Bench:
    """What all trials of settings have in common.

    Args:
        prover: proves changes within one budget.
        budget: the same, for the time that the best ones together will need.
        sources: the user's files.
        folders: where the prover's trials leave what they recorded.
        training: as it is.
        base: changes that were accepted before; settings are proven on top of them.
    """

    prover: Prover
    budget: Budget
    sources: Sources
    folders: TrialFolders
    training: Training = field(default_factory=Training)
    base: tuple[Outcome, ...] = ()

    def tried(self, offer: Offer, change: Change) -> Tried:
        """Prove one change."""
        outcome = self.prover.prove(self._claim(offer, change))
        seen = self.folders.seen(offer.times, self.training.batch)
        kind = class_of(offer.kind, outcome.kind, seen.agrees)
        own = replace(outcome, kind=kind, change=_of_class(outcome.change, change, kind))
        if own.measured is None and not self.budget.left_s:
            own = replace(own, why=OUT_OF_TIME)  # it was ended, and did not fail by itself
        found = Tried(offer, own, seen)
        return replace(found, why=self._does_not_pay(found))

    def _does_not_pay(self, tried: Tried) -> str:
        """Return why compiling takes longer than it saves; nothing where it pays."""
        steps, left = pays_after(tried, self.training), self.training.steps_left
        if steps is None or left is None or steps <= left:
            return ""
        return f"it pays after {units.count(steps)} steps, and you have {units.count(left)} left"

    def _claim(self, offer: Offer, change: Change) -> Claim:
        whole, below = change, {}
        if self.base:
            alone = Outcome(offer.name, "", change, None, change.kind, None, "", False)
            whole = replace(joined([*self.base, alone]), title=change.title, note=change.note)
            below = edited(joined(list(self.base)), self.sources)
        return Claim(offer.name, "", whole, None, edited(whole, self.sources), base=below)


def _of_class(proven: Change, own: Change, kind: FixClass) -> Change:
    """Return a change that was proven with its own edits only, and of its class."""
    return replace(proven, edits=own.edits, kind=kind)


def pays_after(tried: Tried, training: Training) -> int | None:
    """Return how many steps of the training as it is make up for compiling with XLA.

    None is what nobody knows, and 0 of what is not compiled longer.
    """
    if tried.mean <= 1.0 or training.batch_s is None:
        return None
    compile_s = tried.seen.compile_s if "jit" in tried.offer.setting else 0.0
    if compile_s is None:
        return None
    return math.ceil(compile_s / (training.batch_s * (1 - 1 / tried.mean)))


def best_of_each_kind(tried: Sequence[Tried]) -> list[Tried]:
    """Return the fastest of each kind that is worth having, in the order of trying."""
    best: dict[ChangeKind, Tried] = {}
    for one in tried:
        if one.is_worth_having and one.mean > getattr(best.get(one.offer.kind), "mean", 0.0):
            best[one.offer.kind] = one
    return [one for one in tried if best.get(one.offer.kind) is one]


def why_not(offer: Offer, tried: Sequence[Tried]) -> str:
    """Return why an offer needs no trial after what was tried; nothing where it does."""
    same = [one for one in tried if one.offer.kind is offer.kind and one.mean]
    if not same:
        return ""
    last = same[-1]
    name = last.offer.name
    if offer.kind is ChangeKind.STEPS:
        if last.is_worth_having:
            return f"{name}, which saves more calls, gains already"
        return f"{name} gain nothing, and fewer gain less" if last.mean < MIN_GAIN else ""
    if offer.kind is ChangeKind.BATCH:
        if last.seen.loss is not None and last.seen.loss.is_worse:
            return f"{name} learns less from the same examples already"
        return f"{name} is no faster" if last.mean < 1.0 and last.is_compared else ""
    return ""


def try_all(
    offers: Sequence[Offer],
    bench: Bench,
    begin: Callable[[str], None],
    tried: list[Tried],
) -> None:
    """Try every offer that can be tried; `tried` grows, so that it holds what is known.

    Args:
        offers: in the order of trying.
        bench: what all trials have in common.
        begin: called with what is tried next.
        tried: gets what came of each.

    Raises:
        KeyboardInterrupt: it was interrupted; `tried` says so of what was not tried.
    """
    before = len(tried)
    try:
        _try_each(offers, bench, begin, tried)
    except KeyboardInterrupt:
        rest = offers[len(tried) - before :]
        tried += [Tried(offer, why=offer.why or INTERRUPTED) for offer in rest]
        raise


def _try_each(
    offers: Sequence[Offer], bench: Bench, begin: Callable[[str], None], tried: list[Tried]
) -> None:
    count = sum(offer.change is not None for offer in offers)
    number = 0
    for offer in offers:
        change = offer.change
        if change is None:
            tried.append(Tried(offer, why=offer.why))
            continue
        number += 1
        begin(f"{number} of {count}: {offer.name}")
        why = why_not(offer, tried) or _is_late(bench, tried)
        tried.append(Tried(offer, why=why) if why else bench.tried(offer, change))


def _is_late(bench: Bench, tried: Sequence[Tried]) -> str:
    """Return why nothing more is tried: the best ones are proven together in the time left."""
    if len(best_of_each_kind(tried)) < 2:
        return ""
    took = [one.outcome.took_s for one in tried if one.outcome is not None]
    return "" if bench.budget.has(2 * max(took)) else LATE


def that_fit(best: Sequence[Tried], epoch_steps: int | None) -> list[Tried]:
    """Return what can be had together, the fastest first of all: the others give way to it."""
    kept: list[Tried] = []
    for one in sorted(best, key=lambda one: -one.mean):
        change = one.outcome.change if one.outcome is not None else None
        edits = [e for other in kept if other.outcome for e in other.outcome.change.edits]
        if change is None or is_in_conflict(change.edits, edits):
            continue
        if _fits_an_epoch([*kept, one], epoch_steps):
            kept.append(one)
    return [one for one in best if one in kept]


def _fits_an_epoch(tried: Sequence[Tried], epoch_steps: int | None) -> bool:
    """Tell whether an epoch of larger batches still has as many steps as one call takes."""
    if epoch_steps is None:
        return True
    per_call = max(int(one.offer.setting.get("steps_per_execution", 1)) for one in tried)
    return epoch_steps // max(one.offer.times for one in tried) >= per_call


def try_together(best: Sequence[Tried], bench: Bench, begin: Callable[[str], None]) -> Tried | None:
    """Try the best of each kind as one; None where there is only one."""
    outcomes = [one.outcome for one in best if one.outcome is not None]
    if len(outcomes) < 2:
        return None
    begin(f"{len(outcomes)} of them together")
    setting = {name: value for one in best for name, value in one.offer.setting.items()}
    times = max(one.offer.times for one in best)
    name = " + ".join(one.offer.name for one in best)
    change = _together(outcomes)
    return bench.tried(Offer(ChangeKind.TOGETHER, name, setting, change, times), change)


def _together(outcomes: list[Outcome]) -> Change:
    """Return several changes as one; rounding of one may grow in many steps of another's call."""
    change = joined(outcomes)
    if change.kind is FixClass.EQUIVALENT:
        return replace(change, kind=FixClass.MAY_CHANGE_RESULTS)
    return change


def chosen(best: Sequence[Tried], together: Tried | None) -> list[Tried]:
    """Return what is advised: all of the best where that is faster than the best one alone."""
    if not best:
        return []
    first = max(best, key=lambda one: one.mean)
    if together is not None and together.is_worth_having and together.mean > first.mean:
        return list(best)
    return [first]
