"""Reads the small files in which Linux tells about a process, and its list of mounts."""

from __future__ import annotations

from typing import NamedTuple

from quickfit.probes._descriptors import read_bytes

# Larger than any of these files on a machine with a thousand cores.
_MAX_BYTES = 1 << 20


class Mount(NamedTuple):
    """One line of `/proc/self/mountinfo`.

    Args:
        root: the folder of the file system that is seen at `point`.
        options: those of the file system, such as the controllers of a control group.
    """

    root: str
    point: str
    kind: str
    options: str


def text(path: str) -> str | None:
    """Return what a file says, or None where it is missing or may not be read."""
    data = read_bytes(path, _MAX_BYTES)
    return None if data is None else data.decode("utf-8", "replace")


def numbers(told: str | None) -> dict[str, int]:
    """Return the lines `name: 12 kB` or `name 12` of a file by name."""
    found = {}
    for line in (told or "").splitlines():
        name, *rest = line.replace(":", " ", 1).split()[:2] or [""]
        if rest and rest[0].isdecimal():
            found[name] = int(rest[0])
    return found


def number(told: str | None, name: str) -> int | None:
    """Return one number of a long file; `numbers` would take apart hundreds of lines for it."""
    for line_start in (f"\n{name} ", f"\n{name}:"):
        begin = f"\n{told or ''}".find(line_start)
        if begin >= 0:
            fields = (told or "")[begin + len(line_start) - 1 :].split(None, 1)
            return int(fields[0]) if fields and fields[0].isdecimal() else None
    return None


def mounts(mountinfo: str | None) -> list[Mount]:
    """Return the mounts of this process, the outer before the inner ones."""
    found = []
    for line in (mountinfo or "").splitlines():
        # A variable number of fields stands before the dash.
        own, _, system = line.partition(" - ")
        fields, kind = own.split(" "), system.split(" ")
        if len(fields) > 4 and kind[0]:
            found.append(Mount(_plain(fields[3]), _plain(fields[4]), kind[0], kind[-1]))
    return found


def _plain(path: str) -> str:
    """Return a path with its blanks: mountinfo writes them as `\\040`."""
    head, *parts = path.split("\\")
    for part in parts:
        digits = part[:3]
        is_code = len(digits) == 3 and set(digits) <= set("01234567")
        head += chr(int(digits, 8)) + part[3:] if is_code else "\\" + part
    return head
