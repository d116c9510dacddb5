"""One task done: the user's function called, its results put where they belong."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol

from quickfit.data.workers.jobs import Job, StreamEnded
from quickfit.data.workers.layout import Layout, layout_of
from quickfit.data.workers.messages import Failure, Outcome, Task
from quickfit.data.workers.results import Array, UnusableResultError

# The number of an item that is not there: the generator ended before it.
NO_ITEM = -1
# A traceback longer than this is nothing a person reads.
_TRACE_CHARS = 20_000
_SUMMARY_CHARS = 300
# Calls of the first items stop after this: enough to tell fast functions from slow ones.
_TRY_S = 0.05


class Place(Protocol):
    """Where the results of a task go."""

    def put(self, row: int, arrays: list[Array]) -> None:
        """Write one result."""

    def put_alone(self, arrays: list[Array]) -> None:
        """Write a result that may have any shape."""


@dataclass(frozen=True, slots=True)
class First:
    """What the first items told: their layout and the time of a call, or why there is none."""

    layout: Layout | None = None
    call_s: float = 0.0
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class FirstLook:
    """The question for the first items.

    Args:
        count: how many of them to call at most.
        rows: rows of a batch, as in `Layout`.
        first_varies: as in `layout_of`.
        is_timed: whether several are to be called, to see how long one takes.
        is_patient: whether those that fail are left out.
    """

    count: int
    rows: int | None
    first_varies: bool = False
    is_timed: bool = False
    is_patient: bool = False


def perform(
    task: Task, job: Job, layout: Layout, place: Place, begin: Callable[[int], bool]
) -> Outcome:
    """Do a task; `begin` is told each item and answers whether the task is still wanted."""
    outcome = Outcome()
    for row, item in enumerate(task.items, task.row):
        if not begin(item):
            outcome.is_undone = True
            break
        try:
            arrays = layout.arrays(job.run(item, turn=task.turn, epoch=task.epoch))
            _put(arrays, row, layout, place, outcome)
        except StreamEnded:
            outcome.end = row
            break
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is the user's to see
            outcome.failures.append(_failure(row, item, error))
    return outcome


def look_at_first(
    look: FirstLook, job: Job, begin: Callable[[int], None] = lambda item: None
) -> First:
    """Call the function on the first items to see what it gives; `begin` is told each item."""
    layout, times_s, failure = None, [], None
    for item in range(look.count):
        begin(item)
        started_s = time.perf_counter()
        try:
            value = job.run(item, turn=-1, epoch=0)
            times_s.append(time.perf_counter() - started_s)
            layout = layout or layout_of(value, rows=look.rows, first_varies=look.first_varies)
        except StreamEnded:
            failure = failure or Failure(0, NO_ITEM, "it ended before its first element")
            break
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is the user's to see
            failure = failure or _failure(0, item, error)
        if (failure and not look.is_patient) or (layout and _is_enough(look, times_s)):
            break
    # A generator may end after a few elements: that is no failure.
    if layout is None or (failure and failure.item != NO_ITEM and not look.is_patient):
        return First(failure=failure)
    return First(layout, min(times_s))


def _is_enough(look: FirstLook, times_s: list[float]) -> bool:
    return not look.is_timed or sum(times_s) > _TRY_S


def _put(arrays: list[Array], row: int, layout: Layout, place: Place, outcome: Outcome) -> None:
    if any(leaf.is_text for leaf in layout.leaves):
        pairs = zip(layout.leaves, arrays, strict=True)
        outcome.texts[row] = [array for leaf, array in pairs if leaf.is_text]
    if layout.rows is None:
        outcome.shapes = [array.shape for array in arrays]
        place.put_alone(arrays)
    else:
        place.put(row, arrays)


def _failure(row: int, item: int, error: BaseException) -> Failure:
    if isinstance(error, UnusableResultError):
        return Failure(row, item, str(error))
    return Failure(row, item, *told(error))


def made_ready(steps: Callable[[], None]) -> Failure | None:
    """Load the user's function and run their `setup`; return what went wrong."""
    try:
        steps()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - the user's modules are imported here
        return Failure(0, NO_ITEM, *told(error))
    return None


def told(error: BaseException) -> tuple[str, str]:
    """Return an error of the user's code: one line, and the traceback without our own frames."""
    frames = _without_ours(error.__traceback__)
    trace = "".join(traceback.TracebackException(type(error), error, frames).format()).rstrip()
    if len(trace) > _TRACE_CHARS:
        half = _TRACE_CHARS // 2
        trace = f"{trace[:half]}\n  [...]\n{trace[-half:]}"
    lines = "".join(traceback.format_exception_only(error)).splitlines()
    # A SyntaxError begins with the place; any other error may go on with notes.
    summary = lines[-1] if isinstance(error, SyntaxError) else lines[0]
    return summary[:_SUMMARY_CHARS], trace


def _without_ours(frames: TracebackType | None) -> TracebackType | None:
    ours = __name__.rpartition(".")[0]
    while frames is not None and str(frames.tb_frame.f_globals.get("__name__")).startswith(ours):
        frames = frames.tb_next
    return frames
