"""Confines a trial with all that this kernel offers, and keeps watch over its processes.

From the strongest layer to the weakest:

- Namespaces of its own. Everything but the scratch folder is mounted read-only, `/tmp` and
  `/dev/shm` are its own (what the user has there is seen, read-only), `/dev` has harmless devices
  and accelerators only, terminals are its own, and no process of the user is visible.
- Landlock: no write outside the scratch folder, no device that is not among those.
- seccomp: what the other two do not stop on this kernel.
- The guard, in Python: see `guard`. It is the only one that is always there.

The process that quickfit has started becomes the keeper and stays outside; the script runs in a
fork of it. The keeper ends as the script ends, and when it ends, nothing of the trial is left.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fnmatch
import os
import re
import select
import signal
import struct
import sys
import threading
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NoReturn

from quickfit.lab.child_side import end_with_parent
from quickfit.lab.sandbox import landlock, seccomp

# The layers by their names.
FILES, PROCESSES = "read-only mounts", "own processes"
LANDLOCK, SECCOMP = "Landlock", "seccomp"

_NEWNS, _NEWIPC, _NEWUSER, _NEWPID = 0x00020000, 0x08000000, 0x10000000, 0x20000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REMOUNT = 1, 2, 4, 8, 32
_MS_BIND, _MS_REC, _MS_PRIVATE, _MS_SLAVE = 4096, 16384, 1 << 18, 1 << 19
_MS_RELATIME = 1 << 21
_ST_RELATIME = 4096
_MOUNT_SETATTR, _AT_RECURSIVE, _ATTR_RDONLY = 442, 0x8000, 1
_PR_CAPBSET_DROP, _PR_SET_SUBREAPER, _PR_AMBIENT = 24, 36, 47
_CAPABILITY_VERSION, _CAPABILITIES = 0x20080522, 41
# What a script of root keeps, by the kernel's numbers: owning files, other users' files, changing
# user, low ports and raw sockets, locked memory, priorities, limits. Never mounts or devices.
_KEPT_BY_ROOT = sum(1 << number for number in (0, 1, 3, 4, 5, 6, 7, 10, 13, 14, 23, 24))
# Folders that become the trial's own, unless the user has more in them than this.
_OWN_FOLDERS, _MAX_SHOWN = ("/tmp", "/dev/shm"), 1000
# What a trial has of `/dev`: what does no harm, and accelerators. No disk, memory, log or terminal.
_HARMLESS = ("null", "zero", "full", "random", "urandom", "tty")
_ACCELERATORS = (
    *("nvidia*", "nvhost*", "nvmap", "kfd", "dri", "dxg", "accel", "accel[0-9]*", "infiniband"),
)
_SHOWN_DEVICES = (*_HARMLESS, *_ACCELERATORS, "shm", "log")
_LINKS = {"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"}
_TERMINALS = ("tty*", "pts", "console", "vcs*", "hvc*", "pty*")
# Of the kernel's files those through which root changes the machine.
_OF_THE_MACHINE = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi")
_MAY_BE_MISSING = (errno.ENOENT, errno.EACCES, errno.EINVAL, errno.ENOTDIR)


def stops_writes(layers: Collection[str]) -> bool:
    """Tell whether the kernel itself refuses a write outside the scratch folder."""
    return FILES in layers or LANDLOCK in layers


def summary(layers: Collection[str]) -> str:
    """Return the layers of a trial in a few words."""
    spaces = {(True, True): "own namespaces", (True, False): "own namespace for files"}
    named = [spaces.get((FILES in layers, PROCESSES in layers), "")]
    named += [name for name in (LANDLOCK, SECCOMP) if name in layers]
    if not stops_writes(layers):
        named.append("Python guard only")
    return ", ".join(filter(None, named))


def begin(scratch: str, *, parent: int, report: int = -1) -> frozenset[str]:
    """Confine this process as far as the kernel can; return the layers, in the script's process.

    The process that calls it becomes the keeper and never comes back.

    Args:
        scratch: the only folder that may be written to.
        parent: the process that the trial must not outlive.
        report: a descriptor for the keeper to write the script's number and the layers to.
    """
    if not sys.platform.startswith("linux"):
        if report >= 0:
            os.close(report)
        return frozenset()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGTERM})
    spaces = _possible_spaces(scratch)
    init = 0
    if spaces:
        _enter(scratch, spaces, owns=_OWN_FOLDERS)
        _reopen_input()
    if PROCESSES in spaces:
        init = _start_init()
    else:
        _libc().prctl(_PR_SET_SUBREAPER, 1, 0, 0, 0)
    # Where nothing else keeps processes apart, the keeper is asked about some calls.
    asks = PROCESSES not in spaces
    import _socket

    ours, theirs = _socket.socketpair()
    end_with_parent(signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(1)
    script = os.fork()
    if script:
        theirs.close()
        _keep(script, init, ours, report)
    ours.close()
    if report >= 0:
        os.close(report)
    # Before 3.13, Python keeps the number that the thread had before the fork.
    getattr(threading.main_thread(), "_set_native_id", lambda: None)()
    os.setsid()
    end_with_parent(signal.SIGKILL)
    layers = _restrict(scratch, spaces, theirs, asks=asks)
    theirs.close()
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    return layers


def _restrict(scratch: str, spaces: frozenset[str], keeper: Any, *, asks: bool) -> frozenset[str]:
    """Take from the script's process what it must not have; return all layers."""
    layers = set(spaces)
    _drop_capabilities()
    _leave_no_core()
    is_own = FILES in spaces
    folders = [scratch, *(_OWN_FOLDERS if is_own else _unused_shared_memory())]
    devices = [*_devices(), *(["/dev/pts"] if is_own else [])]
    reads = None if is_own else _all_but_terminals()
    if landlock.restrict_writes(folders, [*devices, "/proc/self"], reads):
        layers.add(LANDLOCK)
    guards = {
        "guards_files": not is_own or bool(_automounts()),
        "guards_ipc": not is_own,
        "guards_processes": PROCESSES not in spaces,
        "asks_signals": asks and landlock.version() < landlock.SIGNALS_SINCE,
    }
    listener = seccomp.install(**guards, asks=asks)
    if listener is None and asks:
        listener = seccomp.install(**guards, asks=False)
    if listener is not None:
        layers.add(SECCOMP)
    told = ",".join(sorted(layers)).encode()
    if listener is not None and listener >= 0:
        import _socket

        passed = struct.pack("i", listener)
        keeper.sendmsg([told], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, passed)])
        os.close(listener)
    else:
        keeper.send(told)
    return frozenset(layers)


