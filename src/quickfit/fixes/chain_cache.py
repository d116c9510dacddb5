"""Puts a `cache` where it keeps what every epoch makes again, and where it is read to its end."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import replace

from quickfit.findings import FixClass
from quickfit.fixes.chain import Chain, chain_at
from quickfit.fixes.chain_names import target_of, uses
from quickfit.fixes.chain_order import argument, inserted, part_of, reordered
from quickfit.fixes.chain_shuffle import is_before_repeat
from quickfit.fixes.change import Change, Edit, is_in_conflict
from quickfit.fixes.script import Script
from quickfit.fixes.uint8_input import uint8_input

# Behind them an epoch may end before the cache has seen its last element.
_CUTTING = ("take", "take_while", "shard", "skip", "window", "apply", "concatenate")


def cached(script: Script, line: int, *, method: str, is_ordered: bool = True) -> Change | None:
    """Return the change that keeps what the call of a method at a line gives.

    `is_ordered` is False where a shuffle that is not part of the chain comes before: its order
    would be kept for all epochs, so another one has to follow.
    """
    found = chain_at(script, line, method)
    if found is None:
        return None
    chain, place = found
    step, later = chain.steps[place], chain.steps[place + 1 :]
    if any(other.name in (*_CUTTING, "cache") for other in later):
        return None
    if is_ordered and any(other.name in ("shuffle", "repeat") for other in chain.steps[:place]):
        return None
    is_mixed = any(other.name == "shuffle" for other in later)
    if not _is_read_once(script, chain, place) or not (is_ordered or is_mixed):
        return None
    edit = inserted(script, step, "cache()")
    if edit is None:
        return None
    return Change(
        "Keep the result in memory",
        FixClass.SAME_RESULTS if is_ordered else FixClass.MAY_CHANGE_RESULTS,
        (edit,),
        "" if is_ordered else "The order before the cache is that of the first epoch from then on.",
    )


def cached_as_bytes(script: Script, line: int, kept: Change) -> Change | None:
    """Return the change that keeps images as bytes, where the map at a line makes them floats."""
    handed = uint8_input(script, line)
    if handed is None or is_in_conflict(handed.edits, kept.edits):
        return None
    note = f"The cache takes a quarter of the memory. {handed.note}"
    edits = (*handed.edits, *kept.edits)
    return Change("Keep the images in memory as bytes", FixClass.EQUIVALENT, edits, note)


def _is_read_once(script: Script, chain: Chain, place: int) -> bool:
    """Tell whether one chain reads what an operation gives: two would fill the cache in turns.

    What a name stands for at the end of a chain may be read, to its end, as often as one likes.
    """
    step = chain.steps[place]
    if place < len(chain.steps) - 1:
        return step.is_private
    statement = script.statement(step.call)
    if target_of(statement) is None:
        return True
    readers = uses(script, statement)
    if readers is None:
        return False
    is_one = len(readers) <= 1 or all(_goes_on(script, reader) for reader in readers)
    return is_one or all(_reads_all(script, reader) for reader in readers)


def _goes_on(script: Script, reader: ast.Name) -> bool:
    """Tell whether a statement such as `ds = ds.batch(2)` or `return ds` ends what it reads.

    Then there is one chain, whichever of its branches are taken.
    """
    statement, method = script.statement(reader), script.parent(reader)
    if isinstance(method, ast.Attribute) and method.attr in _CUTTING:
        return False
    named = [node for node in script.all(ast.Name, statement) if node.id == reader.id]
    is_looped = script.around(statement, ast.For, ast.While, ast.FunctionDef, ast.Module)
    is_final = isinstance(statement, ast.Return) and len(named) == 1
    is_rebound = target_of(statement) == reader.id and len(named) == 2
    return (is_final or is_rebound) and not isinstance(is_looped, ast.For | ast.While)


def _reads_all(script: Script, reader: ast.Name) -> bool:
    """Tell whether a dataset is read to its end at a place, by `fit` and its like."""
    call = script.parent(reader)
    call = script.parent(call) if isinstance(call, ast.keyword) else call
    function = call.func if isinstance(call, ast.Call) else None
    return isinstance(function, ast.Attribute) and function.attr in ("fit", "evaluate", "predict")


def cached_before_shuffle(
    script: Script, line: int, *, method: str, steady: Collection[int], is_repeated: bool = False
) -> Change | None:
    """Return the change that moves a shuffle of small elements behind the maps and a cache.

    A shuffle draws places, whatever lies there, so the order of elements stays the same, unless
    a `repeat` comes next: the two run as one.
    """
    found = chain_at(script, line, method)
    if found is None:
        return None
    chain, last = found
    first = last
    while first >= 0 and chain.steps[first].name == "map" and chain.steps[first].line in steady:
        first -= 1
    if first < 0 or first == last or chain.steps[first].name != "shuffle":
        return None
    if any(step.name in (*_CUTTING, "cache") for step in chain.steps[last + 1 :]):
        return None
    edits = _moved_behind(script, chain, first, last)
    if edits is None:
        return None
    is_fused = is_before_repeat(chain, last, is_repeated=is_repeated)
    return Change(
        "Keep the result in memory, and shuffle it",
        FixClass.MAY_CHANGE_RESULTS if is_fused else FixClass.SAME_RESULTS,
        edits,
        "The order of elements is random as before, but another one." if is_fused else "",
    )


def _moved_behind(script: Script, chain: Chain, first: int, last: int) -> tuple[Edit, ...] | None:
    """Return the edits that write `.cache()` and an operation behind others."""
    order = [*range(first + 1, last + 1), first]
    edits = reordered(script, chain, first, order, keeps_count=True)
    span = part_of(script, chain.steps[first].call)
    if edits is None or span is None:
        return None
    code = script.between(*span)
    cached = [replace(edit, text=_cache_before(script, edit, code)) for edit in edits]
    return tuple(cached) if tuple(cached) != edits else None


def _cache_before(script: Script, edit: Edit, code: str) -> str:
    """Return the text of an edit with `.cache()` in front of an operation, laid out like that."""
    indent = script.lines[edit.begin[0] - 1][: edit.begin[1]]
    is_own_line = edit.text.startswith(".") and not indent.strip()
    added = f".cache()\n{indent}{code}" if is_own_line else f".cache(){code}"
    return edit.text.replace(code, added, 1)


def take_before_cache(script: Script, line: int) -> Change | None:
    """Return the change that puts a `take` right behind the cache at a line before it."""
    found = chain_at(script, line, "cache")
    if found is None or found[1] + 1 >= len(found[0].steps):
        return None
    chain, place = found
    if chain.steps[place + 1].name != "take" or not _is_in_memory(chain.steps[place].call):
        return None
    if any(step.name == "shuffle" for step in chain.steps[:place]):
        return None  # each epoch takes others
    edits = reordered(script, chain, place, [place + 1, place])
    return Change("Take first, then cache", FixClass.SAME_RESULTS, edits) if edits else None


def cache_before_repeat(script: Script, line: int, *, steady: Collection[int]) -> Change | None:
    """Return the change that puts an endless `repeat` before the cache at a line behind it."""
    found = chain_at(script, line, "cache")
    if found is None:
        return None
    chain, place = found
    first = place - 1
    while first >= 0 and chain.steps[first].name == "map" and chain.steps[first].line in steady:
        first -= 1
    if first < 0 or chain.steps[first].name != "repeat":
        return None
    if any(step.name == "shuffle" for step in chain.steps[:first]):
        return None  # the cache would keep one order for all epochs
    if not (_is_endless(chain.steps[first].call) and _is_in_memory(chain.steps[place].call)):
        return None
    edits = reordered(script, chain, first, [*range(first + 1, place + 1), first])
    return Change("Cache before the repeat", FixClass.SAME_RESULTS, edits) if edits else None


def _is_in_memory(call: ast.Call) -> bool:
    return not call.args and not call.keywords


def _is_endless(call: ast.Call) -> bool:
    given = argument(call, 0, "count")
    if given is None:
        return not call.args and not call.keywords
    return (isinstance(given, ast.Constant) and given.value is None) or ast.unparse(given) == "-1"
