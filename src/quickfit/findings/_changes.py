"""A candidate change to the user's files, as data: which spans of text become which."""

from __future__ import annotations

from dataclasses import dataclass

from quickfit.findings._records import FixClass

Position = tuple[int, int]


@dataclass(frozen=True, order=True)
class Edit:
    """One span of a file and the text that takes its place.

    Positions are a line, counted from 1, and a column in characters, counted from 0, of the file
    as it was before any edit. `text` has `\\n` at its line ends, whatever the file has.
    """

    file: str
    begin: Position
    end: Position
    text: str

    @property
    def is_insertion(self) -> bool:
        """Tell whether nothing of the file is taken away."""
        return self.begin == self.end


@dataclass(frozen=True)
class Change:
    """What one candidate does.

    Args:
        title: one line, imperative.
        kind: how far it may change what the script computes; in doubt the lower class.
        edits: the spans that change, in one file or several.
        note: what to know before making the change; may be empty.
    """

    title: str
    kind: FixClass
    edits: tuple[Edit, ...]
    note: str = ""

    @property
    def files(self) -> tuple[str, ...]:
        """The files that change, each once."""
        return tuple(dict.fromkeys(edit.file for edit in self.edits))
