"""In which order convolutions are refitted: each after all those that its inputs depend on."""

from collections.abc import Iterable, Sequence

from quickfit.compression.graph import Graph

CIRCLE = "it is shared, and what it reads in one place depends on what it makes in another"


def in_turn(graph: Graph, names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the layers of these names in an order to refit them, and those that have none.

    Only shared layers have none: a layer that reads its own results cannot be fitted before they
    are there.
    """
    left = list(dict.fromkeys(names))
    before = _dependencies(graph, left)
    turns: list[str] = []
    without: list[str] = []
    while left:
        free = next((name for name in left if not before[name].intersection(left)), None)
        (turns if free is not None else without).append(left.pop(left.index(free or left[0])))
    return turns, without


def _dependencies(graph: Graph, names: Sequence[str]) -> dict[str, set[str]]:
    """Return, for each layer, which of the layers its inputs depend on, itself included."""
    reached: dict[int, frozenset[str]] = {}
    before: dict[str, set[str]] = {name: set() for name in names}
    for call in graph.calls:
        above = frozenset().union(*(reached.get(number, ()) for number in call.inputs))
        if call.name in before:
            before[call.name].update(above)
            above |= {call.name}
        reached.update(dict.fromkeys(call.outputs, above))
    return before
