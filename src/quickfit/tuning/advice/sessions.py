"""One answer from begin to end: what is worth trying, the trials, and the advice."""

from __future__ import annotations

from dataclasses import dataclass, field

from quickfit import units
from quickfit.capacity import free_memory_bytes, whole_cores
from quickfit.errors import ModelError, UsageError
from quickfit.tuning.advice import device
from quickfit.tuning.advice.candidates import IN_MEMORY, Choice, Circumstances, choose, given
from quickfit.tuning.advice.epochs import beginning_note, is_mostly_beginning
from quickfit.tuning.advice.hints import budget_words
from quickfit.tuning.advice.processes import BaselineFailed, Machine, OutOfTime
from quickfit.tuning.advice.result import Advice, Baseline
from quickfit.tuning.advice.rows import Row, Verdict
from quickfit.tuning.advice.search import Search
from quickfit.tuning.advice.verdicts import INTERRUPTED, without_style
from quickfit.tuning.advice.wishes import Wishes
from quickfit.tuning.precision.hardware import Hardware, prospect_of
from quickfit.tuning.trials.answers import Failure, Ready
from quickfit.tuning.trials.settings import Setting

# What did not do in one budget needs more than a little more.
MORE_TIME = 1.5


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
        own: what the training has already, as far as that is known before it runs.
        input_hint: how to find out where the time of its input goes.
        is_command: whether hints name options of the command line, or arguments in Python.
    """

    name: str
    machine: Machine
    hardware: Hardware
    wishes: Wishes
    keeps_input: bool = True
    steps_left: int | None = None
    own: Setting = field(default_factory=Setting)
    input_hint: str = ""
    is_command: bool = False


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
        choice = _choice(session, search, ready)
        _check_budget(session, search, choice)
        try:
            search.try_alone(choice.candidates)
            search.try_together()
        except KeyboardInterrupt:
            is_interrupted = True
            search.found.ended = INTERRUPTED
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
            " training as it is had started.\n"
            f"Give more: {budget_words(10 * budget.seconds, is_command=session.is_command)}"
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
    return ready


def _check_budget(session: Session, search: Search, choice: Choice) -> None:
    """See that there is time for one change at least.

    Raises:
        UsageError: there is not.
    """
    budget, count = session.machine.budget, len(choice.candidates)
    if not count or budget.has(search.needed_s()):
        return
    spent_s = budget.seconds - budget.left_s
    needed_s = spent_s + search.needed_s(count)
    all_of_them = f", and all {count} about {units.seconds(needed_s)}" if count > 1 else ""
    raise UsageError(
        f"{session.name}: a budget of {units.seconds(budget.seconds)} is too small for it. Starting"
        f" it took {units.seconds(spent_s)}; to measure one change three times takes about"
        f" {units.seconds(spent_s + search.needed_s())} in all{all_of_them}.\n"
        f"Give more: {budget_words(needed_s, is_command=session.is_command)}"
    )


def _choice(session: Session, search: Search, ready: Ready) -> Choice:
    prospect = prospect_of(session.hardware)
    facts = Circumstances(
        ready,
        whole_cores(),
        policy=prospect.policy if prospect.is_candidate else None,
        why_no_policy=prospect.reason,
        forced_policy=prospect.policy,
        own=session.own.with_all(Setting(**ready.own)),
        to_force="--try precision" if session.is_command else 'settings=["precision"]',
    )
    wishes = session.wishes
    asked, choice = given(facts, wishes.settings), choose(facts, wishes.kinds, wishes.forced)
    wanted, rows = (*asked.candidates, *choice.candidates), (*asked.rows, *choice.rows)
    is_beginning = search.first_block is not None and is_mostly_beginning(ready, search.first_block)
    if is_beginning:
        search.notes.append(beginning_note(ready))
    # A fact about the input is worth its time only beside changes, and where steps are measured.
    has_fact = session.keeps_input and wanted and not is_beginning
    return Choice((*wanted[:1], *([IN_MEMORY] if has_fact else []), *wanted[1:]), rows)


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
        deciding_budget_s=_deciding_s(search, rows, choice),
        input_hint=session.input_hint,
        is_command=session.is_command,
    )


def _deciding_s(search: Search, rows: tuple[Row, ...], choice: Choice) -> float | None:
    """Return about the budget that decides what was left open; None where nothing was."""
    if not any(row.verdict is Verdict.NOT_DECIDED for row in rows):
        return None
    budget = search.budget
    spent_s = budget.seconds - budget.left_s
    return max(MORE_TIME * budget.seconds, spent_s + search.needed_s(len(choice.candidates)))


def _notes(session: Session) -> tuple[str, ...]:
    notes = []
    if not session.keeps_input:
        notes.append(
            "The input was not measured: samples were taken from the data once, and fed from"
            f" memory. {session.input_hint}".rstrip()
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
