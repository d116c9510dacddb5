"""Finds the user's line behind code that AutoGraph generated.

AutoGraph writes a function anew into a temporary file, with a chain of calls over several lines
made into one. Its own map knows the statement; the calls within keep their order, so the n-th
`.map` of the generated function is the n-th `.map` of the function as it was written.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType
from typing import Any, NamedTuple

from quickfit.probes._places import Place, absolute
from quickfit.standard import standard

# As AutoGraph writes a call; what is called is the first argument.
_CALL = "ag__.converted_call("
_LOOKED_UP = "ag__.ld("
_NAMES = {"LOAD_ATTR", "LOAD_METHOD", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_FAST"}


class Spot(NamedTuple):
    """Where a frame of generated code stands."""

    code: CodeType
    instruction: int
    line: int


class Converted(NamedTuple):
    """A function as it was written, and as AutoGraph wrote it."""

    original: CodeType
    generated: CodeType
    source_map: Any  # AutoGraph's own: a generated line to where it comes from


class _Name(NamedTuple):
    """A name that some code looks up, and where it is written."""

    end: tuple[int, int]
    begin: tuple[int, int]
    name: str


def conversion(converting: dict[str, Any]) -> Converted | None:
    """Return what AutoGraph converted, from the variables of its frame that calls the result."""
    converted, entity = converting.get("converted_f"), converting.get("target_entity")
    original, generated = getattr(entity, "__code__", None), getattr(converted, "__code__", None)
    if not isinstance(original, CodeType) or not isinstance(generated, CodeType):
        return None
    return Converted(original, generated, getattr(converted, "ag_source_map", {}))


def original_line(spot: Spot, function: Converted) -> int:
    """Return the user's line for a spot in a generated function."""
    line = _line_of_call(spot, function) or _line_of_statement(spot, function)
    return line or function.original.co_firstlineno


def place_of_inner(code: CodeType, function: Converted) -> Place | None:
    """Return where the user wrote a function that stands inside a generated one."""
    there = [inner for inner in _inner(function.generated) if _is_alike(inner, code)]
    here = [inner for inner in _inner(function.original) if _is_alike(inner, code)]
    if len(there) != len(here) or code not in there:
        return None
    original = here[there.index(code)]
    return Place(absolute(original.co_filename), original.co_firstlineno, original.co_name)


def _inner(code: CodeType) -> Iterator[CodeType]:
    """Return the functions inside a function, in the order of the text."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _inner(constant)


def _is_alike(one: CodeType, two: CodeType) -> bool:
    def signature(code: CodeType) -> tuple[str, ...]:
        return (code.co_name, *code.co_varnames[: code.co_argcount])

    return signature(one) == signature(two)


def _line_of_call(spot: Spot, function: Converted) -> int | None:
    called = _called(spot)
    if called is None:
        return None
    there = [name for name in _names(function.generated) if name.name == called.name]
    here = [name for name in _names(function.original) if name.name == called.name]
    # With other numbers, the function was changed more than we know of.
    if len(there) != len(here) or called not in there:
        return None
    return here[there.index(called)].end[0]


def _called(spot: Spot) -> _Name | None:
    """Return the name of what a generated call calls: the longest that begins where it must."""
    line, _, column, _ = list(spot.code.co_positions())[spot.instruction // 2]
    if line is None or column is None:
        return None
    first = column + len(_CALL)
    for begin in (first, first + len(_LOOKED_UP)):
        names = [name for name in _own_names(spot.code) if name.begin == (line, begin)]
        called = max(names, default=None)
        # `ag__.ld(name)` is one more call around the name.
        if called is not None and called.end != (line, begin + len(_LOOKED_UP) - 1):
            return called
    return None


def _line_of_statement(spot: Spot, function: Converted) -> int | None:
    for place, origin in function.source_map.items():
        if place.lineno == spot.line:
            return int(origin.loc.lineno)
    return None


def _names(code: CodeType) -> list[_Name]:
    """Return the names that a function and those inside it look up, in the order of the text."""
    return sorted({name for part in (code, *_inner(code)) for name in _own_names(part)})


def _own_names(code: CodeType) -> Iterator[_Name]:
    for step in standard("dis").get_instructions(code):
        where = step.positions
        if step.opname not in _NAMES or where is None or where.lineno is None:
            continue
        begin = (where.lineno, where.col_offset or 0)
        end = (where.end_lineno or where.lineno, where.end_col_offset or 0)
        yield _Name(end, begin, str(step.argval))
