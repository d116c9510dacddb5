"""The program of a trial's process: builds, trains on command, and tells how it went."""

from __future__ import annotations

import dataclasses
import errno
import os
import sys
import time
import traceback
from collections.abc import Iterator
from typing import Any

from quickfit.errors import QuickfitError
from quickfit.lab.child_side import ParentLink, settle
from quickfit.tuning.trials import building, resources
from quickfit.tuning.trials import training as learning
from quickfit.tuning.trials.building import TrainingAssembler
from quickfit.tuning.trials.settings import TrialFailure, read_order
from quickfit.tuning.trials.training import PacedTraining


def main(commands: int, answers: int) -> None:
    """Serve the process that started this one until it asks for nothing more.

    Args:
        commands: the descriptor that commands are read from.
        answers: the descriptor that answers are written to.
    """
    sys.argv[:] = ["quickfit"]  # the user's module may look at its arguments
    link = ParentLink(commands, answers)
    try:
        _serve_parent(link)
    except BaseException as error:  # noqa: BLE001 - whatever it is, the user is to see it
        failure = failure_of(error)
        link.answer("failed", {"failure": failure, "text": error_text(error)})
    # Not a usual end: threads of the user's input may never end, and nothing is to be saved.
    os._exit(1)


def _serve_parent(link: ParentLink) -> None:
    order = read_order(link.command())
    settle(order.parent)
    link.enter("loading TensorFlow")
    base_bytes = building.load_tensorflow(order)
    link.enter("building the model and the data")
    started_s = time.perf_counter()
    assembler = TrainingAssembler(order)
    assembled = assembler.assemble()
    build_s = time.perf_counter() - started_s
    step_bytes = resources.step_bytes(assembled.model, assembled.feed.batch)
    link.enter("doing the first steps", step_bytes=step_bytes)
    training = PacedTraining(assembled, link)
    command = training.begin(build_s, base_bytes)
    while True:
        command = _obey_command(command, training, assembler, link)


def _obey_command(
    command: dict[str, Any],  # Any: JSON
    training: PacedTraining,
    assembler: TrainingAssembler,
    link: ParentLink,
) -> dict[str, Any]:
    """Do what a command asks for; return the next one."""
    if command["do"] != "learn":
        link.enter("training")
        return training.go_on(command)
    link.enter("training from the first weights")
    training.bare_function()
    fresh = assembler.assemble(keeps_input=True)
    learned = learning.learn_and_compare(command["samples"], fresh, training.model, link)
    link.answer("learned", dataclasses.asdict(learned))
    return link.command()


_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
# A traceback longer than this is nothing a person reads.
_MOST_CHARS = 8_000
_MEMORY_TYPES = {"ResourceExhaustedError", "_ArrayMemoryError", "MemoryError"}
_MEMORY_WORDS = (
    "out of memory",
    "resource_exhausted",
    "failed to allocate",
    "bad_alloc",
    "memory object",
)


def failure_of(error: BaseException) -> TrialFailure:
    """Return whether memory ran out, or something else is wrong."""
    if any(_is_about_memory(link) for link in _error_chain(error)):
        return TrialFailure.OUT_OF_MEMORY
    return TrialFailure.ERROR


def error_text(error: BaseException) -> str:
    """Return an error in words: a message of ours as it is, any other with its traceback."""
    if isinstance(error, QuickfitError):
        return str(error)
    full = traceback.TracebackException.from_exception(error)
    _leave_out_ours(full)
    text = "".join(full.format()).rstrip()
    if isinstance(error, SystemExit):
        text = f"the function ended the process: sys.exit({error.code!r})\n{text}"
    if len(text) > _MOST_CHARS:
        half = _MOST_CHARS // 2
        text = f"{text[:half]}\n  [...]\n{text[-half:]}"
    return text


def _error_chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _is_about_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError) or type(error).__name__ in _MEMORY_TYPES:
        return True
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    # XLA and CUDA tell it in the text of errors of other types.
    is_tensorflow = type(error).__module__.startswith("tensorflow")
    text = str(error).lower() if is_tensorflow or isinstance(error, RuntimeError) else ""
    return any(word in text for word in _MEMORY_WORDS)


def _leave_out_ours(told: traceback.TracebackException | None) -> None:
    while told is not None:
        kept = [frame for frame in told.stack if not frame.filename.startswith(_OURS)]
        # What is left of a SystemExit or an error of ours may be nothing at all.
        told.stack = traceback.StackSummary.from_list(kept)
        told = told.__cause__ or told.__context__
