"""A recording that grows while it is read, as the probes of a running script write it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from quickfit.liveness.rows import NewRows
from quickfit.recording.schema import columns
from quickfit.recording.writer import Writer

START_S = 1000.0
_ZERO = {"TEXT": "", "INTEGER": 0, "REAL": 0.0}


class Growing:
    """Writes rows of which only what a test is about needs to be given."""

    def __init__(self, folder: Path, **facts: Any) -> None:
        self.folder = folder
        self.now = START_S
        self.writer = Writer(folder, {"role": "main", "started_s": START_S, **facts})
        self.writer.flush()
        assert self.writer.path is not None
        self.file = self.writer.path
        self.pid = int(self.file.stem)
        self._numbers: dict[tuple[str, Any], int] = {}

    @property
    def rows(self) -> NewRows:
        """The recording, to be asked."""
        return NewRows(self.file)

    def clock(self) -> float:
        """Return the time on the clock of the recording."""
        return self.now

    def add(self, table: str, **given: Any) -> None:
        """Write one row; what is not given is nothing."""
        row = []
        for column in columns(table):
            value = given.pop(column.name, None if column.may_miss else _ZERO[column.kind])
            row.append(json.dumps(value) if isinstance(value, list | dict) else value)
        assert not given, f"{table} has no {given}"
        self.writer.add(table, tuple(row))
        self.writer.flush()

    def step(self, number: int, end_s: float, loop: int = 1) -> None:
        """Write one step."""
        self.add("steps", loop=loop, step=number, begin_s=end_s - 0.1, end_s=end_s)

    def stack(self, role: str, *frames: tuple[str, int, str, bool]) -> int:
        """Write a stack, the innermost frame first, and return its number."""
        ids = [self._frame(frame) for frame in frames]
        number = self._number("stack", (role, *ids))
        self.add("stacks", id=number, role=role, frames=ids)
        return number

    def _frame(self, frame: tuple[str, int, str, bool]) -> int:
        known = ("frame", frame) in self._numbers
        number = self._number("frame", frame)
        if not known:
            file, line, function, is_user = frame
            given = {"line": line, "function": function, "is_user": int(is_user)}
            self.add("frames", id=number, file=file, **given)
        return number

    def _number(self, kind: str, what: Any) -> int:
        taken = sum(one == kind for one, _ in self._numbers)
        return self._numbers.setdefault((kind, what), taken + 1)

    def pipeline(self, iterator: int, at_s: float, *nodes: list[Any]) -> None:
        """Write a look at a pipeline; see `node`. The first is the one nearest to the consumer."""
        self.add("pipelines", iterator=iterator, at_s=at_s, root=nodes[0][0], nodes=list(nodes))

    def close(self) -> None:
        """Let go of the file."""
        self.writer.close()


def node(number: int, name: str, elements: int, inputs: list[int], buffered: int = 0) -> list[Any]:
    """Return one node of tf.data's model, as it is recorded."""
    return [number, name, elements, 0.1, 0, 0, None, None, buffered, 0, False, inputs]
