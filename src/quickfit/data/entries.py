"""What a source of images lists, and what of it cannot be used: the words all of `data` shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

# The label of an image that has none.
NO_LABEL = -1


class Reason(StrEnum):
    """Why an image is not used, in one word; the sentence is in `Rejection.detail`."""

    UNREADABLE = "unreadable"
    VANISHED = "vanished"
    EMPTY = "empty"
    NOT_AN_IMAGE = "not-an-image"
    TRUNCATED = "truncated"
    CORRUPT = "corrupt"
    TOO_LARGE = "too-large"
    BAD_NAME = "bad-name"
    UNSAFE_PATH = "unsafe-path"
    LINK_LOOP = "link-loop"
    NO_CLASS = "no-class"


@dataclass(frozen=True, slots=True)
class Entry:
    """One image of a source.

    Args:
        name: its path in the source, with `/`, as records and reports call it. Bytes of a file
            name that are no UTF-8 are kept as surrogates (`os.fsdecode`).
        label: its class, from 0; `NO_LABEL` without labels.
        size: its size in the source in bytes.
        file: the file to open: the image, or the archive that holds it.
        offset: where it begins in the archive; -1 for a file of its own.
    """

    name: str
    label: int
    size: int
    file: str
    offset: int = -1


@dataclass(frozen=True, slots=True)
class Rejection:
    """One thing of a source that is not used, and why."""

    name: str
    reason: Reason
    detail: str


class Source(Protocol):
    """Where images come from. It can be pickled; `read` works in every process."""

    @property
    def entries(self) -> Sequence[Entry]:
        """All images, sorted by name: the same source gives the same list."""

    @property
    def classes(self) -> tuple[str, ...]:
        """The name of each label; empty without labels."""

    @property
    def rejected(self) -> tuple[Rejection, ...]:
        """What listing alone could tell: unsafe names, loops, folders that cannot be read."""

    def read(self, entry: Entry) -> bytes:
        """Return the image's file as it is.

        Raises:
            SourceImageError: it is gone or cannot be read.
        """
        ...


class SourceImageError(Exception):
    """One image cannot be used; never reaches a user, it becomes a `Rejection`."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def escape_name(name: str) -> str:
    """Return a name in which nothing breaks lines or steers a terminal."""
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
