"""A probe: a name, whether it is on, and what it has cost so far."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Probe:
    """One thing that is watched.

    Args:
        name: as the recording and the report call it.
        needs: the modules it hooks into; `active` says which of them it found.
    """

    name: str
    needs: tuple[str, ...] = ()
    state: str = "waiting"
    detail: str = ""
    is_off: bool = False
    calls: int = 0
    cpu_s: float = 0.0
    active: set[str] = field(default_factory=set)

    def mark_active(self, module: str) -> None:
        """Note that the hook into `module` is in place."""
        self.active.add(module)
        if not self.is_off and self.active >= set(self.needs):
            self.state = "active"

    def turn_off(self, state: str, detail: str) -> None:
        """Stop watching: because it failed, costs too much, or does not fit this version."""
        self.is_off = True
        self.state = state
        self.detail = detail
