"""Settings that `quickfit fix --tune` tries after the causes, on top of their accepted fixes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from quickfit.code.edits import is_in_conflict
from quickfit.errors import SignalMissing
from quickfit.fixing.tuned_offer import Offer
from quickfit.fixing.tuned_offers import offers_of
from quickfit.fixing.tuned_rows import verdict_of
from quickfit.fixing.tuned_seen import TrialFolders
from quickfit.fixing.tuned_trials import Bench, Tried, best_of_each_kind, that_fit, try_all
from quickfit.fixing.tuned_watched import Watched, training_of
from quickfit.lab.budget import Budget
from quickfit.lab.proof import Prover
from quickfit.lab.verdict import Outcome
from quickfit.tuning.advice.result import ChangeKind

if TYPE_CHECKING:
    from quickfit.fixing.progress import Ticker
    from quickfit.fixing.story import Story

# What an edit of each kind says: a second one would say it twice.
WORDS = {
    ChangeKind.XLA: "jit_compile",
    ChangeKind.STEPS: "steps_per_execution",
    ChangeKind.BATCH: "batch_size=",
    ChangeKind.THREADS: "op_parallelism_threads",
    ChangeKind.PRECISION: "dtype_policy",
}


def prove_settings(
    story: Story, prover: Prover, budget: Budget, ticker: Ticker, scratch: Path
) -> None:
    """Prove settings on top of what was accepted; the story gets what came of each."""
    accepted = story.accepted
    watched = Watched(story.recording, story.sources.texts)
    offers = free_offers(_offers(watched), accepted)
    if not offers:
        return
    base, folders = tuple(accepted), TrialFolders(scratch)
    training = training_of(watched)
    bench = Bench(prover, budget, story.sources, folders, training, base)
    tried: list[Tried] = []
    try:
        try_all(offers, bench, lambda text: ticker.begin(f"settings, {text}"), tried)
    finally:
        story.outcomes += settled(tried, bench.training.epoch_steps)


def _offers(watched: Watched) -> list[Offer]:
    try:
        return offers_of(watched)
    except SignalMissing:
        return []  # a recording without a loop


def free_offers(offers: Sequence[Offer], accepted: Sequence[Outcome]) -> list[Offer]:
    """Return the offers that can be made beside changes that were accepted."""
    edits = [edit for outcome in accepted for edit in outcome.change.edits]
    found = []
    for offer in offers:
        change = offer.change
        is_said = any(WORDS[offer.kind] in edit.text for edit in edits)
        if change is not None and not is_said and not is_in_conflict(change.edits, edits):
            found.append(offer)
    return found


def settled(tried: Sequence[Tried], epoch_steps: int | None) -> list[Outcome]:
    """Return the outcomes of settings; of each kind the best one alone is accepted."""
    best = that_fit(best_of_each_kind(tried), epoch_steps)
    outcomes = []
    for one in tried:
        if one.outcome is None:
            continue
        outcome = one.outcome
        if outcome.is_accepted and one not in best:
            why = verdict_of(one)[1] or "another setting gains more"
            outcome = replace(outcome, is_accepted=False, why=why)
        outcomes.append(outcome)
    return outcomes


def unproven_settings(story: Story) -> list[Outcome]:
    """Return the first setting of each kind as a change that nobody has tried."""
    offers = _offers(Watched(story.recording, story.sources.texts))
    first = {offer.kind: offer for offer in reversed(offers) if offer.change is not None}
    return [
        Outcome(offer.name, "", change, None, change.kind, None, "", False, "not tried")
        for offer in offers
        if first.get(offer.kind) is offer and (change := offer.change) is not None
    ]
