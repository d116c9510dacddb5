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
_WRITE_FILE = 1 << 1
_CHANGES = _WRITE_FILE | sum(1 << bit for bit in range(4, 13))
_REFER, _TRUNCATE = 1 << 13, 1 << 14


def restrict_writes(folders: Sequence[str]) -> bool:
    """Allow no write outside these folders from now on; False where the kernel cannot."""
    if not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)
    if version < 1:
        return False
    changes = _CHANGES | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    handled = struct.pack("Q", changes)
    rules = libc.syscall(_CREATE_RULESET, handled, len(handled), 0)
    if rules < 0:
        return False
    try:
        for folder in folders:
            _allow(libc, rules, folder, changes)
        is_set = libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
        return bool(is_set and libc.syscall(_RESTRICT_SELF, rules, 0) == 0)
    finally:
        os.close(rules)


def _allow(libc: ctypes.CDLL, rules: int, folder: str, changes: int) -> None:
    if not os.path.isdir(folder):
        return
    place = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = struct.pack("=Qi", changes, place)
        libc.syscall(_ADD_RULE, rules, _PATH_BENEATH, rule, 0)
    finally:
        os.close(place)
