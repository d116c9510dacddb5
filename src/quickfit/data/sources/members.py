"""What zip and tar archives share: which members are images, and which are a danger."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from quickfit.data.entries import Reason
from quickfit.data.sources.listing import Gathered
from quickfit.data.sources.names import danger, is_hidden, is_image_name, plain


@dataclass(frozen=True, slots=True)
class Member:
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


def gather(members: Iterable[Member], gathered: Gathered, root: str = "") -> None:
    """Gather the images of an archive, sorted by name; a name that is there twice is told apart.

    Args:
        members: of the archive, in its order, without folders.
        gathered: gets the images and what is rejected.
        root: the folder in the archive to list, with its slash.
    """
    found: list[tuple[str, Member]] = []
    twins: list[Member] = []
    for member in members:
        name = plain(member.name)
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


def _concerns_all(member: Member) -> bool:
    """Return whether a member tells of the archive itself: a danger, or that it ends early."""
    is_of_archive = member.fault in (Reason.TRUNCATED, Reason.CORRUPT)
    return is_of_archive or danger(member.name) is not None


def _is_passed_over(member: Member, name: str, gathered: Gathered) -> bool:
    """Reject or count a member that is no image to be listed."""
    why = danger(member.name)
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


def _add_twins(twins: list[Member], found: list[tuple[str, Member]], gathered: Gathered) -> None:
    """List second names of listed files: what is in the archive is as safe as the first name."""
    places = dict(found) if twins else {}
    for twin in twins:
        name = plain(twin.name)
        first = places.get(twin.twin)
        member = twin if first is None else Member(twin.name, first.size, first.offset)
        if not _is_passed_over(member, name, gathered):
            found.append((name, member))
            places[name] = member


def _told_apart(found: list[tuple[str, Member]]) -> Iterator[tuple[str, Member]]:
    """Yield the members; a further one of a name has a number after it: `a.jpg#2`."""
    times: Counter[str] = Counter()
    for name, member in found:
        times[name] += 1
        # No image has such a name already: it does not end as an image's does.
        yield f"{name}#{times[name]}" if times[name] > 1 else name, member
