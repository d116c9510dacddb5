"""What a pass over the data asks of the workers, processes and threads alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from quickfit.data.workers.layout import Layout
from quickfit.data.workers.messages import Outcome, Reply, Task
from quickfit.data.workers.results import Array


class CrewClosed(Exception):  # noqa: N818 - it is the end of the program, not an error
    """The crew was told to stop while a pass was waiting for it."""


class CrewInterrupted(Exception):  # noqa: N818 - it is the user's wish, not an error
    """Ctrl-C was pressed, and the main thread waits inside TensorFlow."""


class Slot(Protocol):
    """A piece of memory for the results of one batch."""

    def take(self, layout: Layout, rows: int, outcome: Outcome) -> list[Array]:
        """Return its arrays, to keep; the slot is free then. Text is left empty."""


class Crew(Protocol):
    """Workers that have the function and share the tasks."""

    # Per slot, the tasks that are not done yet, those of dropped passes too.
    pending: list[int]
    turn: int
    # Which state of the user's objects the workers have.
    version: int

    @property
    def is_closed(self) -> bool:
        """Whether it has been closed, or a worker has died."""

    @property
    def slots(self) -> Sequence[Slot]:
        """Memory for the batches in the making."""

    def bring(self, content: object) -> None:
        """Take a job to all workers; they fetch it before their next task."""

    def give(self, task: Task) -> None:
        """Add a task; the next free worker takes it."""

    def wait(self) -> list[Reply]:
        """Return the replies that came, waiting for at least one.

        Raises:
            WorkerDied: a worker ended by itself.
            CrewClosed: the crew was closed meanwhile.
            CrewInterrupted: Ctrl-C was pressed and nobody else can notice.
        """

    def close(self) -> None:
        """End the workers; can be called from any thread, more than once."""


class WorkerDied(Exception):  # noqa: N818 - becomes a PipelineError with the item's name
    """A worker process ended by itself.

    Args:
        item: the item it was busy with, or `NOTHING`, `LOADING`.
        pid: its process.
        code: as `subprocess` has it: the exit code, or minus the signal.
    """

    def __init__(self, item: int, pid: int, code: int) -> None:
        super().__init__(item, pid, code)
        self.item = item
        self.pid = pid
        self.code = code


class JobBroken(Exception):  # noqa: N818 - becomes a PipelineError
    """The function could not be loaded in a worker."""

    def __init__(self, summary: str, trace: str) -> None:
        super().__init__(summary)
        self.summary = summary
        self.trace = trace