def _unused_shared_memory() -> list[str]:
    """Return `/dev/shm` where nothing is in it that Landlock could not keep apart."""
    try:
        return [] if os.listdir("/dev/shm") else ["/dev/shm"]
    except OSError:
        return []


def _devices() -> list[str]:
    """Return what may be written to in `/dev`, and controlled."""
    names = [name for name in os.listdir("/dev") if _matches(name, _ACCELERATORS)]
    return [f"/dev/{name}" for name in (*_HARMLESS, "ptmx", *names)]


def _all_but_terminals() -> list[str]:
    """Return what may be read where the user's terminals are seen: all else."""
    top = [f"/{name}" for name in os.listdir("/") if name != "dev"]
    return top + [f"/dev/{name}" for name in os.listdir("/dev") if not _matches(name, _TERMINALS)]


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _leave_no_core() -> None:
    """Let no process of the trial leave an image of itself, in a file or with a program."""
    import resource

    # With 0 the kernel would still start a program that takes it.
    with contextlib.suppress(OSError, ValueError):
        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        limit = 0 if hard == 0 else 1
        resource.setrlimit(resource.RLIMIT_CORE, (limit, limit))


# -- namespaces ---------------------------------------------------------------------------------


def _possible_spaces(scratch: str) -> frozenset[str]:
    """Return the namespaces that can be had, found by trying in a fork: there is no way back."""
    for spaces in (frozenset((FILES, PROCESSES)), frozenset((FILES,))):
        pid = os.fork()
        if pid == 0:
            with contextlib.suppress(BaseException):  # whatever it is: the next layer
                _enter(scratch, spaces, owns=())
                if PROCESSES in spaces:
                    os.kill(_start_init(), signal.SIGKILL)
                os._exit(0)
            os._exit(1)
        if os.waitpid(pid, 0)[1] == 0:
            return spaces
    return frozenset()


