"""Edits as spans of text: made, merged, shown; keywords given to a call and taken from it."""

from __future__ import annotations

import ast
import io
import re
import textwrap
import tokenize
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from quickfit.code.syntax import is_open, keyword_value
from quickfit.findings import Change, Edit, Fix, Hunk, Position

if TYPE_CHECKING:
    from quickfit.code.module import Module

__all__ = [
    "Change",
    "Edit",
    "Lines",
    "Position",
    "apply_edits",
    "fix_from_change",
    "hunks_of",
    "is_in_conflict",
    "is_inside",
    "line_end",
    "lines_of",
    "merge_edits",
    "remove_keywords",
    "rename_keyword",
    "with_keyword",
]


def is_in_conflict(edits: Iterable[Edit], others: Iterable[Edit]) -> bool:
    """Tell whether two sets of edits touch the same text in different ways."""
    return any(_collide(edit, other) for edit in edits for other in others if edit != other)


def merge_edits(changes: Sequence[Change]) -> tuple[Edit, ...]:
    """Return the edits of changes that are in no conflict; what two of them do alike, once."""
    return tuple(sorted({edit for change in changes for edit in change.edits}))


def _collide(edit: Edit, other: Edit) -> bool:
    if edit.file != other.file:
        return False
    if edit.is_insertion and other.is_insertion:
        return False  # both stand, one behind the other
    if edit.is_insertion or other.is_insertion:
        point, span = (edit, other) if edit.is_insertion else (other, edit)
        return span.begin < point.begin < span.end
    return edit.begin < other.end and other.begin < edit.end


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return a file's text with edits made; line ends stay what they are, new ones are the same.

    The text may have any line ends, also mixed ones; a line is what Python takes for one.
    """
    lines = lines_of(text)
    # From the end, so that earlier positions stay right; of insertions at one place the first
    # one stays first.
    for edit in sorted(edits, key=lambda e: (e.begin, e.end, e.text), reverse=True):
        _replace_span(lines, edit)
    return "".join(lines)


def is_inside(edit: Edit, text: str) -> bool:
    """Tell whether a text has the place of an edit; the one behind its last line end counts."""
    is_span = edit.begin <= edit.end and min(edit.begin[1], edit.end[1]) >= 0
    return is_span and 1 <= edit.begin[0] <= len(lines_of(text)) + 1


def lines_of(text: str) -> list[str]:
    """Return the lines with their ends, as Python counts them: a form feed ends none."""
    lines, begin, at = [], 0, 0
    while at < len(text):
        width = 2 if text.startswith("\r\n", at) else 1
        if text[at] in "\r\n":
            lines.append(text[begin : at + width])
            begin = at + width
        at += width
    return [*lines, text[begin:]] if begin < len(text) else lines


def line_end(text: str) -> str:
    """Return the line end that a text uses first; `\\n` where it has none."""
    first = next(iter(lines_of(text)), "")
    return first[len(first.rstrip("\r\n")) :] or "\n"


def _replace_span(lines: list[str], edit: Edit) -> None:
    """Make one edit in place; `lines` is counted from the first line that may still change."""
    if edit.begin[0] > len(lines):  # behind the last line end
        lines.append("")
    first, last = edit.begin[0] - 1, min(edit.end[0], len(lines)) - 1
    head = lines[first][: edit.begin[1]]
    tail = lines[last][edit.end[1] :] if edit.end[0] <= len(lines) else ""
    end = line_end(lines[first] if lines[first].endswith(("\n", "\r")) else "".join(lines))
    lines[first : last + 1] = [head + edit.text.replace("\n", end) + tail]


# Of the lines of a file, with their ends taken off.
Lines = Callable[[str], Sequence[str]]


def fix_from_change(change: Change, texts: Mapping[str, str]) -> Fix:
    """Return a change as the fix of a finding, in the lines of the user's own files."""
    hunks = hunks_of(change, lambda file: [row.rstrip("\r\n") for row in lines_of(texts[file])])
    return Fix(
        change.title,
        change.kind,
        before="\n".join(hunk.before for hunk in hunks if hunk.before),
        after="\n".join(hunk.after for hunk in hunks if hunk.after),
        note=change.note,
        hunks=hunks,
    )


def hunks_of(change: Change, lines: Lines) -> tuple[Hunk, ...]:
    """Return what a change does to each place it touches, file by file.

    Args:
        change: with places in whole files.
        lines: gives the lines of a file.
    """
    return tuple(
        hunk
        for file in change.files
        for group in _neighbours([edit for edit in change.edits if edit.file == file])
        for hunk in _hunk(group, lines(file))
    )


