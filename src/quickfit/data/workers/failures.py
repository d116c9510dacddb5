"""What the user reads when their function, or a worker with it, fails."""

from __future__ import annotations

import reprlib
import signal
from collections.abc import Sequence

from quickfit.data.workers.board import LOADING, NOTHING
from quickfit.data.workers.crew import JobBroken, WorkerDied
from quickfit.data.workers.messages import Failure
from quickfit.data.workers.working import NO_ITEM
from quickfit.errors import PipelineError

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 120
_MEMORY_HINT = (
    " The system kills the largest process when memory runs out: try fewer workers, a smaller"
    " batch or smaller results."
)


class Teller:
    """Puts failures into words.

    Args:
        name: what the user calls their function.
        items: what it is called with; None for a generator, whose elements have numbers only.
        can_skip: whether items that fail can be left out.
    """

    def __init__(self, name: str, items: Sequence[object] | None, *, can_skip: bool) -> None:
        self._name = name
        self._items = items
        self._can_skip = can_skip

    def item(self, number: int) -> str:
        """Return an item for a message: `item 17 ('a/b.jpg')`."""
        if self._items is None:
            return f"element {number}"
        if isinstance(self._items, range):
            return f"item {self._items[number]}"
        return f"item {number} ({_SHORT.repr(self._items[number])})"

    def failed(self, failure: Failure) -> PipelineError:
        """Return the error for an item that failed."""
        if failure.item == NO_ITEM:
            return PipelineError(
                f"`{self._name}` has no data: {failure.summary}. Call it in a script of its own to"
                " see why."
            )
        if not failure.trace:
            lines = [f"`{self._name}` gave a result that cannot be used for"]
            lines[0] += f" {self.item(failure.item)}: {failure.summary}"
            if failure.summary.endswith(" is expected"):  # it differs from the first result
                lines[0] += "."
                lines.append(self._shape_advice())
        else:
            lines = [f"`{self._name}` failed on {self.item(failure.item)}: {failure.summary}"]
            lines += [f"\n{failure.trace}\n"]
        if self._can_skip:
            lines.append('To leave out items that fail and go on: generator(..., on_error="skip")')
        return PipelineError("\n".join(lines))

    def died(self, death: WorkerDied) -> PipelineError:
        """Return the error for a worker process that ended by itself."""
        doing = f"while it ran `{self._name}` on {self.item(max(death.item, 0))}"
        if death.item == LOADING:
            doing = f"while it loaded `{self._name}`"
        elif death.item == NOTHING:
            doing = "between two items"
        how, hint = _ending(death.code)
        return PipelineError(
            f"A worker process (pid {death.pid}) {how} {doing}.{hint}\n"
            f"To see it happen, call `{self._name}` on that item in a script of its own."
        )

    def broken(self, broken: JobBroken) -> PipelineError:
        """Return the error for a function that a worker cannot load."""
        return PipelineError(
            f"`{self._name}` could not be made ready in a worker: {broken.summary}\n"
            f"\n{broken.trace}\n\n"
            "A worker imports what the function uses, from the same folders as this process, and"
            " runs `setup`. What exists only in this process is not there; to stay in it:"
            ' generator(..., kind="threads")'
        )

    def _shape_advice(self) -> str:
        if self._items is None:
            return "All elements of a batch need the same types and shapes."
        return (
            "All results of a batch need the same types and shapes: make them equal in"
            f" `{self._name}`, or take them one by one with batch=None and use"
            " `.padded_batch` on the dataset."
        )


def _ending(code: int) -> tuple[str, str]:
    if code >= 0:
        return f"ended with exit code {code}", ""
    try:
        known = signal.Signals(-code)
    except ValueError:
        return f"was ended by signal {-code}", ""
    hint = _MEMORY_HINT if known is signal.SIGKILL else ""
    words = {signal.SIGSEGV: " (invalid memory access in native code)", signal.SIGKILL: " (killed)"}
    return f"was ended by {known.name}{words.get(known, '')}", hint
