"""`quickfit tune train.py`: watch a script, search among settings as edits of it, write them."""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TextIO

from quickfit import terminal, units
from quickfit.errors import FixError, SignalMissing, UsageError
from quickfit.fixing.progress import Ticker
from quickfit.fixing.script_bench import ScriptBench
from quickfit.fixing.setting_candidates import Watched, script_candidates, script_training
from quickfit.fixing.story import Request, Story, begun, setting_of
from quickfit.fixing.to_terminal import diff_of
from quickfit.fixing.write import Asked, settle
from quickfit.lab.budget import Budget
from quickfit.lab.observe import Observed
from quickfit.lab.proof import PAIR_S, RESULT_STEPS, Prover
from quickfit.lab.script_pair import ENOUGH_S
from quickfit.lab.verdict import USUAL_PAIRS
from quickfit.launch.target import Target
from quickfit.tuning.advice.candidates import ChangeCandidate
from quickfit.tuning.advice.change_table import ChangeKind, ChangeRow
from quickfit.tuning.advice.report import advice_text, colored_advice
from quickfit.tuning.advice.request import budget_words
from quickfit.tuning.advice.result import Advice, TrainingBaseline
from quickfit.tuning.advice.search import BudgetNeeds, CandidateSearch, check_budget
from quickfit.tuning.trials.settings import TrialLearned
from quickfit.tuning.trials.trial import scratch_folder

# The proof of one setting takes about a minute on two cores, and there are half a dozen.
BUDGET_S = 600.0
# Below this the prover begins nothing.
LEAST_S = 2 * PAIR_S
# What watching took all of is not enough for anything else.
MORE = 4
# How the error about a script that cannot be tried safely goes on: about fixes.
OF_FIXES = "\nThere is nothing to prove a fix on."
LOSS_NOTE = "loss: of the first batch → the mean over up to {} samples, the same ones for every row"


@dataclass(frozen=True)
class TuneRequest:
    """What is asked for.

    Args:
        target: the script and its arguments.
        budget_s: the time for everything: the script is watched, and settings are tried.
        tries: kinds of settings that are tried although the machine speaks against them.
        only: the kinds that are tried; none for all.
        steps_left: how many steps are still to be trained; None for what the script says.
        format: how what was found is printed: `text`, `markdown` or `json`.
        trusts_script: it is tried also where only Python guards the user's files.
    """

    target: Target
    budget_s: float = BUDGET_S
    tries: frozenset[str] = frozenset()
    only: frozenset[str] = frozenset()
    steps_left: int | None = None
    format: str = "text"
    trusts_script: bool = False


def tune(request: TuneRequest, asked: Asked, *, out: TextIO, err: TextIO) -> int:
    """Try settings of a script one by one and combined; show them, keep and write what is proven.

    Raises:
        FixError: the script cannot be tried, or a file cannot be written.
        UsageError: there is no such script, or what is asked for makes no sense together.
        KeyboardInterrupt: it was interrupted; what is known was shown.
    """
    as_text = request.format == "text"
    asked.check("tune", as_json=request.format == "json")
    asked.say_limits(err)
    story, advice = search_settings(request, err)
    shown = err if asked.prints_patch else out
    if request.format == "json":
        terminal.write(out, json.dumps(advice.as_json(), indent=2) + "\n")
    elif request.format == "markdown":
        from quickfit.fixing.to_markdown import advice_markdown

        terminal.write(shown, advice_markdown(advice))
    elif terminal.wants_color(shown):
        terminal.write(shown, f"\n{colored_advice(advice)}\n", painted=True)
    else:
        terminal.write(shown, f"\n{advice_text(advice)}\n")
    settle(story, asked, out=out if as_text or asked.prints_patch else err)
    return 0


