"""Source of the user as a page shows it: the line of a finding among its neighbours, a diff."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence

from quickfit.findings import Excerpt, Finding, Hunk, Location
from quickfit.report import text
from quickfit.report.page.markup import Html, element, join

# Lines shown around a finding's place and around a change.
CONTEXT = 3
# Longer changes are for the patch that `quickfit fix --diff` prints.
MAX_LINES = 80
MAX_WIDTH = 300
_WORD = re.compile(r"\w+|\s+|.", re.S)
# Lines that share less than this are not marked word by word: it would be all marks.
MIN_LIKENESS = 0.5

# A line of a diff: its number, its sign, its text as markup.
DiffLine = tuple[str, str, Html]


def source_around(where: Location, excerpts: Sequence[Excerpt]) -> Html:
    """Return the line of a place among its neighbours, or the line alone where that is all."""
    found = [e for e in excerpts if e.file == where.file and _holds(e, where.line)]
    if not found:
        if not where.text:
            return Html("")
        return _listing([(str(where.line), "here", _code(where.text))])
    lines = _lines_of(found[0], where.line - CONTEXT, where.line + CONTEXT)
    return _listing([(str(n), "here" if n == where.line else "", _code(t)) for n, t in lines])


def _holds(excerpt: Excerpt, line: int) -> bool:
    return excerpt.line <= line < excerpt.line + len(excerpt.lines)


def _lines_of(excerpt: Excerpt, first: int, last: int) -> list[tuple[int, str]]:
    numbered = enumerate(excerpt.lines, start=excerpt.line)
    return [(number, line) for number, line in numbered if first <= number <= last]


def _code(line: str) -> Html:
    return join(text.clip(line.expandtabs(4).rstrip(), MAX_WIDTH))


def shows_place(finding: Finding) -> bool:
    """Tell whether the change of a finding shows its line already."""
    where, fix = finding.where, finding.fix
    return (
        where is not None
        and fix is not None
        and any(
            hunk.file == where.file
            and hunk.line <= where.line <= hunk.line + hunk.before.count("\n")
            for hunk in fix.hunks
        )
    )


def diffs_of_hunks(
    hunks: Sequence[Hunk], excerpts: Sequence[Excerpt]
) -> Iterator[tuple[Hunk, Html]]:
    """Yield the first place and the listing of a change: what goes, what comes, what is around.

    Places that are near each other share a listing.
    """
    group: list[Hunk] = []
    for hunk in sorted(hunks, key=lambda one: (one.file, one.line)):
        if group and not _is_near(group[-1], hunk, excerpts):
            yield group[0], _diff_of_group(group, excerpts)
            group = []
        group.append(hunk)
    if group:
        yield group[0], _diff_of_group(group, excerpts)


def _last_line(hunk: Hunk) -> int:
    """Return the last line that a change takes away; of one that only adds, the one before it."""
    return hunk.line + hunk.before.count("\n") if hunk.before else hunk.line - 1


def _is_near(one: Hunk, other: Hunk, excerpts: Sequence[Excerpt]) -> bool:
    first, last = _last_line(one) + 1, other.line - 1
    if one.file != other.file or last - first >= 2 * CONTEXT or last < first - 1:
        return False
    return len(_around(one.file, first, last, excerpts)) == last - first + 1


def _around(file: str, first: int, last: int, excerpts: Sequence[Excerpt]) -> list[tuple[int, str]]:
    mine = [excerpt for excerpt in excerpts if excerpt.file == file]
    return [line for excerpt in mine for line in _lines_of(excerpt, first, last)]


def _diff_of_group(hunks: Sequence[Hunk], excerpts: Sequence[Excerpt]) -> Html:
    lines: list[DiffLine] = []
    shown = max(hunks[0].line - 1 - CONTEXT, 0)
    for hunk in hunks:
        between = _around(hunk.file, shown + 1, hunk.line - 1, excerpts)
        lines += [(str(n), "", _code(line)) for n, line in between]
        before, after = (t.split("\n") if t else [] for t in (hunk.before, hunk.after))
        lines += _diff_lines(before, after, hunk.line)
        shown = _last_line(hunk)
    tail = _around(hunks[-1].file, shown + 1, shown + CONTEXT, excerpts)
    return _listing([*lines, *((str(n), "", _code(line)) for n, line in tail)])


def diff_of_text(before: str, after: str) -> Html:
    """Return a change whose place in its file is not known."""
    lines = _diff_lines(before.split("\n") if before else [], after.split("\n") if after else [], 0)
    return _listing(list(lines))


def listing_of(code: str) -> Html:
    """Return code as it is."""
    lines = code.strip("\n").split("\n")
    return _listing([("", "", _code(line)) for line in lines])


def _diff_lines(before: list[str], after: list[str], first: int) -> Iterator[DiffLine]:
    def number(place: int) -> str:
        return str(first + place) if first else ""

    for kind, b0, b1, a0, a1 in difflib.SequenceMatcher(None, before, after, False).get_opcodes():
        if kind == "equal":
            yield from ((number(n), "", _code(before[n])) for n in range(b0, b1))
            continue
        old, new = before[b0:b1], after[a0:a1]
        # Of unequal blocks nothing says which line became which.
        is_paired = len(old) == len(new)
        marked = [_word_marks(*pair) for pair in zip(old, new, strict=True)] if is_paired else []
        for n, line in enumerate(old):
            yield number(b0 + n), "-", marked[n][0] if n < len(marked) else _code(line)
        for n, line in enumerate(new):
            yield "", "+", marked[n][1] if n < len(marked) else _code(line)


def _word_marks(before: str, after: str) -> tuple[Html, Html]:
    """Return two lines in which the words that differ are marked."""
    old, new = (_WORD.findall(text.clip(t.expandtabs(4), MAX_WIDTH)) for t in (before, after))
    matcher = difflib.SequenceMatcher(None, old, new, False)
    if matcher.ratio() < MIN_LIKENESS:
        return _code(before), _code(after)
    left, right = [], []
    for kind, o0, o1, n0, n1 in matcher.get_opcodes():
        gone, come = "".join(old[o0:o1]), "".join(new[n0:n1])
        left.append(join(gone) if kind == "equal" else element("del", gone) if gone else "")
        right.append(join(come) if kind == "equal" else element("ins", come) if come else "")
    return join(*left), join(*right)


_SIGNS = {"-": "gone", "+": "come", "here": "here", "": ""}


def _listing(lines: Sequence[DiffLine]) -> Html:
    """Return lines of code with their numbers; what is too long to be read is cut."""
    shown = list(lines[:MAX_LINES])
    if len(lines) > MAX_LINES:
        shown.append(("", "", join(f"{text.ELLIPSIS} {len(lines) - MAX_LINES} lines more")))
    rows = [
        element(
            "span",
            element("span", number, class_="ln"),
            element("span", sign if sign in "+-" else "", class_="sign"),
            element("span", code, "\n", class_="code"),
            class_=f"row {_SIGNS[sign]}".rstrip(),
        )
        for number, sign, code in shown
    ]
    return element("pre", *rows, class_="listing", tabindex="0")
