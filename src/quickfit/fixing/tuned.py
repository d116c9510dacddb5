"""`quickfit tune train.py`: settings as edits of the script, proven and written like fixes."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TextIO

from quickfit import terminal
from quickfit.errors import FixError, SignalMissing
from quickfit.fixing.commands import words_of
from quickfit.fixing.progress import Ticker
from quickfit.fixing.story import Request, Story, begun, setting_of
from quickfit.fixing.tuned_budget import Pace, Watching, check_budget, check_least
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
from quickfit.lab.budget import Budget
from quickfit.lab.observe import Observed
from quickfit.lab.proof import Prover
from quickfit.launch.target import Target
from quickfit.terminal import wants_color
from quickfit.tuning.advice.result import ChangeKind
from quickfit.tuning.trials.trial import scratch_folder

# The proof of one setting takes about a minute on two cores, and there are half a dozen.
BUDGET_S = 600.0
# How the error about a script that cannot be tried safely goes on: about fixes.
OF_FIXES = "\nThere is nothing to prove a fix on."


@dataclass(frozen=True)
class TuneRequest:
    """What is asked for.

    Args:
        target: the script and its arguments.
        budget_s: the time for everything: the script is watched, and settings are tried.
        tries: kinds of settings that are tried although the machine speaks against them.
        only: the kinds that are tried; none for all.
        steps_left: how many steps are still to be trained; None for what the script says.
        as_json: print what was found as JSON.
        trusts_script: it is tried also where only Python guards the user's files.
    """

    target: Target
    budget_s: float = BUDGET_S
    tries: frozenset[str] = frozenset()
    only: frozenset[str] = frozenset()
    steps_left: int | None = None
    as_json: bool = False
    trusts_script: bool = False


@dataclass
class Tuned:
    """What is known so far.

    Args:
        story: the script as it was watched; its outcomes are what is advised.
        watched: the places where its settings are made.
        training: as it is.
        tried: what came of each setting.
        together: what came of the best ones as one.
        budget_s: the time that there was for everything.
        took_s: the time that everything took.
    """

    story: Story
    watched: Watched
    training: Training
    tried: list[Tried] = field(default_factory=list)
    together: Tried | None = None
    budget_s: float = BUDGET_S
    took_s: float = 0.0

    @property
    def all_tried(self) -> list[Tried]:
        """Every setting, and the best ones together last."""
        return [*self.tried, *([self.together] if self.together is not None else [])]

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
        UsageError: there is no such script, or what is asked for makes no sense together.
        KeyboardInterrupt: it was interrupted; what is known was shown.
    """
    from quickfit.fixing.tuned_json import as_json
    from quickfit.fixing.tuned_text import write_tuned

    asked.check("tune", as_json=request.as_json)
    asked.say_limits(err)
    tuned = found(request, err)
    tuned.story.outcomes = [one.outcome for one in tuned.advised if one.outcome is not None]
    shown = err if asked.prints_patch or request.as_json else out
    if request.as_json:
        terminal.write(out, json.dumps(as_json(tuned), indent=2) + "\n")
    else:
        write_tuned(tuned, shown, color=wants_color(shown))
    settle(tuned.story, asked, out=shown if request.as_json else out)
    return 0


def found(request: TuneRequest, err: TextIO) -> Tuned:
    """Watch a script and try its settings; a Ctrl-C ends it with what is known by then.

    Raises:
        FixError: the script cannot be tried.
        UsageError: there is no such script, or the budget is too small for it.
    """
    check_least(request.target, request.budget_s)
    began_s, budget = time.monotonic(), Budget(request.budget_s)
    with scratch_folder("quickfit-fix-") as scratch:
        story, seen = _watched(request, scratch, Watching(err, request.target, budget))
        if seen.failure:
            raise _untunable(story.target, f"{story.target.name}: {seen.failure}")
        tuned, offers = _looked_at(request, story)
        pace = Pace(seen.first_s, tuned.training.batch_s or 0.0)
        count = sum(offer.change is not None for offer in offers)
        check_budget(story.target, budget, pace, count)
        ticker = Ticker(err, lambda: budget.left_s)
        setting = setting_of(story, scratch, seen.first_s)
        setting = replace(setting, trusts_script=request.trusts_script)
        prover = Prover(setting, budget, ticker.tell)
        bench = Bench(prover, budget, story.sources, TrialFolders(scratch), tuned.training)
        try:
            with ticker.beating():
                _try(tuned, offers, bench, ticker)
        except KeyboardInterrupt:
            story.is_interrupted = True
        finally:
            ticker.clear()
        tuned.took_s = time.monotonic() - began_s
        return tuned


def _watched(request: TuneRequest, scratch: Path, ticker: Ticker) -> tuple[Story, Observed]:
    try:
        return begun(Request(request.target, trusts_script=request.trusts_script), scratch, ticker)
    except FixError as error:
        why, is_of_fixes, _ = str(error).partition(OF_FIXES)
        if not is_of_fixes:
            raise
        raise _untunable(request.target, why) from error


def _untunable(target: Target, why: str) -> FixError:
    return FixError(
        f"{why}\nThere is no training to tune. To see what it does:\n"
        f"    quickfit run {words_of(target)}"
    )


def _looked_at(request: TuneRequest, story: Story) -> tuple[Tuned, list[Offer]]:
    """Return what is known before any trial, and what can be tried."""
    watched = Watched(story.recording, story.sources.texts)
    try:
        offers = offers_of(watched, request.tries)
        training = training_of(watched, request.steps_left)
    except SignalMissing as missing:
        raise FixError(
            f"{story.target.name}: cannot be tuned, because quickfit needs {missing.needs}.\n"
            f"To see what it does:\n    quickfit run {words_of(story.target)}"
        ) from missing
    tuned = Tuned(story, watched, training, budget_s=request.budget_s)
    kinds = request.only | request.tries if request.only else {kind.value for kind in ChangeKind}
    return tuned, [offer for offer in offers if offer.kind.value in kinds]


def _try(tuned: Tuned, offers: list[Offer], bench: Bench, ticker: Ticker) -> None:
    try_all(offers, bench, ticker.begin, tuned.tried)
    tuned.together = try_together(tuned.best, bench, ticker.begin)
