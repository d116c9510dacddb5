"""Edits of a chain of dataset operations: its order, a shuffle, a parallel map."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from quickfit.code import Module
from quickfit.code.datasets import ChainStep, LocalChain, chain_at
from quickfit.code.edits import apply_edits
from quickfit.code.scopes import (
    may_bind,
    reads_of_assignment,
    target_of,
    value_of_statement,
)
from quickfit.code.syntax import parse_or_none
from quickfit.findings import Change, Edit, FixClass, Position


def reordered(
    module: Module,
    chain: LocalChain,
    first: int,
    order: Sequence[int],
    *,
    keeps_count: bool = False,
) -> tuple[Edit, ...] | None:
    """Return the edits that give the operations from `first` on another order.

    `order` holds the places of the operations in the order that is wanted. `keeps_count` tells
    that none of them changes the number of elements. None where that cannot be written without
    losing a comment, or someone would notice.
    """
    steps = chain.steps[first : first + len(order)]
    wanted = [chain.steps[place] for place in order]
    if not chain.is_closed(first, first + len(order) - 1, keeps_count=keeps_count):
        return None
    if not _is_in_order(module, steps):
        return None
    as_statements = _as_statements(module, steps, wanted)
    if as_statements is not None and keeps_count:
        return as_statements
    made = {target_of(statement) for statement in _statements(module, steps)[:-1]}
    if any(name.id in made for step in steps for name in _names_of_arguments(step)):
        return None  # an argument is made of what is between the operations
    edits = as_statements or _as_parts(module, steps, wanted)
    return edits if edits is not None and is_python(module, edits) else None


def as_one(module: Module, edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """Return edits as one from the first to the last, so that no other comes between them.

    A cache that another change puts between operations which change places would hold one order.
    """
    if len(edits) < 2:
        return tuple(edits)
    begin, end = min(edit.begin for edit in edits), max(edit.end for edit in edits)
    lines = module.lines
    before = "\n".join([*lines[: begin[0] - 1], lines[begin[0] - 1][: begin[1]]])
    after = "\n".join([lines[end[0] - 1][end[1] :], *lines[end[0] :]])
    text = apply_edits("\n".join(lines), edits)
    return (Edit(module.path, begin, end, text[len(before) : len(text) - len(after)]),)


def _statements(module: Module, steps: Sequence[ChainStep]) -> list[ast.stmt]:
    return list(dict.fromkeys(module.statement(step.call) for step in steps))


def _is_in_order(module: Module, steps: Sequence[ChainStep]) -> bool:
    """Tell whether what the operations are given may as well be made in another order.

    Statements between them may matter to a moved one only through the names it reads.
    """
    statements = _statements(module, steps)
    block = module.block(statements[0])
    if any(statement not in block for statement in statements):
        return False
    between = block[block.index(statements[0]) : block.index(statements[-1]) + 1]
    read = {name.id for step in steps for name in _names_of_arguments(step)}
    read |= {name for statement in statements if (name := target_of(statement)) is not None}
    others = [statement for statement in between if statement not in statements]
    return not any(may_bind(other, name) for other in others for name in read)


def _names_of_arguments(step: ChainStep) -> list[ast.Name]:
    given = [*step.call.args, *(keyword.value for keyword in step.call.keywords)]
    return [n for value in given for n in ast.walk(value) if isinstance(n, ast.Name)]


# -- statements that change places -----------------------------------------------------------


def _as_statements(
    module: Module, steps: Sequence[ChainStep], wanted: Sequence[ChainStep]
) -> tuple[Edit, ...] | None:
    """Let whole statements `ds = ds.method(...)` of one name change places."""
    statements = [module.statement(step.call) for step in steps]
    if not all(_is_single(module, s, step) for s, step in zip(statements, steps, strict=True)):
        return None
    names = {target_of(s) for s in statements} | {_on(step) for step in steps}
    if len(names) != 1:
        return None
    spans = {step.call: _span(module, module.statement(step.call)) for step in steps}
    edits = []
    for place, step in zip(steps, wanted, strict=True):
        if place is not step:
            begin, end = spans[place.call]
            text = "\n".join(module.lines[spans[step.call][0] - 1 : spans[step.call][1]])
            edits.append(Edit(module.path, (begin, 0), (end, len(module.lines[end - 1])), text))
    return tuple(edits)


def _is_single(module: Module, statement: ast.stmt, step: ChainStep) -> bool:
    return (
        value_of_statement(statement) is step.call
        and _on(step) is not None
        and module.is_alone(statement)
        and target_of(statement) is not None
    )


def _on(step: ChainStep) -> str | None:
    """Return the name that an operation is called on."""
    function = step.call.func
    value = function.value if isinstance(function, ast.Attribute) else None
    return value.id if isinstance(value, ast.Name) else None


def _span(module: Module, statement: ast.stmt) -> tuple[int, int]:
    """Return the first and last line of a statement with the comments above it."""
    first, last = module.begin(statement)[0], module.end(statement)[0]
    while first > 1 and module.lines[first - 2].startswith(module.indent(statement) + "#"):
        first -= 1
    return first, last


# -- parts of lines that change places --------------------------------------------------------


def _as_parts(
    module: Module, steps: Sequence[ChainStep], wanted: Sequence[ChainStep]
) -> tuple[Edit, ...] | None:
    spans = {step.call: part_of(module, step.call) for step in steps}
    if any(span is None for span in spans.values()) or _has_comments(module, steps):
        return None
    edits = []
    for place, step in zip(steps, wanted, strict=True):
        here, there = spans[place.call], spans[step.call]
        if place is not step and here is not None and there is not None:
            text = _indented(module, there, here)
            edits.append(Edit(module.path, *here, text))
    return tuple(edits)


def part_of(module: Module, call: ast.Call) -> tuple[Position, Position] | None:
    """Return the span of `.method(...)`; None where the dot stands on another line."""
    assert isinstance(call.func, ast.Attribute)
    line, end = module.end(call.func)
    column = end - len(call.func.attr) - 1
    if column < 0 or module.lines[line - 1][column] != ".":
        return None
    return (line, column), module.end(call)


def _indented(
    module: Module, span: tuple[Position, Position], target: tuple[Position, Position]
) -> str:
    """Return the text of a span, its further lines indented as at another place."""
    text = module.between(*span)
    head, *rest = text.split("\n")
    shift = _indent_at(module, target[0][0]) - _indent_at(module, span[0][0])
    if not rest or not shift:
        return text
    moved = [
        " " * shift + line if shift > 0 else line[min(-shift, _width(line)) :] for line in rest
    ]
    return "\n".join([head, *moved])


def _indent_at(module: Module, line: int) -> int:
    return _width(module.lines[line - 1])


def _width(line: str) -> int:
    return len(line) - len(line.lstrip())


def _has_comments(module: Module, steps: Sequence[ChainStep]) -> bool:
    """Tell whether a comment stands in the statements of operations, or above one of them."""
    statements = list(dict.fromkeys(module.statement(step.call) for step in steps))
    for statement in statements:
        if module.has_comment(statement, statement):
            return True
        if len(statements) > 1 and _span(module, statement)[0] < module.begin(statement)[0]:
            return True
    return False


# -- an operation that comes new ---------------------------------------------------------------


def inserted(module: Module, step: ChainStep, code: str) -> Edit | None:
    """Return the edit that puts `.code` behind an operation, laid out as that is."""
    statement, span = module.statement(step.call), part_of(module, step.call)
    if span is None:
        return None
    name = target_of(statement)
    is_last = value_of_statement(statement) is step.call
    if is_last and name is not None and module.is_alone(statement) and _rebinds(module, statement):
        return module.insert_after(statement, f"{name} = {name}.{code}")
    on_own_line = _on_own_line(module, span, code)
    if on_own_line is not None and is_python(module, (on_own_line,)):
        return on_own_line
    return Edit(module.path, span[1], span[1], f".{code}")


def _on_own_line(module: Module, span: tuple[Position, Position], code: str) -> Edit | None:
    """Return the edit that adds a line below an operation that has a line of its own."""
    begin, end = span
    line, last = module.lines[begin[0] - 1], module.lines[end[0] - 1]
    indent = line[: len(line) - len(line.lstrip())]
    if begin[1] != len(indent):
        return None
    rest = last[end[1] :].strip()
    if rest.startswith("#"):
        end = (end[0], len(last))  # the comment stays with its operation
    text = f" \\\n{indent}.{code}" if rest == "\\" else f"\n{indent}.{code}"
    return Edit(module.path, end, end, text)


def is_python(module: Module, edits: Sequence[Edit]) -> bool:
    """Tell whether a file is still Python with edits made."""
    return parse_or_none(apply_edits(module.text, edits)) is not None


def _rebinds(module: Module, statement: ast.stmt) -> bool:
    """Tell whether a chain is written in steps that give one name again and again."""
    name = target_of(statement)
    readers = reads_of_assignment(module, statement) or []
    others = [module.statement(reader) for reader in readers]
    value = value_of_statement(statement)
    is_again = value is not None and any(
        isinstance(n, ast.Name) and n.id == name for n in ast.walk(value)
    )
    return is_again or any(target_of(other) == name for other in others)


# They hand every element on by itself, in the order in which it came.
_PER_ELEMENT = ("map", "prefetch")


def shuffle_first(
    module: Module, line: int, *, steady: Collection[int], is_repeated: bool = False
) -> Change | None:
    """Return the change that moves the shuffle at a line before the maps in front of it.

    A shuffle draws places, whatever lies there, so its order stays the same. A map that keeps
    state meets the elements in that other order. `steady` holds the lines of maps that do not.
    `is_repeated` tells whether there is a `repeat` in the pipeline, in this text or not.
    """
    found = chain_at(module, line, "shuffle")
    if found is None:
        return None
    chain, place = found
    first = _first_map(chain, place)
    if first is None:
        return None
    edits = reordered(module, chain, first, [place, *range(first, place)], keeps_count=True)
    if edits is None:
        return None
    edits = as_one(module, edits)
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


def is_before_repeat(chain: LocalChain, place: int, *, is_repeated: bool) -> bool:
    """Tell whether a `repeat` may come next: with a shuffle it runs as one, and draws otherwise."""
    if place + 1 < len(chain.steps):
        return chain.steps[place + 1].name == "repeat"
    return is_repeated


def _first_map(chain: LocalChain, place: int) -> int | None:
    """Return the first of the maps that stand right before a place."""
    first = place
    while first and chain.steps[first - 1].name in _PER_ELEMENT:
        first -= 1
    while first < place and chain.steps[first].name != "map":
        first += 1
    return first if first < place else None
