"""Finds the loops in a function's bytecode: which instructions a `for` or `while` repeats.

With them a call is known to lie inside the body of a loop or outside of it, whatever the script
looks like, and without its source.
"""

from __future__ import annotations

from types import CodeType, FrameType
from typing import NamedTuple

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
    import dis

    ends: dict[int, int] = {}
    lines: dict[int, int] = {}
    for instruction in dis.get_instructions(code):
        positions = instruction.positions
        lines[instruction.offset] = (positions.lineno if positions else None) or 0
        is_jump = instruction.opcode in (*dis.hasjrel, *dis.hasjabs)
        # `await` and `yield from` jump back as well, without being a loop of the script.
        if not is_jump or "NO_INTERRUPT" in instruction.opname:
            continue
        if isinstance(instruction.argval, int) and instruction.argval < instruction.offset:
            ends[instruction.argval] = max(ends.get(instruction.argval, 0), instruction.offset)
    return [Body(code, first, last, lines.get(first, 0)) for first, last in ends.items()]
