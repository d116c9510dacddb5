"""An error of the user's code as they would see it: their traceback without our frames."""

from __future__ import annotations

import errno
import os
import traceback
from collections.abc import Iterator

from quickfit.errors import QuickfitError
from quickfit.tuning.trials.answers import Failure

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


def failure_of(error: BaseException) -> Failure:
    """Return whether memory ran out, or something else is wrong."""
    if any(_is_about_memory(link) for link in _chain(error)):
        return Failure.OUT_OF_MEMORY
    return Failure.ERROR


def told(error: BaseException) -> str:
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


def _chain(error: BaseException | None) -> Iterator[BaseException]:
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
