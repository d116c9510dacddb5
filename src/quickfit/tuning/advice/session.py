"""`advise` from begin to end: what is worth trying, the trials, and the advice."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

from quickfit import terminal, units
from quickfit.errors import ModelError, UsageError
from quickfit.lab.budget import Budget
from quickfit.lab.statistics import Measured
from quickfit.machine import free_memory_bytes, whole_cores
from quickfit.tuning.advice.candidates import (
    IN_MEMORY,
    ChangeCandidate,
    TrialCircumstances,
    beginning_note,
    candidates_from_settings,
    choose_candidates,
    is_mostly_beginning,
)
from quickfit.tuning.advice.change_table import ChangeVerdict, gain_text
from quickfit.tuning.advice.request import (
    AdviceWishes,
    budget_words,
    check_batch_settings,
    check_numbers,
    input_hint,
    own_setting,
    read_wishes,
    recipe_for_target,
    target_name,
)
from quickfit.tuning.advice.result import INPUT_LIMIT, Advice, TrainingBaseline
from quickfit.tuning.advice.rounds import (
    AdviceOutOfTime,
    BaselineFailed,
    SettingBench,
    TrialMachine,
)
from quickfit.tuning.advice.search import BudgetNeeds, CandidateSearch, check_budget
from quickfit.tuning.precision.hardware import Hardware, prospect_of, read_cpu, read_hardware
from quickfit.tuning.trials.settings import Setting, TrialFailure, TrialReady, without_style
from quickfit.tuning.trials.trial import Trial, scratch_folder

BUDGET_S = 180.0
# More processes that start together are in each other's way, also on many cores.
MAX_STARTS = 4

Tell = Callable[[str], None]


def advise(
    model: Any,  # a Keras model, a function or a name
    data: Any = None,  # what `fit` takes
    *,
    budget_s: float = BUDGET_S,
    settings: Iterable[Any] | None = None,  # names of kinds, or `Setting`s
    steps_left: int | None = None,
    progress: Tell | None = None,
) -> Advice:
    """Measure which settings make a training faster: on this machine, this model and this data.

    Tries XLA, several steps per call, larger batches, 16-bit precision where the hardware has it,
    and thread settings; each alone, then the winners together. Everything runs in processes of
    its own, in turns with the training as it is; the model that is given is not changed.

        advice = quickfit.tuning.advise(model, dataset)
        print(advice)
        advice.lines

    Args:
        model: a compiled model; or a function that returns a compiled model and its data; or
            the name of one, "train:build" for `build` in train.py.
        data: of a model: a `tf.data.Dataset` of batches, a `PyDataset`, or arrays `(x, y)`.
        budget_s: the time for everything; it is kept.
        settings: what to try, by name ("xla", "steps", "batch", "precision", "threads") or as
            `Setting`s; all that makes sense here if it is not given.
        steps_left: how many steps there are still to train: what takes longer to compile than it
            saves is not advised.
        progress: is called with what is being done; by default that is one line on a
            terminal or in a notebook.

    Raises:
        UsageError: an argument makes no sense.
        ModelError: the training does not run as it is.
    """
    check_numbers(budget_s, steps_left)
    wishes = read_wishes(settings)
    line = StatusLine(sys.stderr)
    tell = progress or line.tell
    try:
        return run_advice(model, data, wishes, budget_s=budget_s, steps_left=steps_left, tell=tell)
    finally:
        line.clear()


def run_advice(
    target: Any,
    data: Any,
    wishes: AdviceWishes,
    *,
    budget_s: float,
    steps_left: int | None,
    tell: Tell,
    is_command: bool = False,
) -> Advice:
    """Do what `advise` does, for arguments that were looked at.

    `is_command` is whether it was asked for on the command line: hints then name its options.
    """
    check_batch_settings(wishes.settings, data)
    budget = Budget(budget_s)
    with scratch_folder() as folder:
        recipe = recipe_for_target(target, data, folder)
        hardware = hardware_here()

        def told(text: str) -> None:
            tell(f"{text} · {units.seconds(budget.left_s)} left")

        machine = TrialMachine(
            lambda setting: Trial(recipe, setting),
            budget,
            told,
            _parallel_starts(hardware),
            warn=terminal.say,
        )
        session = AdviceSession(
            target_name(target),
            machine,
            hardware,
            wishes,
            recipe.keeps_input,
            steps_left,
            own=own_setting(target),
            input_hint=input_hint(target),
            is_command=is_command,
        )
        return run_session(session)


def _parallel_starts(hardware: Hardware) -> int:
    """Return how many processes start at the same time: each is work for a whole core."""
    if hardware.gpus or hardware.tpus:
        return 1
    return max(1, min(whole_cores(), MAX_STARTS))


# What did not do in one budget needs more than a little more.
MORE_TIME = 1.5


@dataclass(frozen=True)
class AdviceSession:
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
    machine: TrialMachine
    hardware: Hardware
    wishes: AdviceWishes
    keeps_input: bool = True
    steps_left: int | None = None
    own: Setting = field(default_factory=Setting)
    input_hint: str = ""
    is_command: bool = False

    def command_with(self, budget_s: float) -> str:
        """Return how to ask for another budget."""
        words = budget_words(budget_s, is_command=self.is_command)
        return f"quickfit tune {words} {self.name}" if self.is_command else words


def run_session(session: AdviceSession) -> Advice:
    """Run the trials of a session; a partial answer where they are interrupted.

    Raises:
        ModelError: the training does not run as it is.
        UsageError: the budget is too small.
    """
    bench = SettingBench(session.machine)
    search = CandidateSearch(bench, steps_left=session.steps_left)
    try:
        ready = _begin_session(session, bench)
        candidates = _choose_trials(session, bench, ready)
        check_budget(
            session.name,
            session.machine.budget,
            _budget_needs(session, search, candidates),
            command=session.command_with,
            warn=session.machine.warn,
        )
        try:
            is_interrupted = search.run(candidates)
        except BaselineFailed as error:
            raise ModelError(_baseline_error(session.name, error)) from error
    finally:
        bench.close()
    return _build_advice(session, bench, search, is_interrupted=is_interrupted)


def _begin_session(session: AdviceSession, bench: SettingBench) -> TrialReady:
    """Start the training as it is, and see that there is room and time for more."""
    budget = session.machine.budget
    try:
        ready = bench.begin()
    except AdviceOutOfTime:
        raise UsageError(
            f"{session.name}: the budget of {units.seconds(budget.seconds)} was over before the"
            " training as it is had started.\n"
            f"Give more: {budget_words(10 * budget.seconds, is_command=session.is_command)}"
        ) from None
    except BaselineFailed as error:
        raise ModelError(_baseline_error(session.name, error)) from error
    bench.processes = room_for(ready.peak_bytes, session.hardware, free_memory_bytes())
    if bench.processes < 2:
        raise ModelError(
            f"{session.name}: the training takes {units.size(ready.peak_bytes)}, and only"
            f" {units.size(free_memory_bytes())} are free: there is no room for a second one to"
            " compare it with.\nEnd other programs, or try a smaller batch."
        )
    return ready


def _budget_needs(
    session: AdviceSession, search: CandidateSearch, candidates: Sequence[ChangeCandidate]
) -> BudgetNeeds:
    count = sum(not one.reason for one in candidates)
    budget = session.machine.budget
    started = f"Starting it took {units.seconds(budget.seconds - budget.left_s)}"
    return BudgetNeeds(count, search.needed_s(), search.needed_s(count), started)


def _choose_trials(
    session: AdviceSession, bench: SettingBench, ready: TrialReady
) -> list[ChangeCandidate]:
    prospect = prospect_of(session.hardware)
    facts = TrialCircumstances(
        ready,
        whole_cores(),
        policy=prospect.policy if prospect.is_candidate else None,
        why_no_policy=prospect.reason,
        forced_policy=prospect.policy,
        own=session.own.with_all(Setting(**ready.own)),
        to_force="--try precision" if session.is_command else 'settings=["precision"]',
    )
    wishes = session.wishes
    wanted = [
        *candidates_from_settings(facts, wishes.settings),
        *choose_candidates(facts, wishes.kinds, wishes.forced),
    ]
    is_beginning = bench.first_block is not None and is_mostly_beginning(ready, bench.first_block)
    if is_beginning:
        bench.notes.append(beginning_note(ready))
    # A fact about the input is worth its time only beside changes, and where steps are measured.
    if session.keeps_input and not is_beginning and any(not one.reason for one in wanted):
        wanted.insert(1, IN_MEMORY)
    return wanted


def _build_advice(
    session: AdviceSession, bench: SettingBench, search: CandidateSearch, *, is_interrupted: bool
) -> Advice:
    choice, budget = search.choice, session.machine.budget
    rows = choice.rows()
    gain = choice.input_gain()
    is_bound = (
        gain is not None and gain.mean >= INPUT_LIMIT and (gain.pairs == 1 or gain.low >= 1.0)
    )
    deciding_s = None
    if any(row.verdict is ChangeVerdict.NOT_DECIDED for row in rows):
        spent_s = budget.seconds - budget.left_s
        count = sum(not one.reason for one in choice.tried)
        deciding_s = max(MORE_TIME * budget.seconds, spent_s + search.needed_s(count))
    return Advice(
        target=session.name,
        device=device_line(session.hardware, whole_cores()),
        baseline=TrainingBaseline.of(
            bench.ready,
            bench.blocks,
            bench.unchanged,
            start_s=bench.start_s,
            steps_left=session.steps_left,
        ),
        rows=rows,
        chosen=choice.chosen_row(),
        input_gain=gain.mean if gain is not None else None,
        is_input_bound=is_bound,
        input_note=_input_note(session, gain) if is_bound and gain is not None else "",
        loss_note="loss: before and after {} samples, on the same samples for every change",
        notes=(*bench.notes, *_session_notes(session)),
        took_s=budget.seconds - budget.left_s,
        is_interrupted=is_interrupted,
        deciding_budget_s=deciding_s,
        deciding_words=session.command_with(deciding_s or 0.0),
    )


def _input_note(session: AdviceSession, gain: Measured) -> str:
    claim = "is" if gain.pairs > 1 else "may be"
    return (
        f"Your input {claim} the limit: with batches from memory it trains {gain_text(gain)} as"
        " fast. Make the input faster first; a faster step gains little while it waits."
        f" {session.input_hint}".rstrip()
    )


def _session_notes(session: AdviceSession) -> tuple[str, ...]:
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


def _baseline_error(name: str, error: BaselineFailed) -> str:
    failure = error.failure
    text = without_style(failure.text)
    if text.startswith("Traceback"):
        return f"{name}: the training as it is ended with an error:\n{text}"
    if failure.failure is TrialFailure.ERROR:
        return f"{name} cannot be tried:\n{text}"
    return f"{name}: the training as it is does not run ({failure.failure.value}):\n{text}"


# Where the drivers of accelerators show themselves.
_DRIVERS = (Path("/dev/nvidiactl"), Path("/dev/kfd"), Path("/dev/accel0"), Path("/dev/dxg"))
# A process needs more than it held when it was looked at, and others need some too.
_MARGIN = 1.5
_SHARE = 0.8
# On a GPU each process keeps its own context, and its memory cannot be seen from outside.
_GPU_ROOM = 2
MAX_ROOM = 16


def hardware_here() -> Hardware:
    """Return what can train here; TensorFlow is asked where there may be more than a CPU."""
    if "tensorflow" in sys.modules or any(driver.exists() for driver in _DRIVERS):
        return read_hardware()
    flags, name = read_cpu()
    return Hardware(cpu_flags=flags, cpu=name)


def device_line(hardware: Hardware, cores: int) -> str:
    """Return what trains: `AMD EPYC 7B13, 2 cores, no GPU`."""
    if hardware.gpus or hardware.tpus:
        return f"{hardware.device}; {cores} cores"
    return f"{hardware.device}, {cores} core{'s' * (cores != 1)}, no GPU"


def room_for(peak_bytes: float, hardware: Hardware, free_bytes: float) -> int:
    """Return how many trainings like this fit into memory at once, one that runs already included.

    Args:
        peak_bytes: what one of them takes.
        hardware: that they share.
        free_bytes: what can be had beside the one that runs.
    """
    if hardware.gpus or hardware.tpus:
        return _GPU_ROOM
    more = int(_SHARE * free_bytes / max(_MARGIN * peak_bytes, 1.0))
    return min(1 + more, MAX_ROOM)


class StatusLine:
    """A line that is written over and over, and taken away in the end.

    Args:
        stream: where to; nothing is written where nobody waits, such as in a log file.
    """

    def __init__(self, stream: TextIO | None) -> None:
        is_watched = stream is not None and _is_watched(stream)
        self._line = terminal.StatusLine(stream) if stream is not None and is_watched else None

    def tell(self, text: str) -> None:
        """Show a text in place of the one before."""
        if self._line is not None:
            self._line.show(f"quickfit: {text}")

    def clear(self) -> None:
        """Take the line away."""
        if self._line is not None:
            self._line.clear()


def _is_watched(stream: TextIO) -> bool:
    # A notebook's stream is no terminal, and yet a person looks at it.
    return stream.isatty() or type(stream).__module__.startswith("ipykernel")


_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class EndedBySignal(BaseException):
    """A signal asks this process to end; no `except Exception` may keep it.

    Args:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let a signal to end be an exception, so that children and scratch folders go too.

    Raises:
        Ended: there was one. Further ones are ignored while things are cleaned up.
    """

    def leave(number: int, frame: FrameType | None) -> None:
        for one in before:
            signal.signal(one, signal.SIG_IGN)
        raise EndedBySignal(number)

    # What is ignored stays so: `nohup` does that.
    before = {one: signal.getsignal(one) for one in _SIGNALS}
    before = {one: known for one, known in before.items() if known is not signal.SIG_IGN}
    for one in before:
        signal.signal(one, leave)
    try:
        yield
    finally:
        for one, known in before.items():
            signal.signal(one, known)
