"""Which library classes a class of the program comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quickfit.program.values import Class, External

if TYPE_CHECKING:
    from quickfit.program.resolver import Resolver


def ancestors(resolver: Resolver, owner: Class) -> set[str]:
    """Return the full names of the library classes that a class comes from."""
    found: set[str] = set()
    waiting, seen = [owner], set()
    while waiting:
        each = waiting.pop()
        seen.add(each)
        for base in resolver.bases(each):
            if isinstance(base, External):
                found.add(base.name)
            elif isinstance(base, Class) and base not in seen:
                waiting.append(base)
    return found
