"""Where the time of a run went: a tree whose nodes add up, from the start of the run to its end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from quickfit.findings._records import Location


@dataclass(frozen=True)
class AccountNode:
    """A part of the run's time.

    Args:
        name: the id of this kind of node, such as `input_wait`; not unique in a tree.
        label: the same for people, with the user's own names.
        seconds: how long it took in this run.
        low_s: how little it may have been, by how it was measured: a clock is exact, samples and
            tf.data's model are not.
        high_s: how much it may have been.
        share: of the run.
        count: how often it happened; zero where that was not counted.
        where: the user's line.
        limited_by: what it has run out of or waits for; empty where that is not known.
        detail: how it was measured, or what it was spent on.
        loop: the number of the loop that it belongs to; zero outside loops.
        children: its parts. What they leave over is in no part by itself.
    """

    name: str
    label: str
    seconds: float
    low_s: float
    high_s: float
    share: float
    count: int = 0
    where: Location | None = None
    limited_by: str = ""
    detail: str = ""
    loop: int = 0
    children: tuple[AccountNode, ...] = ()

    def walk(self) -> Iterator[AccountNode]:
        """Yield this node and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def find(self, name: str) -> AccountNode | None:
        """Return the largest node of a kind at or below this one; None without."""
        found = [node for node in self.walk() if node.name == name]
        return max(found, key=lambda node: node.seconds, default=None)
