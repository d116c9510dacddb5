"""A source whose images are listed: what all kinds of sources end up as."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from quickfit.data.entries import Entry, Rejection
from quickfit.data.sources.listing import Listing
from quickfit.data.sources.readers import Reader


def in_order(rejected: Iterable[Rejection]) -> tuple[Rejection, ...]:
    """Return rejections sorted by name: the same source gives the same list."""
    return tuple(sorted(rejected, key=lambda item: (item.name, item.reason, item.detail)))


@dataclass(frozen=True, repr=False)
class ImageSource:
    """Where images come from, listed.

    Args:
        where: the folder, archive, table or list, as the user gave it.
        kind: "folder", "zip", "tar", "table" or "list".
        entries: all images; a folder's and an archive's sorted by name, a list's as it was given.
        classes: the name of each label; empty without labels.
        rejected: what cannot be used, sorted by name.
        notes: what a person should know of the listing, one sentence each.
        other_files: how many files are no images by their names.
    """

    where: str
    kind: str
    entries: Listing
    classes: tuple[str, ...]
    rejected: tuple[Rejection, ...]
    notes: tuple[str, ...]
    other_files: int
    _reader: Reader

    def read(self, entry: Entry) -> bytes:
        """Return the image's file as it is.

        Raises:
            SourceImageError: it is gone or cannot be read.
        """
        return self._reader.read(entry)

    def reader(self) -> Reader:
        """Return what reads entries, without the list of them: small enough for every worker."""
        return self._reader

    @property
    def class_counts(self) -> tuple[int, ...]:
        """How many images each class has."""
        counts = Counter(self.entries.labels or ())
        return tuple(counts[label] for label in range(len(self.classes)))

    def __repr__(self) -> str:
        count = len(self.entries)
        text = f"{self.kind} {self.where}: {count:,} image{'s' if count != 1 else ''}"
        if self.classes:
            text += f" in {len(self.classes):,} class{'es' if len(self.classes) != 1 else ''}"
        if self.rejected:
            text += f", {len(self.rejected):,} left out"
        return f"<{text}>"