def search_settings(request: TuneRequest, err: TextIO) -> tuple[Story, Advice]:
    """Watch a script and search among its settings; a Ctrl-C ends it with what is known by then.

    Returns the script as it was watched, its outcomes those that are advised, and the advice.

    Raises:
        FixError: the script cannot be tried.
        UsageError: there is no such script, or the budget is too small for it.
    """
    check_least(request.target, request.budget_s)
    began_s, budget = time.monotonic(), Budget(request.budget_s)
    with scratch_folder("quickfit-fix-") as scratch:
        story, seen = _watch(request, scratch, WatchTicker(err, request.target, budget))
        if seen.failure:
            raise _untunable(story.target, f"{story.target.name}: {seen.failure}")
        watched, candidates = _look_for_candidates(request, story)
        pace = ProofPace(seen.first_s, watched.batch_s or 0.0)
        count = sum(not one.reason for one in candidates)
        check_budget(
            story.target.name,
            budget,
            pace.needs(count, budget.seconds - budget.left_s),
            command=partial(_command_with, story.target),
            warn=lambda text: terminal.say(text, err),
        )
        ticker = Ticker(err, lambda: budget.left_s)
        setting = setting_of(story, scratch, seen.first_s)
        setting = replace(setting, trusts_script=request.trusts_script)
        prover = Prover(setting, budget, ticker.tell)
        bench = ScriptBench(
            prover,
            budget,
            story.sources,
            scratch,
            training=script_training(watched),
            begin=ticker.begin,
            proof_s=pace.setting_s,
        )
        steps_left = request.steps_left if request.steps_left is not None else watched.steps_left
        search = CandidateSearch(bench, steps_left=steps_left)
        try:
            with ticker.beating():
                story.is_interrupted = search.run(candidates)
        finally:
            ticker.clear()
        story.outcomes = [bench.outcomes[one] for one in search.choice.parts()]
        advice = _build_advice(story, watched, search, steps_left=steps_left)
        return story, replace(
            advice,
            took_s=time.monotonic() - began_s,
            baseline=replace(advice.baseline, start_s=seen.first_s),
            deciding_budget_s=2 * request.budget_s if advice.undecided else None,
            deciding_words=_deciding_words(request, advice),
        )


def _watch(request: TuneRequest, scratch: Path, ticker: Ticker) -> tuple[Story, Observed]:
    try:
        watched = Request(request.target, trusts_script=request.trusts_script, needs_findings=False)
        return begun(watched, scratch, ticker)
    except FixError as error:
        why, is_of_fixes, _ = str(error).partition(OF_FIXES)
        if not is_of_fixes:
            raise
        raise _untunable(request.target, why) from error


def _untunable(target: Target, why: str) -> FixError:
    return FixError(
        f"{why}\nThere is no training to tune. To see what it does:\n"
        f"    quickfit run {target.words}"
    )


def _look_for_candidates(
    request: TuneRequest, story: Story
) -> tuple[Watched, list[ChangeCandidate]]:
    """Return what is known before any trial, and what can be tried."""
    watched = Watched(story.recording, story.sources.texts)
    try:
        watched.signals.loop  # noqa: B018 - without one nothing is trained
        found = script_candidates(watched, request.tries)
    except SignalMissing as missing:
        raise FixError(
            f"{story.target.name}: cannot be tuned, because quickfit needs {missing.needs}.\n"
            f"To see what it does:\n    quickfit run {story.target.words}"
        ) from missing
    kinds = request.only | request.tries if request.only else {kind.value for kind in ChangeKind}
    return watched, [one for one in found if one.kind.value in kinds]


def _build_advice(
    story: Story, watched: Watched, search: CandidateSearch, *, steps_left: int | None
) -> Advice:
    choice = search.choice
    rows = choice.rows()
    training, share = script_training(watched), watched.wait_share
    losses = [row.loss for row in rows if row.loss is not None]
    loss = max(losses, key=lambda one: one.samples, default=None)
    steps = training.epoch_steps
    return Advice(
        target=story.target.name,
        device=story.diagnosis.device.summary,
        baseline=TrainingBaseline(
            batch=training.batch,
            samples=training.batch * steps if training.batch and steps else None,
            samples_per_s=training.batch / training.step_s
            if training.batch and training.step_s
            else None,
            step_s=training.step_s,
            peak_bytes=_peak_bytes(rows),
            learned=None
            if loss is None
            else TrialLearned(loss.samples, loss.before, loss.unchanged),
            steps_left=steps_left,
        ),
        rows=rows,
        chosen=choice.chosen_row(),
        input_gain=1 / (1 - share) if share is not None and share < 1.0 else None,
        is_input_bound=share is not None and share >= LIMIT_SHARE,
        input_note=input_text(share, story.target),
        loss_note=LOSS_NOTE,
        notes=(f"trials: {story.confinement}",) if story.confinement else (),
        is_interrupted=story.is_interrupted,
        patch=diff_of(story.outcomes, story.sources, story.cwd) if story.outcomes else "",
        patch_notes=tuple(
            f"{outcome.cause}: {outcome.change.note}"
            for outcome in story.outcomes
            if outcome.change.note
        ),
    )