def _neighbours(edits: Sequence[Edit]) -> Iterator[list[Edit]]:
    """Yield the edits that touch the same lines, together."""
    group: list[Edit] = []
    last = -1
    for edit in sorted(edits):
        if group and edit.begin[0] > last:
            yield group
            group = []
        group.append(edit)
        last = max(last, edit.end[0])
    if group:
        yield group


def _hunk(edits: Sequence[Edit], lines: Sequence[str]) -> Iterator[Hunk]:
    first = edits[0].begin[0]
    last = max(edit.end[0] for edit in edits)
    before = list(lines[first - 1 : last])
    moved = [
        replace(
            edit, begin=_relative_to_line(edit.begin, first), end=_relative_to_line(edit.end, first)
        )
        for edit in edits
    ]
    after = apply_edits("".join(f"{line}\n" for line in before), moved).split("\n")
    if after and not after[-1]:
        after.pop()
    while before and after and before[0] == after[0]:
        del before[0], after[0]
        first += 1
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    if before or after:
        yield Hunk(edits[0].file, first, "\n".join(before), "\n".join(after))


def _relative_to_line(position: tuple[int, int], first: int) -> tuple[int, int]:
    return position[0] - first + 1, position[1]


# -- arguments of a call ----------------------------------------------------------------------

_SPACE = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT)


@dataclass(frozen=True)
class _Part:
    """One argument as it is written; `comma` is where the comma behind it ends."""

    begin: Position
    end: Position
    comma: Position | None


@dataclass(frozen=True)
class _Arguments:
    """The arguments of a call in the order of the text, and where its brackets open and close."""

    begin: Position
    parts: list[_Part]
    end: Position


def with_keyword(
    file: Module, call: ast.Call, name: str, value: str, *, is_by_name_only: bool = False
) -> Edit | None:
    """Return the edit that gives a call `name=value`, laid out as its other arguments are.

    In the place of the value that the call gives to that name already. None where it may be given
    out of sight, in `*rest` or `**options`. A trailing comma and comments stay whose they are.

    Args:
        file: that holds the call.
        call: to be given the argument.
        name: of the argument.
        value: its code.
        is_by_name_only: nobody gives it by position, so that `*rest` cannot hold it.
    """
    given = keyword_value(call, name)
    if given is not None:
        return file.replace(given, value)
    is_hidden = any(k.arg is None for k in call.keywords)
    if is_hidden or (is_open(call) and not is_by_name_only):
        return None
    if any(file.end(argument) == file.end(call) for argument in call.args):
        return None  # of `f(x for x in y)`, the brackets are the generator's
    written = _arguments(file, call)
    if written is None:
        return None
    if not written.parts:
        return Edit(file.path, written.end, written.end, f"{name}={value}")
    last = written.parts[-1]
    space = _space_before(file, written)
    tail = file.between(last.comma or last.end, written.end)
    comment = re.match(r"[ \t]*#[^\n]*", tail)
    if comment is None:
        return Edit(file.path, last.end, last.end, f",{space}{name}={value}")
    # The comment is the last argument's: the new one begins on a line of its own.
    space = space if "\n" in space else "\n" + tail.rpartition("\n")[2]
    line, column = last.comma or last.end
    behind = (line, column + comment.end())
    if last.comma:
        return Edit(file.path, behind, behind, f"{space}{name}={value},")
    return Edit(file.path, last.end, behind, f",{comment[0]}{space}{name}={value}")


def _space_before(file: Module, written: _Arguments) -> str:
    """Return the white space that stands in front of an argument of a call, without comments."""
    *before, last = written.parts
    begin = (before[-1].comma or before[-1].end) if before else written.begin
    gap = file.between(begin, last.begin)
    if "\n" in gap:
        return "\n" + gap.rpartition("\n")[2]
    return gap if before else " "


def remove_keywords(file: Module, call: ast.Call, names: set[str]) -> tuple[Edit, ...]:
    """Return the edits that take keywords out of a call, with their commas.

    Lines that an argument has for itself go with it, and with the comment behind it. None where
    the call has no such keyword.
    """
    begins = {file.begin(k) for k in call.keywords if k.arg in names}
    written = _arguments(file, call) if begins else None
    if written is None:
        return ()
    gone = [n for n, part in enumerate(written.parts) if part.begin in begins]
    return tuple(_without(file, written, first, last) for first, last in _runs(gone))


