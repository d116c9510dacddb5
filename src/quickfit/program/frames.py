"""The calls through which a value is being followed."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from quickfit.program.module import Function, Module


@dataclass(frozen=True)
class Frame:
    """A function that is followed for one call of it; `outer` is where that call stands."""

    function: Function
    call: ast.Call
    module: Module
    outer: Frame | None
    depth: int = 0

    def is_in(self, function: Function) -> bool:
        """Tell whether a function is being followed already."""
        found: Frame | None = self
        while found is not None and found.function is not function:
            found = found.outer
        return found is not None
