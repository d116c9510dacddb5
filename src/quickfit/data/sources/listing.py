"""The images of a source, a million of them in little memory."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import overload

from quickfit.data.entries import NO_LABEL, Entry, Reason, Rejection
from quickfit.data.sources.names import foreign_kind, is_usable, oddity
from quickfit.units import size as bytes_text

# Ends the detail of a loss that nobody can count: an archive that ends early, a closed folder.
UNKNOWN_LOSS = "an unknown number of images is missing"
# Beyond this no image is worth the memory: the largest photographs have a tenth of it.
MAX_FILE_BYTES = 2_000_000_000


class Listing(Sequence[Entry]):
    """Entries made when they are asked for, from columns: less than half the memory of a list.

    Args:
        names: of the images.
        sizes: in bytes.
        labels: of the images; None without labels.
        where: the archive that `offsets` are in, or what comes before a name in its path.
        offsets: of the images in the archive, if they are in one.
        files: their paths, where these do not follow from the names.
    """

    def __init__(
        self,
        names: list[str],
        sizes: array[int],
        labels: array[int] | None,
        *,
        where: str = "",
        offsets: array[int] | None = None,
        files: list[str] | None = None,
    ) -> None:
        self.names = names
        self.sizes = sizes
        self.labels = labels
        self._where = where
        self._offsets = offsets
        self._files = files

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, index: int) -> Entry: ...

    @overload
    def __getitem__(self, index: slice) -> list[Entry]: ...

    def __getitem__(self, index: int | slice) -> Entry | list[Entry]:
        if isinstance(index, slice):
            return [self._entry(position) for position in range(*index.indices(len(self)))]
        return self._entry(range(len(self))[index])

    def __iter__(self) -> Iterator[Entry]:
        return map(self._entry, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Listing):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # as a list: equal ones may differ later

    def __repr__(self) -> str:
        return f"<{len(self):,} images, {bytes_text(sum(self.sizes))}>"

    def _entry(self, position: int) -> Entry:
        name = self.names[position]
        label = NO_LABEL if self.labels is None else self.labels[position]
        size = self.sizes[position]
        if self._offsets is not None:
            return Entry(name, label, size, self._where, self._offsets[position])
        file = self._where + name if self._files is None else self._files[position]
        return Entry(name, label, size, file)


@dataclass
class Gathered:
    """What a walk through a source has found so far.

    Args:
        keep_odd_names: whether names with line breaks or without UTF-8 are listed.
    """

    keep_odd_names: bool = False
    names: list[str] = field(default_factory=list)
    sizes: array[int] = field(default_factory=lambda: array("q"))
    offsets: array[int] = field(default_factory=lambda: array("q"))
    rejected: list[Rejection] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)  # of the first level
    other_files: int = 0
    other_example: str = ""
    hidden_files: int = 0
    hidden_folders: int = 0

    def add(self, name: str, size: int, offset: int = -1) -> bool:
        """List an image, or reject it for what its name and size say; tell whether it is listed."""
        if not is_usable(name, keep_odd_names=self.keep_odd_names):
            self.reject(name, Reason.BAD_NAME, oddity(name) or "")
        elif size == 0:
            self.reject(name, Reason.EMPTY, "it has no bytes")
        elif size > MAX_FILE_BYTES:
            detail = f"it has {bytes_text(size)}, the limit is {bytes_text(MAX_FILE_BYTES)}"
            self.reject(name, Reason.TOO_LARGE, detail)
        else:
            self.names.append(name)
            self.sizes.append(size)
            self.offsets.append(offset)
            return True
        return False

    def reject(self, name: str, reason: Reason, detail: str) -> None:
        """Note that something cannot be used."""
        self.rejected.append(Rejection(name, reason, detail))

    def pass_over(self, name: str) -> None:
        """Count a file that is no image by its name; reject an image of a kind nobody reads."""
        if (kind := foreign_kind(name)) is not None:
            detail = f"{kind} is not read: convert to JPEG or PNG"
            self.reject(name, Reason.NOT_AN_IMAGE, detail)
            return
        self.other_files += 1
        self.other_example = self.other_example or name