def _enter(scratch: str, spaces: frozenset[str], *, owns: Sequence[str]) -> None:
    """Move this process to namespaces of its own; what it forks is in the one for processes.

    Args:
        scratch: the folder that stays writable.
        spaces: the namespaces.
        owns: folders in the place of which it gets empty ones.

    Raises:
        OSError: the kernel does not allow it.
    """
    user, group, cwd = os.geteuid(), os.getegid(), os.getcwd()
    flags = _NEWNS | _NEWIPC | (_NEWPID if PROCESSES in spaces else 0)
    try:
        _call("unshare", flags)
    except OSError:
        _call("unshare", flags | _NEWUSER)
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")
    _keep_mounts_apart()
    place = os.open(scratch, os.O_PATH | os.O_DIRECTORY)
    _make_all_read_only()
    for folder in owns:
        _make_own(os.path.realpath(folder))
    if owns:
        _make_own_devices()
    _mount(f"/proc/self/fd/{place}", scratch, None, _MS_BIND)
    _remount(scratch, is_read_only=False)
    os.close(place)
    os.chdir(cwd)


def _keep_mounts_apart() -> None:
    """Let nothing that is mounted later, which would be writable, get into the trial.

    But where disks are mounted when they are asked for, they still are; seccomp guards those.
    """
    points = _automounts()
    if not points:
        _mount(None, "/", None, _MS_REC | _MS_PRIVATE)
        return
    _mount(None, "/", None, _MS_REC | _MS_SLAVE)
    for point, _ in _mounts():
        if point not in points:
            with contextlib.suppress(OSError):  # covered by another one: not to be reached
                _mount(None, point, None, _MS_PRIVATE)


def _automounts() -> set[str]:
    return {point for point, kind in _mounts() if kind == "autofs"}


def _mounts() -> list[tuple[str, str]]:
    """Return where something is mounted, and its kind."""
    with open("/proc/self/mountinfo", "rb") as file:
        lines = [line.split(b" ") for line in file.read().splitlines()]
    return [(_unescaped(line[4]), line[line.index(b"-") + 1].decode()) for line in lines]


def _unescaped(point: bytes) -> str:
    return os.fsdecode(re.sub(rb"\\([0-7]{3})", lambda code: bytes([int(code[1], 8)]), point))


def _make_own_devices() -> None:
    """Put a `/dev` of the trial in the place of the machine's, with its own terminals."""
    place = os.open("/dev", os.O_PATH | os.O_DIRECTORY)
    try:
        with os.scandir("/dev") as entries:
            shown = [one for one in entries if _matches(one.name, _SHOWN_DEVICES)]
        _mount("tmpfs", "/dev", "tmpfs", _MS_NOSUID | _MS_NOEXEC, "mode=755")
    except OSError:
        return  # Landlock has the same list
    else:
        for entry in shown:
            with contextlib.suppress(OSError):
                _show(f"/proc/self/fd/{place}/{entry.name}", f"/dev/{entry.name}", entry)
        for name, end in _LINKS.items():
            os.symlink(f"/proc/self/fd{end}", f"/dev/{name}")
        os.symlink("pts/ptmx", "/dev/ptmx")
        os.mkdir("/dev/pts")
        with contextlib.suppress(OSError):
            options = "newinstance,ptmxmode=0666,mode=600"
            _mount("devpts", "/dev/pts", "devpts", _MS_NOSUID | _MS_NOEXEC, options)
        with contextlib.suppress(OSError):  # it is the trial's own in any case
            _remount("/dev", is_read_only=True)
    finally:
        os.close(place)


