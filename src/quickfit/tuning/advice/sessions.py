"""One answer from begin to end: what is worth trying, the trials, and the advice."""

from __future__ import annotations

from dataclasses import dataclass

from quickfit import units
from quickfit.capacity import free_memory_bytes, whole_cores
from quickfit.errors import ModelError, UsageError
from quickfit.tuning.advice import device
from quickfit.tuning.advice.candidates import (
    IN_MEMORY,
    Candidate,
    Choice,
    Circumstances,
    choose,
    given,
)
from quickfit.tuning.advice.processes import BaselineFailed, Machine, OutOfTime
from quickfit.tuning.advice.result import Advice, Baseline
from quickfit.tuning.advice.search import Search
from quickfit.tuning.advice.verdicts import without_style
from quickfit.tuning.advice.wishes import Wishes
from quickfit.tuning.precision.hardware import Hardware, prospect_of
from quickfit.tuning.trials.answers import Failure, Ready


@dataclass(frozen=True)
class Session:
    """What is tuned, and where.

    Args:
        name: of it, in words.
        machine: where trials run.
        hardware: of that machine.
        wishes: what to try.
        keeps_input: whether trials read the user's own input, not samples kept of it.
        steps_left: how many steps the user still has to train, where that is known.
    """

    name: str
    machine: Machine
    hardware: Hardware
    wishes: Wishes
    keeps_input: bool = True
    steps_left: int | None = None


def measured(session: Session) -> Advice:
    """Run the trials of a session; a partial answer where somebody interrupts them.

    Raises:
        ModelError: the training does not run as it is.
        UsageError: the budget is too small.
    """
    search = Search(session.machine, steps_left=session.steps_left)
    is_interrupted = False
    try:
        ready = _begun(session, search)
        choice = _choice(session, ready)
        try:
            search.try_alone(choice.candidates)
            search.try_together()
        except KeyboardInterrupt:
            is_interrupted = True
        except BaselineFailed as error:
            raise ModelError(_failed(session.name, error)) from error
    finally:
        search.close()
    return _answer(session, search, choice, is_interrupted=is_interrupted)


def _begun(session: Session, search: Search) -> Ready:
    """Start the training as it is, and see that there is room and time for more."""
    budget = session.machine.budget
    try:
        ready = search.begin()
    except OutOfTime:
        raise UsageError(
            f"{session.name}: the budget of {units.seconds(budget.seconds)} was over before the"
            " training as it is had started.\nGive more: --budget 10m (in Python: budget_s=600)"
        ) from None
    except BaselineFailed as error:
        raise ModelError(_failed(session.name, error)) from error
    search.room = device.room_for(ready.peak_bytes, session.hardware, free_memory_bytes())
    if search.room < 2:
        raise ModelError(
            f"{session.name}: the training takes {units.size(ready.peak_bytes)}, and only"
            f" {units.size(free_memory_bytes())} are free: there is no room for a second one to"
            " compare it with.\nEnd other programs, or try a smaller batch."
        )
    if not budget.has(search.needed_s()):
        raise UsageError(_too_small(session, search))
    return ready


def _too_small(session: Session, search: Search) -> str:
    budget_s, left_s = session.machine.budget.seconds, session.machine.budget.left_s
    least_s = budget_s - left_s + search.needed_s()
    return (
        f"{session.name}: a budget of {units.seconds(budget_s)} is too small for it. Starting it"
        f" took {units.seconds(budget_s - left_s)}; to measure one change three times takes about"
        f" {units.seconds(least_s)} in all, and all of them about"
        f" {units.seconds(least_s + 4 * search.needed_s())}.\n"
        f"Give more: --budget {round(least_s + 4 * search.needed_s())}s"
    )


def _choice(session: Session, ready: Ready) -> Choice:
    prospect = prospect_of(session.hardware)
    facts = Circumstances(
        ready,
        whole_cores(),
        policy=prospect.policy if prospect.is_candidate else None,
        why_no_policy=prospect.reason,
        forced_policy=prospect.policy,
    )
    choice = choose(facts, session.wishes.kinds, session.wishes.forced)
    fact: tuple[Candidate, ...] = (IN_MEMORY,) if session.keeps_input else ()
    wanted = (*given(session.wishes.settings), *choice.candidates)
    return Choice((*wanted[:1], *fact, *wanted[1:]), choice.rows)


def _answer(session: Session, search: Search, choice: Choice, *, is_interrupted: bool) -> Advice:
    found, budget = search.found, session.machine.budget
    best = found.best()
    rows = (*found.rows(), *choice.rows)
    chosen = [row for row in rows if best is not None and row.name == best.name]
    return Advice(
        target=session.name,
        device=device.device_line(session.hardware, whole_cores()),
        baseline=Baseline.of(search.ready, search.blocks, search.unchanged),
        rows=rows,
        chosen=chosen[0] if chosen else None,
        input_gain=found.input_gain(),
        notes=(*search.notes, *_notes(session)),
        took_s=budget.seconds - budget.left_s,
        is_interrupted=is_interrupted,
    )


def _notes(session: Session) -> tuple[str, ...]:
    notes = []
    if not session.keeps_input:
        notes.append(
            "The input was not measured: samples were taken from the data once, and fed from"
            " memory. `quickfit run train.py` says whether the input is the limit."
        )
    load = session.machine.load
    if load.is_busy:
        notes.append(
            f"Note: {load.words}, so the intervals are wide. On a quiet machine more can be told"
            " apart."
        )
    return tuple(notes)


def _failed(name: str, error: BaselineFailed) -> str:
    failure = error.failure
    text = without_style(failure.text)
    if text.startswith("Traceback"):
        return f"{name}: the training as it is ended with an error:\n{text}"
    if failure.failure is Failure.ERROR:
        return f"{name} cannot be tried:\n{text}"
    return f"{name}: the training as it is does not run ({failure.failure.value}):\n{text}"
