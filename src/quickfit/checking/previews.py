"""The lines that a change takes away and those it brings, for people to read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from quickfit.checking._records import Rewrite
from quickfit.findings import Change, Edit, Span
from quickfit.fixes.change import patched

# Of the lines of a file, with `\n` taken off.
Lines = Callable[[str], Sequence[str]]


def rewrites_of(change: Change, lines: Lines) -> tuple[Rewrite, ...]:
    """Return what a change does to each place it touches.

    Args:
        change: with places in whole files.
        lines: gives the lines of a file.
    """
    return tuple(
        rewrite
        for file in change.files
        for group in _neighbours([edit for edit in change.edits if edit.file == file])
        for rewrite in _rewrite(group, lines(file))
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


def _rewrite(edits: Sequence[Edit], lines: Sequence[str]) -> Iterator[Rewrite]:
    first = edits[0].begin[0]
    last = max(edit.end[0] for edit in edits)
    before = list(lines[first - 1 : last])
    moved = [
        replace(edit, begin=_up(edit.begin, first), end=_up(edit.end, first)) for edit in edits
    ]
    after = patched("".join(f"{line}\n" for line in before), moved).split("\n")
    if after and not after[-1]:
        after.pop()
    while before and after and before[0] == after[0]:
        del before[0], after[0]
        first += 1
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    if before or after:
        yield Rewrite(Span(edits[0].file, first), tuple(before), tuple(after))


def _up(position: tuple[int, int], first: int) -> tuple[int, int]:
    return position[0] - first + 1, position[1]