def _reopen_input() -> None:
    """Take the standard input from the trial's own `/dev`: the other can be changed through it."""
    number = os.open(os.devnull, os.O_RDWR)
    os.dup2(number, 0)
    os.close(number)


def _make_all_read_only() -> None:
    attributes = struct.pack("4Q", _ATTR_RDONLY, 0, 0, 0)
    path = b"/"
    with contextlib.suppress(OSError):
        _call("syscall", _MOUNT_SETATTR, -100, path, _AT_RECURSIVE, attributes, len(attributes))
        return
    # Before Linux 5.12 one by one. A mount that another one covers cannot be reached.
    for point, _ in _mounts():
        try:
            _remount(point, is_read_only=True)
        except OSError as error:
            if error.errno not in _MAY_BE_MISSING:
                raise


def _make_own(folder: str) -> None:
    """Put an empty folder of the trial in the place of one, with what was in it shown read-only."""
    try:
        with os.scandir(folder) as entries:
            shown = list(entries)
    except OSError:
        return
    if len(shown) > _MAX_SHOWN:
        return  # it stays as it is, read-only
    place = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    with contextlib.suppress(OSError):
        _mount("tmpfs", folder, "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=1777")
        for entry in shown:
            with contextlib.suppress(OSError):  # gone meanwhile, or not to be seen by this user
                _show(f"/proc/self/fd/{place}/{entry.name}", f"{folder}/{entry.name}", entry)
    os.close(place)


def _show(source: str, target: str, entry: os.DirEntry[str]) -> None:
    if entry.is_symlink():
        os.symlink(os.readlink(source), target)
        return
    if entry.is_dir():
        os.mkdir(target)
    else:
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o600))
    _mount(source, target, None, _MS_BIND | _MS_REC)


def _remount(path: str, *, is_read_only: bool) -> None:
    """Make a mount read-only or not; the rest stays, as the kernel demands it."""
    kept = os.statvfs(path).f_flag
    flags = kept & (_MS_NOSUID | _MS_NODEV | _MS_NOEXEC | os.ST_NOATIME | os.ST_NODIRATIME)
    flags |= _MS_RELATIME if kept & _ST_RELATIME else 0
    flags |= _MS_RDONLY if is_read_only else 0
    _mount(None, path, None, _MS_REMOUNT | _MS_BIND | flags)


