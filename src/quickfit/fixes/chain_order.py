"""Puts the operations of a chain into another order, or a new one among them, as text.

Each operation has a place in the text: `.map(f)` at the end of a line, on a line of its own, or in
a statement `ds = ds.map(f)`. To reorder is to fill the same places with other operations, so the
layout stays the user's. Where every operation has a statement of its own, the statements change
places, and the comments above and behind them go along.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from quickfit.fixes.chain import Chain, Step
from quickfit.fixes.chain_names import stores, target_of, uses, value_of
from quickfit.fixes.change import Edit, Position, patched
from quickfit.fixes.script import Script
from quickfit.source.calls import parsed


def reordered(
    script: Script,
    chain: Chain,
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
    if not _is_in_order(script, steps):
        return None
    as_statements = _as_statements(script, steps, wanted)
    if as_statements is not None and keeps_count:
        return as_statements
    made = {target_of(statement) for statement in _statements(script, steps)[:-1]}
    if any(name.id in made for step in steps for name in _names_of_arguments(step)):
        return None  # an argument is made of what is between the operations
    edits = as_statements or _as_parts(script, steps, wanted)
    return edits if edits is not None and is_python(script, edits) else None


def _statements(script: Script, steps: Sequence[Step]) -> list[ast.stmt]:
    return list(dict.fromkeys(script.statement(step.call) for step in steps))


def _is_in_order(script: Script, steps: Sequence[Step]) -> bool:
    """Tell whether what the operations are given may as well be made in another order.

    Statements between them may matter to a moved one only through the names it reads.
    """
    statements = _statements(script, steps)
    block = script.block(statements[0])
    if any(statement not in block for statement in statements):
        return False
    between = block[block.index(statements[0]) : block.index(statements[-1]) + 1]
    read = {name.id for step in steps for name in _names_of_arguments(step)}
    read |= {name for statement in statements if (name := target_of(statement)) is not None}
    others = [statement for statement in between if statement not in statements]
    return not any(stores(other, name) for other in others for name in read)


def _names_of_arguments(step: Step) -> list[ast.Name]:
    given = [*step.call.args, *(keyword.value for keyword in step.call.keywords)]
    return [n for value in given for n in ast.walk(value) if isinstance(n, ast.Name)]


# -- statements that change places -----------------------------------------------------------


def _as_statements(
    script: Script, steps: Sequence[Step], wanted: Sequence[Step]
) -> tuple[Edit, ...] | None:
    """Let whole statements `ds = ds.method(...)` of one name change places."""
    statements = [script.statement(step.call) for step in steps]
    if not all(_is_single(script, s, step) for s, step in zip(statements, steps, strict=True)):
        return None
    names = {target_of(s) for s in statements} | {_on(step) for step in steps}
    if len(names) != 1:
        return None
    spans = {step.call: _span(script, script.statement(step.call)) for step in steps}
    edits = []
    for place, step in zip(steps, wanted, strict=True):
        if place is not step:
            begin, end = spans[place.call]
            text = "\n".join(script.lines[spans[step.call][0] - 1 : spans[step.call][1]])
            edits.append(Edit(script.file, (begin, 0), (end, len(script.lines[end - 1])), text))
    return tuple(edits)


def _is_single(script: Script, statement: ast.stmt, step: Step) -> bool:
    return (
        value_of(statement) is step.call
        and _on(step) is not None
        and script.is_alone(statement)
        and target_of(statement) is not None
    )


def _on(step: Step) -> str | None:
    """Return the name that an operation is called on."""
    function = step.call.func
    value = function.value if isinstance(function, ast.Attribute) else None
    return value.id if isinstance(value, ast.Name) else None


def _span(script: Script, statement: ast.stmt) -> tuple[int, int]:
    """Return the first and last line of a statement with the comments above it."""
    first, last = script.begin(statement)[0], script.end(statement)[0]
    while first > 1 and script.lines[first - 2].startswith(script.indent(statement) + "#"):
        first -= 1
    return first, last


# -- parts of lines that change places --------------------------------------------------------


def _as_parts(
    script: Script, steps: Sequence[Step], wanted: Sequence[Step]
) -> tuple[Edit, ...] | None:
    spans = {step.call: part_of(script, step.call) for step in steps}
    if any(span is None for span in spans.values()) or _has_comments(script, steps):
        return None
    edits = []
    for place, step in zip(steps, wanted, strict=True):
        here, there = spans[place.call], spans[step.call]
        if place is not step and here is not None and there is not None:
            text = _indented(script, there, here)
            edits.append(Edit(script.file, *here, text))
    return tuple(edits)


def part_of(script: Script, call: ast.Call) -> tuple[Position, Position] | None:
    """Return the span of `.method(...)`; None where the dot stands on another line."""
    assert isinstance(call.func, ast.Attribute)
    line, end = script.end(call.func)
    column = end - len(call.func.attr) - 1
    if column < 0 or script.lines[line - 1][column] != ".":
        return None
    return (line, column), script.end(call)


def _indented(
    script: Script, span: tuple[Position, Position], target: tuple[Position, Position]
) -> str:
    """Return the text of a span, its further lines indented as at another place."""
    text = script.between(*span)
    head, *rest = text.split("\n")
    shift = _indent_at(script, target[0][0]) - _indent_at(script, span[0][0])
    if not rest or not shift:
        return text
    moved = [
        " " * shift + line if shift > 0 else line[min(-shift, _width(line)) :] for line in rest
    ]
    return "\n".join([head, *moved])


def _indent_at(script: Script, line: int) -> int:
    return _width(script.lines[line - 1])


def _width(line: str) -> int:
    return len(line) - len(line.lstrip())


def _has_comments(script: Script, steps: Sequence[Step]) -> bool:
    """Tell whether a comment stands in the statements of operations, or above one of them."""
    statements = list(dict.fromkeys(script.statement(step.call) for step in steps))
    for statement in statements:
        if script.has_comment(statement, statement):
            return True
        if len(statements) > 1 and _span(script, statement)[0] < script.begin(statement)[0]:
            return True
    return False


# -- an operation that comes new ---------------------------------------------------------------


def inserted(script: Script, step: Step, code: str) -> Edit | None:
    """Return the edit that puts `.code` behind an operation, laid out as that is."""
    statement, span = script.statement(step.call), part_of(script, step.call)
    if span is None:
        return None
    name = target_of(statement)
    is_last = value_of(statement) is step.call
    if is_last and name is not None and script.is_alone(statement) and _rebinds(script, statement):
        return script.insert_after(statement, f"{name} = {name}.{code}")
    on_own_line = _on_own_line(script, span, code)
    if on_own_line is not None and is_python(script, (on_own_line,)):
        return on_own_line
    return Edit(script.file, span[1], span[1], f".{code}")


def _on_own_line(script: Script, span: tuple[Position, Position], code: str) -> Edit | None:
    """Return the edit that adds a line below an operation that has a line of its own."""
    begin, end = span
    line, last = script.lines[begin[0] - 1], script.lines[end[0] - 1]
    indent = line[: len(line) - len(line.lstrip())]
    if begin[1] != len(indent):
        return None
    rest = last[end[1] :].strip()
    if rest.startswith("#"):
        end = (end[0], len(last))  # the comment stays with its operation
    text = f" \\\n{indent}.{code}" if rest == "\\" else f"\n{indent}.{code}"
    return Edit(script.file, end, end, text)


def is_python(script: Script, edits: Sequence[Edit]) -> bool:
    """Tell whether a file is still Python with edits made."""
    return parsed(patched(script.text, edits)) is not None


def _rebinds(script: Script, statement: ast.stmt) -> bool:
    """Tell whether a chain is written in steps that give one name again and again."""
    name = target_of(statement)
    readers = uses(script, statement) or []
    others = [script.statement(reader) for reader in readers]
    value = value_of(statement)
    is_again = value is not None and any(
        isinstance(n, ast.Name) and n.id == name for n in ast.walk(value)
    )
    return is_again or any(target_of(other) == name for other in others)


def argument(call: ast.Call, place: int, name: str) -> ast.expr | None:
    """Return an argument given by place or by name; None where it is not given or not told."""
    if any(isinstance(arg, ast.Starred) for arg in call.args):
        return None
    if place < len(call.args):
        return call.args[place]
    return next((k.value for k in call.keywords if k.arg == name), None)
