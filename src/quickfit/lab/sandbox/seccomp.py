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
    " add_key 248 request_key 249 seccomp 317 process_madvise 440 migrate_pages 256 move_pages 279"
    " prlimit64 302 sched_setaffinity 203 sched_setscheduler 144 sched_setparam 142"
    " sched_setattr 314 setpriority 141 ioprio_set 251 shmget 29 shmat 30 shmctl 31 semget 64"
    " semop 65 semctl 66 semtimedop 220 msgget 68 msgsnd 69 msgrcv 70 msgctl 71 mq_open 240"
    " mq_unlink 241"
)
_ARM = (
    "fchmod 52 fchmodat 53 fchmodat2 452 fchown 55 fchownat 54 utimensat 88 setxattr 5 lsetxattr 6"
    " fsetxattr 7 removexattr 14 lremovexattr 15 fremovexattr 16 setxattrat 463 removexattrat 466"
    " file_setattr 469 truncate 45 openat 56 openat2 437 ioctl 29 io_uring_setup 425 kill 129"
    " tkill 130 tgkill 131 rt_sigqueueinfo 138 rt_tgsigqueueinfo 240 pidfd_send_signal 424"
    " pidfd_getfd 438 ptrace 117 process_vm_writev 271 keyctl 219 add_key 217 request_key 218"
    " seccomp 277 process_madvise 440 migrate_pages 238 move_pages 239 prlimit64 261"
    " sched_setaffinity 122 sched_setscheduler 119 sched_setparam 118 sched_setattr 274"
    " setpriority 140 ioprio_set 30 shmget 194 shmat 196 shmctl 195 semget 190 semop 193"
    " semctl 191 semtimedop 192 msgget 186 msgsnd 189 msgrcv 188 msgctl 187 mq_open 180"
    " mq_unlink 181"
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
# Families of controls of files, by their letters, that change what is opened for reading: those
# that take a value or nothing. `chattr`, versions, projects, subvolumes of Btrfs.
_KIND = 0xC000FF00
_IOCTLS = tuple(way | ord(letter) << 8 for letter in "fXv\x94" for way in (0x40000000, 0))
# But not copies that share blocks, as `cp` makes them, into a file that is open for writing.
_CLONES = (0x40049409, 0x4020940D)
_INTO_OTHERS = (
    *("ptrace", "process_vm_writev", "pidfd_getfd", "pidfd_send_signal", "process_madvise"),
)
# Shared memory, semaphores and messages that lie in no folder.
_IPC = (
    *("shmget", "shmat", "shmctl", "semget", "semop", "semctl", "semtimedop"),
    *("msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink"),
)
# Limits, priorities, processors and memory of a process or thread: 0 is the one that asks.
_RANKS = (
    *("prlimit64", "sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"),
    *("migrate_pages", "move_pages"),
)
# The same of a process, a group or a user; the second argument is its number.
_PRIORITIES = ("setpriority", "ioprio_set")
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
    name: str,
    argument: int,
    mask: int,
    values: Collection[int],
    *,
    but: Collection[int] = (),
) -> list[Instruction]:
    """Return what refuses a call where an argument, masked, is one of these values.

    Args:
        name: the call.
        argument: its number.
        mask: the bits that are looked at.
        values: what they are refused for.
        but: whole arguments that are allowed.
    """
    found: list[Instruction] = []
    for number in _numbers([name]):
        tests: list[Instruction] = [(_LOAD, 0, 0, _ARGS + 8 * argument)]
        for value in but:
            tests += [(_EQUAL, 0, 1, value), (_RETURN, 0, 0, _ALLOW)]
        tests.append((_AND, 0, 0, mask))
        for value in values:
            tests += [(_EQUAL, 0, 1, value), (_RETURN, 0, 0, _REFUSED)]
        tests.append((_LOAD, 0, 0, _NR))
        found += [(_EQUAL, 0, len(tests), number), *tests]
    return found


def _ask_about_others(names: Collection[str]) -> list[Instruction]:
    """Return what asks about a call whose first argument is not 0."""
    found: list[Instruction] = []
    for number in _numbers(names):
        tests: list[Instruction] = [(_LOAD, 0, 0, _ARGS), (_EQUAL, 1, 0, 0), (_RETURN, 0, 0, _ASK)]
        found += [(_EQUAL, 0, len(tests) + 1, number), *tests, (_RETURN, 0, 0, _ALLOW)]
    return found


def _program(
    *,
    guards_files: bool,
    guards_ipc: bool,
    guards_processes: bool,
    asks_signals: bool,
    asks: bool,
) -> list[Instruction]:
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
        found += _answer(_AROUND, _UNKNOWN) + _answer_where("ioctl", 1, _KIND, _IOCTLS, but=_CLONES)
        found += _answer_where("open", 1, mask, cuts) + _answer_where("openat", 2, mask, cuts)
    if guards_ipc:
        found += _answer(_IPC, _REFUSED)
    if guards_processes:
        found += _answer(_INTO_OTHERS, _REFUSED)
    if guards_processes and asks:
        found += _ask_about_others(_RANKS) + _answer(_PRIORITIES, _ASK)
    if asks_signals and asks:
        found += _answer(_SIGNALS, _ASK)
    return [*found, (_RETURN, 0, 0, _ALLOW)]


def install(
    *,
    guards_files: bool,
    guards_processes: bool,
    asks: bool,
    guards_ipc: bool = False,
    asks_signals: bool = False,
) -> int | None:
    """Filter the calls of this process and all it starts; None where the kernel cannot.

    Args:
        guards_files: nothing else stops a change of modes, owners, times and attributes.
        guards_processes: nothing else hides the user's other processes.
        asks: limits and priorities of others are asked about first, at the descriptor returned.
        guards_ipc: nothing else hides the user's shared memory and messages.
        asks_signals: every signal is asked about, too.

    Returns:
        The descriptor, or -1 where nothing is asked.
    """
    if platform.machine() not in _MACHINES:
        return None
    lines = _program(
        guards_files=guards_files,
        guards_ipc=guards_ipc,
        guards_processes=guards_processes,
        asks_signals=asks_signals,
        asks=asks,
    )
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


class Requests:
    """What is asked at the descriptor of a filter: may this be done to that process?

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
        is_allowed = self._is_allowed(call, args)
        answer = (0, 0, self._GO_ON) if is_allowed else (0, -errno.EPERM, 0)
        self._libc.ioctl(
            self._descriptor, ctypes.c_ulong(self._SEND), struct.pack("=QqiI", number, *answer)
        )

    def _is_allowed(self, call: int, args: list[int]) -> bool:
        first, second = (ctypes.c_int(number).value for number in args[:2])
        if call in _numbers(_PRIORITIES):
            # One of them counts from 1.
            kind = first - (1 if call in _numbers(["ioprio_set"]) else 0)
            # Of a process, or of all of a group; never of all of the user's.
            return kind in (0, 1) and (
                second == 0 or self._is_inside(second if kind == 0 else -second)
            )
        if call in _numbers(["prlimit64"]) and not args[2]:
            return True  # it only asks
        if call in _numbers(_RANKS):
            return self._is_inside(first)
        signal = args[2 if call in _numbers(["tgkill", "rt_tgsigqueueinfo"]) else 1]
        # Signal 0 is none: it asks whether a process is there.
        return first == 0 or signal == 0 or self._is_inside(first)
