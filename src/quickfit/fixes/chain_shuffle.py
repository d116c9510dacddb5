"""Makes the refill of a shuffle cheap: it stands before the maps, or holds less."""

from __future__ import annotations

import ast
from collections.abc import Collection

from quickfit.findings import FixClass
from quickfit.fixes.chain import Chain, chain_at
from quickfit.fixes.chain_names import only_binding, value_of
from quickfit.fixes.chain_order import argument, reordered
from quickfit.fixes.change import Change, Edit
from quickfit.fixes.script import Script

# They hand every element on by itself, in the order in which it came.
_PER_ELEMENT = ("map", "prefetch")


def shuffle_first(
    script: Script, line: int, *, steady: Collection[int], is_repeated: bool = False
) -> Change | None:
    """Return the change that moves the shuffle at a line before the maps in front of it.

    A shuffle draws places, whatever lies there, so its order stays the same. A map that keeps
    state meets the elements in that other order. `steady` holds the lines of maps that do not.
    `is_repeated` tells whether there is a `repeat` in the pipeline, in this text or not.
    """
    found = chain_at(script, line, "shuffle")
    if found is None:
        return None
    chain, place = found
    first = _first_map(chain, place)
    if first is None:
        return None
    edits = reordered(script, chain, first, [place, *range(first, place)], keeps_count=True)
    if edits is None:
        return None
    moved = [step for step in chain.steps[first:place] if step.name == "map"]
    note = _difference(
        is_steady=all(step.line in steady for step in moved),
        is_fused=is_before_repeat(chain, place, is_repeated=is_repeated),
    )
    kind = FixClass.MAY_CHANGE_RESULTS if note else FixClass.SAME_RESULTS
    return Change("Shuffle the elements before the map makes them large", kind, edits, note)


def _difference(*, is_steady: bool, is_fused: bool) -> str:
    """Return why results may differ; nothing where they do not."""
    if not is_steady:
        return "The map keeps state (random numbers): elements may get other ones than before."
    return "The order of elements is random as before, but another one." if is_fused else ""


def is_before_repeat(chain: Chain, place: int, *, is_repeated: bool) -> bool:
    """Tell whether a `repeat` may come next: with a shuffle it runs as one, and draws otherwise."""
    if place + 1 < len(chain.steps):
        return chain.steps[place + 1].name == "repeat"
    return is_repeated


def _first_map(chain: Chain, place: int) -> int | None:
    """Return the first of the maps that stand right before a place."""
    first = place
    while first and chain.steps[first - 1].name in _PER_ELEMENT:
        first -= 1
    while first < place and chain.steps[first].name != "map":
        first += 1
    return first if first < place else None


def smaller_shuffle(script: Script, line: int, *, size: int) -> Change | None:
    """Return the change that lets the shuffle at a line hold at most `size` elements."""
    found = chain_at(script, line, "shuffle")
    given = argument(found[0].steps[found[1]].call, 0, "buffer_size") if found else None
    if given is None or (isinstance(given, ast.Constant) and given.value in range(size + 1)):
        return None
    return Change(
        "Hold a few batches in the shuffle",
        FixClass.MAY_CHANGE_RESULTS,
        (_with_less(script, given, f"{size:_}"),),
        "A smaller buffer mixes less: data sorted by class needs a shuffle of its files too.",
    )


def _with_less(script: Script, given: ast.expr, size: str) -> Edit:
    if _is_number(given):
        return script.replace(given, size)
    if isinstance(given, ast.Name):
        statement = only_binding(script, given)
        value = value_of(statement) if statement is not None else None
        if value is not None and _is_number(value) and _is_read_once(script, given.id):
            return script.replace(value, size)
    return script.replace(given, f"min({script.code(given)}, {size})")


def _is_read_once(script: Script, name: str) -> bool:
    named = [node for node in script.all(ast.Name) if node.id == name]
    return len([node for node in named if isinstance(node.ctx, ast.Load)]) == 1


def _is_number(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and type(value.value) is int