def _start_init() -> int:
    """Start the first process of the new namespace; when it ends, the kernel ends all others.

    Raises:
        OSError: it cannot have a `/proc` of its own, without which no process finds itself.
    """
    ready, is_ready = os.pipe()
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            os.close(ready)
            end_with_parent(signal.SIGKILL)
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # orphans that end leave nothing
            _mount("proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
            for path in (f"/proc/{name}" for name in _OF_THE_MACHINE):
                if os.path.exists(path):
                    _mount(path, path, None, _MS_BIND | _MS_REC)
                    _remount(path, is_read_only=True)
            os.write(is_ready, b"1")  # an error where the keeper has ended meanwhile
            os.close(is_ready)
            while True:
                signal.pause()
        os._exit(1)
    os.close(is_ready)
    try:
        if not os.read(ready, 1):
            raise OSError(errno.EPERM, "no /proc for processes of its own")
    finally:
        os.close(ready)
    return pid


def _drop_capabilities() -> None:
    """Give up what could undo the mounts; what the script starts has no more than it has."""
    kept = _KEPT_BY_ROOT if os.geteuid() == 0 else 0
    libc = _libc()
    libc.prctl(_PR_AMBIENT, 4, 0, 0, 0)
    for number in range(_CAPABILITIES):
        if not kept >> number & 1:
            libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
    header = struct.pack("Ii", _CAPABILITY_VERSION, 0)
    held = ctypes.create_string_buffer(24)
    _call("capget", header, held)
    words = struct.unpack("6I", held.raw)
    masks = (kept & 0xFFFFFFFF,) * 3 + (kept >> 32,) * 3
    # Effective and permitted; nothing is inheritable.
    left = [word & mask for word, mask in zip(words, masks, strict=True)]
    left[2] = left[5] = 0
    _call("capset", header, struct.pack("6I", *left))


# -- the keeper ---------------------------------------------------------------------------------


def _keep(script: int, init: int, pair: Any, report: int) -> NoReturn:
    """Wait for the end of the script, or for an order to end it; leave nothing behind."""
    with contextlib.suppress(BaseException):  # whatever fails here: nothing may be left
        listener = _hear_layers(script, pair, report)
        status = _wait(script, listener)
        _end_all(init)
        _end_as(status)
    _end_all(init)
    os._exit(1)


def _hear_layers(script: int, pair: Any, report: int) -> int:
    """Pass on what the script's process says of its layers; return the filter's descriptor."""
    import _socket

    told, extra, *_ = pair.recvmsg(1000, _socket.CMSG_LEN(4))
    pair.close()
    if report >= 0:
        # Nothing that the script can write to: its number is the one that signals are sent to.
        os.write(report, b"%d %s\n" % (script, told))
        os.close(report)
    return int(struct.unpack("i", extra[0][2])[0]) if extra else -1


def _wait(script: int, listener: int) -> int:
    """Return how the script ended; answer what its filter asks meanwhile."""
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD, signal.SIGTERM})
    poll = select.poll()
    poll.register(woken, select.POLLIN)
    requests = seccomp.Requests(listener, _is_inside)
    if listener >= 0:
        poll.register(listener, select.POLLIN)
    while True:
        for descriptor, event in poll.poll():
            if descriptor == woken and signal.SIGTERM in os.read(woken, 100):
                return signal.SIGKILL
            if descriptor == listener and event & select.POLLIN:
                requests.answer_next()
            elif descriptor == listener:
                poll.unregister(listener)  # no process is left that it filters
        for pid, status in _reaped():
            if pid == script:
                return status


def _reaped() -> Iterator[tuple[int, int]]:
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            yield ended


def _end_all(init: int) -> None:
    """End all processes of the trial, and return when none is left."""
    while True:
        # Without a namespace orphans become children of this process: none is out of reach.
        for pid in [init] if init else _children():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _children() -> list[int]:
    numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [number for number in numbers if _parent_and_group(number)[0] == os.getpid()]


def _parent_and_group(number: int) -> tuple[int, int]:
    """Return the parent and the group of a process or thread; zeros where it is gone."""
    try:
        with open(f"/proc/{number}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return int(fields[1]), int(fields[2])
    except OSError:
        return 0, 0


def _is_inside(target: int) -> bool:
    """Tell whether a process, a thread, or all of a group (below zero) belong to the trial."""
    if target < 0:
        numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        group = [number for number in numbers if _parent_and_group(number)[1] == -target]
        return target != -1 and all(_is_inside(number) for number in group)
    while target > 1:
        target = _parent_and_group(target)[0]
        if target == os.getpid():
            return True
    return False


def _end_as(status: int) -> NoReturn:
    """End this process as the script has ended."""
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        os._exit(code)
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if -code not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(-code, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [-code])
    os.kill(os.getpid(), -code)
    os._exit(128 - code)


# -- calls that Python does not have --------------------------------------------------------------


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(name: str, *args: object) -> None:
    if getattr(_libc(), name)(*args) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str = "") -> None:
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind)]
    _call("mount", *words, ctypes.c_ulong(flags), data.encode() or None)


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