def rename_keyword(file: Module, call: ast.Call, name: str, other: str) -> Edit | None:
    """Return the edit that gives a keyword of a call another name."""
    for keyword in call.keywords:
        if keyword.arg == name:
            begin = file.begin(keyword)
            return Edit(file.path, begin, (begin[0], begin[1] + len(name)), other)
    return None


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    """Return numbers that follow each other as first and last."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def _without(file: Module, written: _Arguments, first: int, last: int) -> Edit:
    """Return the edit that takes away the arguments from one to another."""
    parts = written.parts
    begin, end = parts[first].begin, parts[last].end
    behind = parts[last].comma or end
    before = parts[first - 1] if first else None
    gap = file.between(before.end, begin) if before is not None else ""
    has_lines = _has_lines(file, begin, behind)
    if has_lines and (parts[last].comma or before is None):
        return Edit(file.path, (begin[0], 0), (behind[0] + 1, 0), "")
    following = parts[last + 1].begin if last + 1 < len(parts) else None
    if following is not None and following[0] == behind[0]:
        return Edit(file.path, begin, following, "")
    if before is not None and "#" not in gap:
        return Edit(file.path, before.end, end, "")
    if before is not None and has_lines:  # its comment stays, and its comma goes
        kept = gap.replace(",", "", 1).rpartition("\n")[0]
        return Edit(file.path, before.end, (behind[0], len(file.lines[behind[0] - 1])), kept)
    is_end = following is None and not file.between(behind, written.end).strip()
    return Edit(file.path, begin, written.end if is_end else behind, "")


def _has_lines(file: Module, begin: Position, end: Position) -> bool:
    """Tell whether a piece of text has its lines for itself, but for a comment behind it."""
    before = file.lines[begin[0] - 1][: begin[1]].strip()
    behind = file.lines[end[0] - 1][end[1] :].strip()
    return not before and (not behind or behind.startswith("#"))


def _arguments(file: Module, call: ast.Call) -> _Arguments | None:
    """Return how the arguments of a call are written; None where the text has something else."""
    code, (line, column) = file.code(call), file.begin(call)
    # Brackets around it: the lines of a chain may be indented in any way.
    try:
        same = ast.unparse(ast.parse(f"({code})", mode="eval")) == ast.unparse(call)
        tokens = list(tokenize.generate_tokens(io.StringIO(f"({code})").readline))
    except (SyntaxError, ValueError, tokenize.TokenError):
        return None
    tokens = [t for t in tokens if t.type not in _SPACE]
    closes = next(n for n in range(len(tokens) - 1, -1, -1) if tokens[n].string == ")") - 1
    if not same or tokens[closes].string != ")":
        return None
    opens, depth = closes, 0
    while opens == closes or depth:
        depth += _depth(tokens[opens])
        opens -= 1
    opens += 1

    def place(position: Position) -> Position:
        row, at = position
        return line + row - 1, at - 1 + column if row == 1 else at

    parts: list[_Part] = []
    begin, depth = opens + 1, 0
    for number in range(opens + 1, closes + 1):
        token = tokens[number]
        is_comma = token.string == "," and not depth
        if (is_comma or number == closes) and number > begin:
            comma = place(token.end) if is_comma else None
            parts.append(_Part(place(tokens[begin].start), place(tokens[number - 1].end), comma))
        if is_comma:
            begin = number + 1
        depth -= _depth(token)
    return _Arguments(place(tokens[opens].end), parts, place(tokens[closes].start))


def _depth(token: tokenize.TokenInfo) -> int:
    """Return 1 for a bracket that closes, -1 for one that opens."""
    if token.type != tokenize.OP:
        return 0
    return (token.string in ")]}") - (token.string in "([{")


# -- code from code -----------------------------------------------------------------------------

# Longer lines are hard to read side by side.
WIDTH = 88


def code_with_replaced(module: Module, node: ast.AST, codes: Mapping[ast.expr, str]) -> str:
    """Return the text of a node, as the user wrote it, with expressions replaced."""
    first = module.begin(node)
    edits = []
    for inner, code in codes.items():
        begin, end = module.begin(inner), module.end(inner)
        edits.append(Edit(module.path, _relative(begin, first), _relative(end, first), code))
    return apply_edits(module.code(node), edits)


def call_code(name: str, given: Sequence[str], indent: str) -> str:
    """Return a call, over several lines where one would be too long."""
    line = f"{name}({', '.join(given)})"
    if len(indent) + len(line) <= WIDTH and "\n" not in line:
        return line
    rows = [textwrap.indent(f"{one},", "    ") for one in given]
    return "\n".join([f"{name}(", *rows, ")"])


def _relative(position: tuple[int, int], first: tuple[int, int]) -> tuple[int, int]:
    line = position[0] - first[0] + 1
    return line, position[1] - first[1] if line == 1 else position[1]
