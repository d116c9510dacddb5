"""The images of a source: their names, what of them can be used, a million in little memory."""

from __future__ import annotations

import os
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import overload

from quickfit.data.entries import NO_LABEL, Entry, Reason, Rejection, escape_name
from quickfit.units import size as bytes_text

IMAGE_EXTENSIONS = (
    *(".jpg", ".jpeg", ".jpe", ".jfif"),
    *(".png", ".gif", ".bmp", ".webp", ".avif"),
)

# Images too, but of kinds that neither TensorFlow nor quickfit decodes.
_FOREIGN = {
    **dict.fromkeys((".heic", ".heif", ".hif"), "HEIC"),
    **dict.fromkeys((".tif", ".tiff"), "TIFF"),
    **dict.fromkeys((".jp2", ".j2k", ".jpx"), "JPEG 2000"),
    ".jxl": "JPEG XL",
    ".psd": "PSD",
    **dict.fromkeys(
        (
            *(".dng", ".cr2", ".cr3", ".crw", ".nef", ".nrw", ".arw", ".srf", ".sr2", ".raf"),
            *(".orf", ".rw2", ".pef", ".srw", ".x3f", ".3fr", ".iiq", ".kdc", ".dcr", ".erf"),
        ),
        "a raw camera format",
    ),
}

# Line breaks (those of Unicode too) and control characters tear lists and logs apart.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
# What `os.fsdecode` makes of bytes that are no UTF-8; no text can hold them.
_NOT_UTF8 = re.compile("[\ud800-\udfff]")
_HIDDEN = re.compile(r"(?:^|/)(?:\.|(?:__MACOSX|Thumbs\.db|desktop\.ini)(?:/|$))")
_DRIVE = re.compile(r"[A-Za-z]:")
_REMEDY = "rename it, or keep such names: keep_odd_names=True (--keep-odd-names)"
# Characters of a name in a message.
_MOST_SHOWN = 200
# Ends the detail of a loss that nobody can count: an archive that ends early, a closed folder.
UNKNOWN_LOSS = "an unknown number of images is missing"
# Beyond this no image is worth the memory: the largest photographs have a tenth of it.
MAX_FILE_BYTES = 2_000_000_000


def is_image_name(name: str) -> bool:
    """Return whether a name ends as those of images do, in any case."""
    return name.lower().endswith(IMAGE_EXTENSIONS)


def foreign_kind(name: str) -> str | None:
    """Return the kind of image that a name says, of those that are not read; None of others."""
    dot = name.rfind(".")
    return _FOREIGN.get(name[dot:].lower()) if dot >= 0 else None


def is_hidden(name: str) -> bool:
    """Return whether a part of a path is one that programs keep for themselves."""
    return _HIDDEN.search(name) is not None


def name_problem(name: str) -> str | None:
    """Return what is wrong with a name and what to do, or None for an ordinary one."""
    if name.isascii() and name.isprintable():
        return None
    if "\x00" in name:
        return "its name has a null byte, which no file system can hold"
    if _CONTROL.search(name):
        kind = "line break" if len(name.splitlines()) > 1 or "\n" in name else "control character"
        return f"its name has a {kind}: {_REMEDY}"
    if _NOT_UTF8.search(name):
        return f"its name is no UTF-8: {_REMEDY}"
    return None


def printable_name(name: str) -> str:
    """Return a name as a message may hold it.

    Nothing in it breaks lines or steers a terminal; a very long one has its middle left out.
    """
    if len(name) > _MOST_SHOWN:
        name = f"{name[: _MOST_SHOWN // 2]}…{name[-(_MOST_SHOWN // 2 - 1) :]}"
    return escape_name(name)


def option_name(name: str) -> str:
    """Return what the command line and Python call an option."""
    return f"--{name.replace('_', '-')} ({name})"


def is_usable(name: str, *, keep_odd_names: bool) -> bool:
    """Return whether a file of this name may be listed."""
    return name_problem(name) is None or (keep_odd_names and "\x00" not in name)


