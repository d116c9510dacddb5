"""Names for the layers of a model whose nested models have been dissolved: each name once."""

from collections.abc import Iterable
from typing import Any


class Names:
    """The names of layers and operations, by object.

    Args:
        taken: names that nobody else may get: those of the model's inputs.
    """

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._names: dict[int, str] = {}

    def __getitem__(self, operation: Any) -> str:
        return self._names[id(operation)]

    def add(self, operation: Any, path: tuple[str, ...]) -> None:
        """Name an operation found inside the nested models `path`: its own name where free."""
        if id(operation) in self._names:
            return
        own = operation.name
        wanted = [own, "_".join((*path, own))] if path else [own]
        self.fix(operation, next((n for n in wanted if n not in self._taken), self._next(wanted)))

    def fix(self, operation: Any, name: str) -> None:
        """Give an operation exactly this name."""
        self._names[id(operation)] = name
        self._taken.add(name)

    def is_free(self, name: str) -> bool:
        """Tell whether nobody has this name."""
        return name not in self._taken

    def _next(self, wanted: list[str]) -> str:
        number = 1
        while f"{wanted[-1]}_{number}" in self._taken:
            number += 1
        return f"{wanted[-1]}_{number}"
