"""A seccomp filter for a trial: system calls that Landlock has no right for.

The kernel asks it before every system call; it sees numbers and plain arguments, never a path. So
it cannot tell a file of the user from one in scratch. Where everything else is mounted read-only
it leaves files alone. Elsewhere a change of mode, owner or times is answered with success and not
made (`shutil.copy`, `cp -p` and `touch` fail on an error), and one of other attributes is refused.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Callable, Collection

_SET_MODE_FILTER = 1
# Without the second flag, kernels before 5.16 slow the whole process down.
_SPEC_ALLOW, _NEW_LISTENER = 1 << 2, 1 << 3
_PR_SET_NO_NEW_PRIVS = 38
_ALLOW, _ASK, _ERRNO = 0x7FFF0000, 0x7FC00000, 0x00050000
_DONE, _REFUSED, _UNKNOWN = _ERRNO, _ERRNO | errno.EPERM, _ERRNO | errno.ENOSYS
# Opcodes of the filter's machine: load a word, compare, mask, return.
_LOAD, _EQUAL, _AT_LEAST, _AND, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
_NR, _ARCH, _ARGS = 0, 4, 16
_X32 = 0x40000000

# By machine: the name of its table in the kernel, seccomp itself, and the calls by number.
_X86 = (
    "chmod 90 fchmod 91 fchmodat 268 fchmodat2 452 chown 92 fchown 93 lchown 94 fchownat 260"
    " utime 132 utimes 235 futimesat 261 utimensat 280 setxattr 188 lsetxattr 189 fsetxattr 190"
    " removexattr 197 lremovexattr 198 fremovexattr 199 setxattrat 463 removexattrat 466"
    " file_setattr 469 truncate 76 open 2 openat 257 openat2 437 ioctl 16 io_uring_setup 425"
    " kill 62 tkill 200 tgkill 234 rt_sigqueueinfo 129 rt_tgsigqueueinfo 297"
    " pidfd_send_signal 424 pidfd_getfd 438 ptrace 101 process_vm_writev 311 keyctl 250"
    " add_key 248 request_key 249 seccomp 317"
)
_ARM = (
    "fchmod 52 fchmodat 53 fchmodat2 452 fchown 55 fchownat 54 utimensat 88 setxattr 5 lsetxattr 6"
    " fsetxattr 7 removexattr 14 lremovexattr 15 fremovexattr 16 setxattrat 463 removexattrat 466"
    " file_setattr 469 truncate 45 openat 56 openat2 437 ioctl 29 io_uring_setup 425 kill 129"
    " tkill 130 tgkill 131 rt_sigqueueinfo 138 rt_tgsigqueueinfo 240 pidfd_send_signal 424"
    " pidfd_getfd 438 ptrace 117 process_vm_writev 271 keyctl 219 add_key 217 request_key 218"
    " seccomp 277"
)
_MACHINES = {"x86_64": (0xC000003E, _X86), "aarch64": (0xC00000B7, _ARM)}

# Keys of the user that all their processes share.
_KEYS = ("keyctl", "add_key", "request_key")
_MODES_OWNERS_TIMES = (
    *("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat"),
    *("utime", "utimes", "futimesat", "utimensat"),
)
_ATTRIBUTES = (
    *("setxattr", "lsetxattr", "fsetxattr", "setxattrat", "file_setattr"),
    *("removexattr", "lremovexattr", "fremovexattr", "removexattrat", "truncate"),
)
# Ways around the filter: work that the kernel does for a ring, and flags behind a pointer.
_AROUND = ("io_uring_setup", "openat2")
# `chattr` and what sets a file's project.
_IOCTLS = (0x40086602, 0x40046602, 0x401C5820)
_INTO_OTHERS = ("ptrace", "process_vm_writev", "pidfd_getfd", "pidfd_send_signal")
_SIGNALS = ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo")

Instruction = tuple[int, int, int, int]


def _numbers(names: Collection[str]) -> list[int]:
    words = _MACHINES[platform.machine()][1].split()
    table = dict(zip(words[::2], map(int, words[1::2]), strict=True))
    return [table[name] for name in names if name in table]


def _answer(names: Collection[str], answer: int) -> list[Instruction]:
    """Return what gives one answer to some calls."""
    found: list[Instruction] = []
    for number in _numbers(names):
        found += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, answer)]
    return found


def _answer_where(
    name: str, argument: int, mask: int, values: Collection[int]
) -> list[Instruction]:
    """Return what refuses a call where an argument, masked, is one of these values."""
    found: list[Instruction] = []
    for number in _numbers([name]):
        tests: list[Instruction] = [(_LOAD, 0, 0, _ARGS + 8 * argument), (_AND, 0, 0, mask)]
        for value in values:
            tests += [(_EQUAL, 0, 1, value), (_RETURN, 0, 0, _REFUSED)]
        tests.append((_LOAD, 0, 0, _NR))
        found += [(_EQUAL, 0, len(tests), number), *tests]
    return found


def _program(*, guards_files: bool, guards_processes: bool, asks: bool) -> list[Instruction]:
    table = _MACHINES[platform.machine()][0]
    found: list[Instruction] = [
        # Calls of another machine's table, as of 32-bit programs, are not known here.
        *((_LOAD, 0, 0, _ARCH), (_EQUAL, 1, 0, table), (_RETURN, 0, 0, _UNKNOWN)),
        *((_LOAD, 0, 0, _NR), (_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _UNKNOWN)),
        *_answer(_KEYS, _REFUSED),
    ]
    if guards_files:
        # Landlock learned of `truncate` later than of `open`: a file opened to be read is cut.
        cuts = [os.O_RDONLY | os.O_TRUNC]
        mask = os.O_ACCMODE | os.O_TRUNC
        found += _answer(_MODES_OWNERS_TIMES, _DONE) + _answer(_ATTRIBUTES, _REFUSED)
        found += _answer(_AROUND, _UNKNOWN) + _answer_where("ioctl", 1, 0xFFFFFFFF, _IOCTLS)
        found += _answer_where("open", 1, mask, cuts) + _answer_where("openat", 2, mask, cuts)
    if guards_processes:
        found += _answer(_INTO_OTHERS, _REFUSED)
    if asks:
        found += _answer(_SIGNALS, _ASK)
    return [*found, (_RETURN, 0, 0, _ALLOW)]


def install(*, guards_files: bool, guards_processes: bool, asks: bool) -> int | None:
    """Filter the calls of this process and all it starts; None where the kernel cannot.

    Args:
        guards_files: nothing else stops a change of modes, owners, times and attributes.
        guards_processes: nothing else hides the user's other processes.
        asks: every signal is asked about first, at the descriptor that is returned.

    Returns:
        The descriptor, or -1 where nothing is asked.
    """
    if platform.machine() not in _MACHINES:
        return None
    lines = _program(guards_files=guards_files, guards_processes=guards_processes, asks=asks)
    code = b"".join(struct.pack("=HBBI", *line) for line in lines)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HP", len(lines), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return None
    (call,) = _numbers(["seccomp"])
    flags = _NEW_LISTENER if asks else 0
    for more in (_SPEC_ALLOW, 0):
        found = libc.syscall(call, _SET_MODE_FILTER, flags | more, program)
        if found >= 0:
            return int(found) if asks else -1
    return None


class SignalRequests:
    """What is asked at the descriptor of a filter: may this signal be sent?

    Args:
        descriptor: of the filter.
        is_inside: tells whether a process belongs to the trial.
    """

    # From the kernel's header, with the sizes of both records.
    _RECEIVE, _SEND, _GO_ON = 0xC0502100, 0xC0182101, 1

    def __init__(self, descriptor: int, is_inside: Callable[[int], bool]) -> None:
        self._descriptor, self._is_inside = descriptor, is_inside
        self._libc = ctypes.CDLL(None, use_errno=True)

    def answer_next(self) -> None:
        """Answer one; a process that is gone meanwhile asks no more."""
        record = ctypes.create_string_buffer(80)
        if self._libc.ioctl(self._descriptor, ctypes.c_ulong(self._RECEIVE), record) != 0:
            return
        number, _, _, call, _, _, *args = struct.unpack("=QIIiIQ6Q", record.raw)
        target = ctypes.c_int(args[0]).value
        signal = args[2 if call in _numbers(["tgkill", "rt_tgsigqueueinfo"]) else 1]
        # Signal 0 is none: it asks whether a process is there.
        is_allowed = target == 0 or signal == 0 or self._is_inside(target)
        answer = (0, 0, self._GO_ON) if is_allowed else (0, -errno.EPERM, 0)
        self._libc.ioctl(
            self._descriptor, ctypes.c_ulong(self._SEND), struct.pack("=QqiI", number, *answer)
        )