def _peak_bytes(rows: tuple[ChangeRow, ...]) -> int | None:
    """Return the most memory that the script held without any change."""
    known = [
        row.peak_bytes - row.more_bytes
        for row in rows
        if row.peak_bytes is not None and row.more_bytes is not None
    ]
    return round(max(known)) if known else None


def _deciding_words(request: TuneRequest, advice: Advice) -> str:
    """Return the command that decides what was measured too little; nothing where nothing was."""
    rows = advice.undecided
    kinds = dict.fromkeys(row.kind.value for row in rows if row.kind is not ChangeKind.TOGETHER)
    only = "".join(f" --only {kind}" for kind in kinds)
    words = f"quickfit tune --budget {round(2 * request.budget_s)}s{only}"
    return f"{words} {request.target.words}" if rows else ""


# Below this, waiting is not worth a word; from the second on, it is what most of a step does.
SAID_SHARE = 0.3
LIMIT_SHARE = 0.5


def input_text(wait_share: float | None, target: Target) -> str:
    """Return what can be gained by other input and by settings; nothing where few waits are."""
    if wait_share is None or wait_share < SAID_SHARE:
        return ""
    first = "Your input is the limit: " if wait_share >= LIMIT_SHARE else ""
    gain = 1 / (1 - wait_share) if wait_share < 1.0 else None
    most = f"Without the wait it is {gain:.2f}× as fast at most; settings" if gain else "Settings"
    return (
        f"{first}{units.share(wait_share)} of a step waits for data. {most} gain at"
        f" most the other {units.share(1 - wait_share)}.\n"
        f"{'First' if first else 'For the input'}: quickfit fix {target.words}"
    )


class WatchTicker(Ticker):
    """Tells how a script is watched, and ends that where the budget is over.

    Args:
        stream: where to write.
        target: the script.
        budget: the time for everything.
    """

    def __init__(self, stream: TextIO, target: Target, budget: Budget) -> None:
        super().__init__(stream, lambda: budget.left_s)
        self._target = target
        self._budget = budget

    def tell(self, text: str) -> None:
        """Say how far it is.

        Raises:
            UsageError: the budget is over.
        """
        if not self._budget.left_s:
            self.clear()
            given_s = self._budget.seconds
            raise UsageError(
                f"{self._target.name}: the budget of {units.seconds(given_s)} was over while the"
                f" script was still being watched ({text or 'no steps'}).\n"
                f"Give more:\n    quickfit tune --budget {math.ceil(MORE * given_s)}s"
                f" {self._target.words}"
            )
        super().tell(text)


@dataclass(frozen=True)
class ProofPace:
    """How long a script takes to be proven.

    Args:
        first_s: to its first step.
        batch_s: for a step; 0 where that is not known.
    """

    first_s: float
    batch_s: float = 0.0

    @property
    def kept_s(self) -> float:
        """The time of a run that keeps its results, in which nothing is measured."""
        return self.first_s + RESULT_STEPS * self.batch_s

    @property
    def setting_s(self) -> float:
        """The least time for one setting: its results, and three pairs that take turns."""
        return self.kept_s + USUAL_PAIRS * (self.first_s + 2 * ENOUGH_S)

    def all_s(self, settings: int) -> float:
        """Return the time for so many settings; the original keeps its results only once."""
        return max(self.kept_s + settings * self.setting_s, LEAST_S)

    def needs(self, settings: int, watched_s: float) -> BudgetNeeds:
        """Return what so many settings need beyond the time that it was watched."""
        began = (
            f"It takes {units.seconds(self.first_s)} to its first step, and was watched for"
            f" {units.seconds(watched_s)}"
        )
        return BudgetNeeds(settings, self.all_s(1), self.all_s(settings), began)


def _command_with(target: Target, budget_s: float) -> str:
    return f"quickfit tune {budget_words(budget_s, is_command=True)} {target.words}"


def check_least(target: Target, budget_s: float) -> None:
    """Refuse a budget in which no trial begins, before the script is watched.

    Raises:
        UsageError: it is too small for any script.
    """
    if budget_s < LEAST_S:
        raise UsageError(
            f"{target.name}: a budget of {units.seconds(budget_s)} is too small: no trial of a"
            f" script is begun with less than {units.seconds(LEAST_S)} left.\n"
            f"A small script needs some minutes:\n    quickfit tune --budget 10m {target.words}"
        )
