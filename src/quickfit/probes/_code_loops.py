"""Finds the loops in a function's bytecode: which instructions a `for` or `while` repeats.

With them a call is known to lie inside the body of a loop or outside of it, whatever the script
looks like, and without its source.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from types import CodeType, FrameType
from typing import TYPE_CHECKING, NamedTuple

from quickfit.standard import standard

if TYPE_CHECKING:
    import dis

    Instructions = dict[int, dis.Instruction]

# Instructions after which the next one is not run.
_LAST = (
    "RETURN_VALUE",
    "RETURN_CONST",
    "RAISE_VARARGS",
    "RERAISE",
    "JUMP_FORWARD",
    "JUMP_BACKWARD",
)
# Code that is nested deeper than this below a loop is not looked for.
MAX_FRAMES = 30


class Body(NamedTuple):
    """The body of one loop: from its first to its last instruction, and the line it begins at.

    That is the line of a `for`; of a `while` it is its test's, or the first line inside.
    """

    code: CodeType
    first: int
    last: int
    line: int

    @property
    def lines(self) -> tuple[int, int]:
        """The first and the last line of it."""
        spans = self.code.co_lines()
        inside = [line for begin, end, line in spans if begin <= self.last and end > self.first]
        lines = [line for line in inside if line] or [self.line]
        return min(lines), max(lines)

    def holds(self, frame: FrameType | None) -> bool:
        """Tell whether a frame, or one that called it, is inside this loop now."""
        for _ in range(MAX_FRAMES):
            if frame is None:
                return False
            if frame.f_code is self.code:
                return self.first <= frame.f_lasti <= self.last
            frame = frame.f_back
        return False


# By the identity of the code object, which the bodies keep alive.
_known: dict[int, tuple[CodeType, list[Body]]] = {}


def innermost_body(frame: FrameType) -> Body | None:
    """Return the innermost loop of its own code that a frame is in, or None."""
    at = frame.f_lasti
    around = [body for body in bodies(frame.f_code) if body.first <= at <= body.last]
    return min(around, key=lambda body: body.last - body.first, default=None)


def bodies(code: CodeType) -> list[Body]:
    """Return every loop of a code object."""
    known = _known.get(id(code))
    if known is None:
        known = _known[id(code)] = (code, _bodies(code))
    return known[1]


def _bodies(code: CodeType) -> list[Body]:
    instructions: Iterable[dis.Instruction] = standard("dis").get_instructions(code)
    found = {instruction.offset: instruction for instruction in instructions}
    ends: dict[int, int] = {}
    for offset, instruction in found.items():
        # `await` and `yield from` jump back as well, without being a loop of the script.
        if not _is_jump(instruction) or "NO_INTERRUPT" in instruction.opname:
            continue
        first = instruction.argval
        # Python 3.12 jumps back to what follows a `with` or `try` from behind all other code.
        if first < offset and offset in _reached(found, first):
            ends[first] = max(ends.get(first, 0), offset)
    _join_tests(ends, found)
    for first in sorted(ends, reverse=True):
        for outer in ends:
            # A `break` may jump to the begin of the outer loop, which then seems to end there.
            if outer < first <= ends[outer] < ends[first]:
                ends[outer] = ends[first]
    return [Body(code, first, last, _line(found[first])) for first, last in ends.items()]


def _join_tests(ends: dict[int, int], found: Instructions) -> None:
    """See as one what `continue` and the end of a `while` jump to: its test stands in both."""
    for first in sorted(ends, reverse=True):
        inside = {i.positions for i in found.values() if first <= i.offset <= ends[first]}
        for test in [test for test in ends if test < first and ends[test] < ends[first]]:
            before = {i.positions for i in found.values() if test <= i.offset < first}
            if before <= inside:
                ends[test] = ends.pop(first)
                break


def _reached(found: Instructions, start: int) -> set[int]:
    """Return the instructions that are run after one if nothing raises."""
    following = dict(itertools.pairwise(found))
    reached: set[int] = set()
    waiting = [start]
    while waiting:
        offset = waiting.pop()
        if offset in reached or offset not in found:
            continue
        reached.add(offset)
        instruction = found[offset]
        if _is_jump(instruction):
            waiting.append(instruction.argval)
        if not instruction.opname.startswith(_LAST) and offset in following:
            waiting.append(following[offset])
    return reached


def _is_jump(instruction: dis.Instruction) -> bool:
    every = standard("dis")
    return instruction.opcode in (*every.hasjrel, *every.hasjabs)


def _line(instruction: dis.Instruction) -> int:
    return (instruction.positions.lineno if instruction.positions else None) or 0
