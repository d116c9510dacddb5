"""The dataset operations of a script, as they were written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# Operations under the kind that runs for them.
_RUNS_AS = {"densetoragged": "map", "legacyrebatch": "rebatch", "copytodevice": "generator"}
# Never more than a name for what feeds them, or a note to the runtime.
_WITHOUT_STAGE = ("options", "restructured", "variant", "datasetv1adapter")
# What an operation does when this fact has this value: nothing.
_NOTHING_DONE: dict[str, tuple[str, Any]] = {
    "map": ("is_identity", True),
    "take": ("count", -1),
    "skip": ("count", 0),
    "repeat": ("count", 1),
    "shard": ("num_shards", 1),
}
_VERSION = re.compile(r"(dataset|v\d)+$")


@dataclass(frozen=True)
class Operation:
    """One dataset operation as it was written."""

    id: int
    kind: str
    file: str | None
    line: int | None
    inputs: tuple[int, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def made_by_function(self) -> tuple[int, ...]:
        """The chains that the function of this operation builds while the pipeline runs."""
        sub = self.facts.get("sub")
        return tuple(n for n in (sub if isinstance(sub, list) else [sub]) if isinstance(n, int))

    @property
    def runs_as(self) -> str:
        """The kind of the stage that carries out this operation."""
        return _RUNS_AS.get(self.kind, self.kind)

    @property
    def does_nothing(self) -> bool:
        """Tell whether tf.data drops this operation, because it changes nothing."""
        name, value = _NOTHING_DONE.get(self.kind, ("", None))
        return self.kind in _WITHOUT_STAGE or (name != "" and self.facts.get(name) == value)


def operation_kind(class_name: str) -> str:
    """Return the kind of a dataset class: `ParallelMap` is a `map`."""
    return _VERSION.sub("", class_name.strip("_").removeprefix("Parallel").lower())