def escape_danger(name: str) -> str | None:
    """Return why the name of an archive's member leads out of the archive, or None."""
    if name.startswith(("/", "\\")):
        return "its path is absolute"
    if _DRIVE.match(name):
        return "its path begins with a drive letter"
    if ".." in name and ".." in re.split(r"[/\\]", name):
        return "its path leads out of the archive (`..`)"
    return None


def normal_member_name(name: str) -> str:
    """Return a member's path without the parts that say nothing: `./a//b` is `a/b`."""
    if "./" not in name and "//" not in name and not name.endswith(("/", ".")):
        return name
    return "/".join(part for part in name.split("/") if part not in ("", "."))


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
            self.reject(name, Reason.BAD_NAME, name_problem(name) or "")
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


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """One member of an archive.

    Args:
        name: its path in the archive, as written there.
        size: of its content in bytes.
        offset: where to read it.
        fault: why it cannot be used, if that is known.
        detail: the sentence on its fault.
        twin: the member that this is only another name of (a hard link).
    """

    name: str
    size: int
    offset: int
    fault: Reason | None = None
    detail: str = ""
    twin: str = ""


def gather_members(members: Iterable[ArchiveMember], gathered: Gathered, root: str = "") -> None:
    """Gather the images of an archive, sorted by name; a name that is there twice is told apart.

    Args:
        members: of the archive, in its order, without folders.
        gathered: gets the images and what is rejected.
        root: the folder in the archive to list, with its slash.
    """
    found: list[tuple[str, ArchiveMember]] = []
    twins: list[ArchiveMember] = []
    for member in members:
        name = normal_member_name(member.name)
        if not name.startswith(root) and not _concerns_all(member):
            continue
        if member.twin:
            twins.append(member)
        elif not _is_passed_over(member, name, gathered):
            found.append((name, member))
    _add_twins(twins, found, gathered)
    told_apart = [(os.fsencode(name), name, member) for name, member in _told_apart(found)]
    told_apart.sort(key=lambda item: item[0])
    for _, name, member in told_apart:
        gathered.add(name, member.size, member.offset)


def common_top(names: Iterable[str], root: str = "") -> str:
    """Return the one folder that all images lie in, with its slash; empty if there is none."""
    tops = {name[len(root) :].partition("/")[0:2] for name in names}
    if len(tops) != 1:
        return root
    first, slash = tops.pop()
    return f"{root}{first}/" if slash else root


def _concerns_all(member: ArchiveMember) -> bool:
    """Return whether a member tells of the archive itself: a danger, or that it ends early."""
    is_of_archive = member.fault in (Reason.TRUNCATED, Reason.CORRUPT)
    return is_of_archive or escape_danger(member.name) is not None


def _is_passed_over(member: ArchiveMember, name: str, gathered: Gathered) -> bool:
    """Reject or count a member that is no image to be listed."""
    why = escape_danger(member.name)
    if why is not None:
        gathered.reject(member.name, Reason.UNSAFE_PATH, f"{why}: rename it in the archive")
    elif is_hidden(name):
        gathered.hidden_files += 1
    elif member.fault is not None:
        gathered.reject(name, member.fault, member.detail)
    elif not is_image_name(name):
        gathered.pass_over(name)
    else:
        return False
    return True


def _add_twins(
    twins: list[ArchiveMember], found: list[tuple[str, ArchiveMember]], gathered: Gathered
) -> None:
    """List second names of listed files: what is in the archive is as safe as the first name."""
    places = dict(found) if twins else {}
    for twin in twins:
        name = normal_member_name(twin.name)
        first = places.get(twin.twin)
        member = twin if first is None else ArchiveMember(twin.name, first.size, first.offset)
        if not _is_passed_over(member, name, gathered):
            found.append((name, member))
            places[name] = member


def _told_apart(found: list[tuple[str, ArchiveMember]]) -> Iterator[tuple[str, ArchiveMember]]:
    """Yield the members; a further one of a name has a number after it: `a.jpg#2`."""
    times: Counter[str] = Counter()
    for name, member in found:
        times[name] += 1
        # No image has such a name already: it does not end as an image's does.
        yield f"{name}#{times[name]}" if times[name] > 1 else name, member
