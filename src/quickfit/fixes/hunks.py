"""A change as people read it: the lines it takes away and those it brings, place by place.

`quickfit run`, `quickfit check` and the reports all show an edit from here, so that what they show
is what `quickfit fix` writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from quickfit.findings import Change, Edit, Fix, Hunk
from quickfit.fixes.change import lines_of, patched

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
        yield Hunk(edits[0].file, first, "\n".join(before), "\n".join(after))


def _up(position: tuple[int, int], first: int) -> tuple[int, int]:
    return position[0] - first + 1, position[1]
