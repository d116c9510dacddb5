"""`quickfit tune train.py`: settings as edits of the script, proven and written like fixes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TextIO

from quickfit.errors import FixError, SignalMissing
from quickfit.fixing.progress import Ticker
from quickfit.fixing.story import Request, Story, begun, scratch_folder, setting_of
from quickfit.fixing.tuned_offer import Offer
from quickfit.fixing.tuned_offers import offers_of
from quickfit.fixing.tuned_seen import TrialFolders
from quickfit.fixing.tuned_trials import (
    Bench,
    Training,
    Tried,
    best_of_each_kind,
    chosen,
    that_fit,
    try_all,
    try_together,
)
from quickfit.fixing.tuned_watched import Watched, training_of
from quickfit.fixing.write import Asked, settle
from quickfit.launch.target import Target
from quickfit.proof.budget import Budget
from quickfit.proof.observe import Observed
from quickfit.proof.prove import Prover
from quickfit.report.to_terminal import wants_color
from quickfit.tuning.advice.rows import Kind

# The proof of one setting takes about a minute on two cores, and there are half a dozen.
BUDGET_S = 600.0


@dataclass(frozen=True)
class TuneRequest:
    """What is asked for.

    Args:
        target: the script and its arguments.
        budget_s: the time for all trials; the script is watched before that.
        tries: kinds of settings that are tried although the machine speaks against them.
        only: the kinds that are tried; none for all.
        steps_left: how many steps are still to be trained; None for what the script says.
        as_json: print what was found as JSON.
    """

    target: Target
    budget_s: float = BUDGET_S
    tries: frozenset[str] = frozenset()
    only: frozenset[str] = frozenset()
    steps_left: int | None = None
    as_json: bool = False


@dataclass
class Tuned:
    """What is known so far.

    Args:
        story: the script as it was watched; its outcomes are what is advised.
        watched: the places where its settings are made.
        training: as it is.
        tried: what came of each setting.
        together: what came of the best ones as one.
    """

    story: Story
    watched: Watched
    training: Training
    tried: list[Tried] = field(default_factory=list)
    together: Tried | None = None

    @property
    def advised(self) -> list[Tried]:
        """What is worth having: together, or the best one alone."""
        return chosen(self.best, self.together)

    @property
    def best(self) -> list[Tried]:
        """The best of each kind, where they can be had together."""
        return that_fit(best_of_each_kind(self.tried), self.training.epoch_steps)


def tune(request: TuneRequest, asked: Asked, *, out: TextIO, err: TextIO) -> int:
    """Try settings of a script one by one and combined; show them, keep and write what is proven.

    Raises:
        FixError: the script cannot be tried, or a file cannot be written.
        UsageError: there is no such script.
        KeyboardInterrupt: it was interrupted; what is known was shown.
    """
    from quickfit.fixing.tuned_text import as_json, write_tuned

    tuned = found(request, err)
    tuned.story.outcomes = [one.outcome for one in tuned.advised if one.outcome is not None]
    shown = err if asked.prints_patch or request.as_json else out
    if request.as_json:
        out.write(json.dumps(as_json(tuned), indent=2) + "\n")
    else:
        write_tuned(tuned, shown, color=wants_color(shown))
    settle(tuned.story, asked, out=shown if request.as_json else out, err=err)
    return 0


def found(request: TuneRequest, err: TextIO) -> Tuned:
    """Watch a script and try its settings; a Ctrl-C ends it with what is known by then.

    Raises:
        FixError: the script cannot be tried.
        UsageError: there is no such script.
    """
    with scratch_folder() as scratch:
        story, seen = begun(Request(request.target), scratch, Ticker(err))
        if seen.failure:
            raise _untunable(story, seen)
        tuned, offers = _looked_at(request, story)
        budget = Budget(request.budget_s)
        ticker = Ticker(err, lambda: budget.left_s)
        prover = Prover(setting_of(story, scratch, seen.first_s), budget, ticker.tell)
        bench = Bench(prover, budget, story.sources, TrialFolders(scratch), tuned.training)
        try:
            _try(tuned, offers, bench, ticker)
        except KeyboardInterrupt:
            story.is_interrupted = True
        finally:
            ticker.clear()
        return tuned


def _untunable(story: Story, seen: Observed) -> FixError:
    name = story.target.name
    return FixError(
        f"{name}: {seen.failure}\nThere is no training to tune. To see what it does:\n"
        f"    quickfit run {name}"
    )


def _looked_at(request: TuneRequest, story: Story) -> tuple[Tuned, list[Offer]]:
    """Return what is known before any trial, and what can be tried."""
    watched = Watched(story.recording, story.sources.texts)
    try:
        offers = offers_of(watched, request.tries)
        tuned = Tuned(story, watched, training_of(watched, request.steps_left))
    except SignalMissing as missing:
        raise FixError(
            f"{story.target.name}: cannot be tuned, because quickfit needs {missing.needs}.\n"
            f"To see what it does:\n    quickfit run {story.target.name}"
        ) from missing
    kinds = request.only | request.tries if request.only else {kind.value for kind in Kind}
    return tuned, [offer for offer in offers if offer.kind.value in kinds]


def _try(tuned: Tuned, offers: list[Offer], bench: Bench, ticker: Ticker) -> None:
    try_all(offers, bench, ticker.begin, tuned.tried)
    tuned.together = try_together(tuned.best, bench, ticker.begin)
