"""Asks the Linux kernel to let this process, and all it starts, write to a few folders only.

Whatever writes past Python, as TensorFlow and HDF5 do, is refused by the kernel itself.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Sequence

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION = 1
_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38
# From the kernel's header: write, remove and make files and folders of every kind.
_WRITE_FILE, _READ_FILE = 1 << 1, 1 << 2
_CHANGES = _WRITE_FILE | sum(1 << bit for bit in range(4, 13))
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
# Abstract sockets and signals of processes outside.
_SCOPES = 1 << 0 | 1 << 1
# The version that keeps both inside, Linux 6.12.
SIGNALS_SINCE = 6


def version() -> int:
    """Return what the kernel's Landlock can do, as its own number; 0 where there is none."""
    if not sys.platform.startswith("linux"):
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    return max(int(libc.syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)), 0)


def restrict_writes(
    folders: Sequence[str], files: Sequence[str] = (), reads: Sequence[str] | None = None
) -> bool:
    """Allow no write elsewhere from now on, and no signal to others; False where it cannot be.

    Args:
        folders: everything may be done below these.
        files: these, and what is there below them, may be written to, and controlled as devices.
        reads: only what is below these may be read; None where everything may.
    """
    known = version()
    if not known:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    writes = _WRITE_FILE | (_TRUNCATE if known >= 3 else 0) | (_IOCTL_DEV if known >= 5 else 0)
    changes = _CHANGES | writes | (_REFER if known >= 2 else 0)
    scope = (0, _SCOPES) if known >= SIGNALS_SINCE else ()
    read = 0 if reads is None else _READ_FILE
    handled = struct.pack(f"{1 + len(scope)}Q", changes | read, *scope)
    rules = libc.syscall(_CREATE_RULESET, handled, len(handled), 0)
    if rules < 0:
        return False
    try:
        for folder in filter(os.path.isdir, folders):
            _allow(libc, rules, folder, changes | read)
        for file in filter(os.path.exists, files):
            _allow(libc, rules, file, writes | read)
        for path in filter(os.path.exists, reads or ()):
            _allow(libc, rules, path, _READ_FILE)
        is_set = libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
        return bool(is_set and libc.syscall(_RESTRICT_SELF, rules, 0) == 0)
    finally:
        os.close(rules)


def _allow(libc: ctypes.CDLL, rules: int, path: str, changes: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # gone meanwhile
        return
    try:
        rule = struct.pack("=Qi", changes, place)
        libc.syscall(_ADD_RULE, rules, _PATH_BENEATH, rule, 0)
    finally:
        os.close(place)
