"""What a trial changes about the way a model is trained."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any


@dataclass(frozen=True)
class Setting:
    """What differs from the user's own way; `None` is as the user has it.

    Args:
        batch: samples per step.
        jit: compile the step with XLA.
        steps_per_execution: steps per call from Python.
        policy: the dtype policy, for example "mixed_bfloat16".
        intra_threads: threads inside one operation.
        inter_threads: operations at the same time.
        in_memory: feed batches that were made before, so that the input costs nothing.
    """

    batch: int | None = None
    jit: bool | None = None
    steps_per_execution: int | None = None
    policy: str | None = None
    intra_threads: int | None = None
    inter_threads: int | None = None
    in_memory: bool | None = None

    @property
    def is_as_it_was(self) -> bool:
        """Whether nothing is changed at all."""
        return self == Setting()

    def with_all(self, other: Setting) -> Setting:
        """Return this setting with everything that the other one changes."""
        return replace(self, **other.changed())

    def changed(self) -> dict[str, Any]:
        """Return what is changed, by name."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in named.items() if value is not None}

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values, for `from_json` on the other side of a pipe."""
        return asdict(self)

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> Setting:
        """Return what `as_json` gave."""
        return cls(**plain)
