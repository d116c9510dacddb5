"""What a script in a trial cannot reach of the machine: terminals, devices, memory and ranks.

As `test_confinement`: as root, as a user, and where `unshare` is refused.
"""

import contextlib
import ctypes
import fcntl
import os
import socket
import subprocess
import sys
import termios
import threading
from pathlib import Path

import psutil
import pytest

from lab.sandbox.test_confinement import (  # noqa: F401 - a fixture and its marks
    ALL,
    IS_ARM,
    MODES,
    house,
    pytestmark,
)
from quickfit.lab.sandbox import confinement, landlock

from launch.sessions import eventually

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.shmat.restype = ctypes.c_void_p
MQ_OPEN, MQ_UNLINK, MQ_SEND = (180, 181, 182) if IS_ARM else (240, 241, 242)
GET_VERSION = 0x80087601

HEAD = """
import ctypes, fcntl, os, posix, resource, socket, struct, subprocess, sys, termios, threading, time
C = ctypes.CDLL(None, use_errno=True)
C.shmat.restype = ctypes.c_void_p
ARM = os.uname().machine == "aarch64"
def control(number, *args):
    fcntl.ioctl(posix.open(F, os.O_RDONLY), number, *args)
def terminal(flags):
    return posix.open(TTY, flags | os.O_NOCTTY | os.O_NONBLOCK)
def raw(fd):
    found = termios.tcgetattr(fd)
    found[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(fd, termios.TCSANOW, found)
def memory():
    found = C.shmat(C.shmget(KEY, 0, 0), None, 0)
    if found not in (None, 2**64 - 1):
        ctypes.memmove(found, b"HARMED", 6)
def receive():
    queue = C.syscall(180 if ARM else 240, NAME, os.O_RDWR | os.O_NONBLOCK, 0, 0)
    C.syscall(183 if ARM else 243, queue, ctypes.create_string_buffer(8192), 8192, 0, 0)
def call():
    with socket.socket(socket.AF_UNIX) as found:
        found.connect("\\0" + SOCKET)
def opened():
    for folder, _, files in os.walk("/dev"):
        for path in (os.path.join(folder, name) for name in files):
            if path.split("/")[2] in ALLOWED or path.endswith("ptmx") or os.path.islink(path):
                continue
            try:
                os.close(posix.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY))
            except OSError:
                continue
            print("opened", path, flush=True)
"""
ESCAPES = {
    "type for the user": "fcntl.ioctl(terminal(os.O_RDWR), termios.TIOCSTI, b'x')",
    "write to the terminal": "posix.write(terminal(os.O_WRONLY), b'HARMED')",
    "its settings": "raw(terminal(os.O_RDWR))",
    "its settings, opened for reading": "raw(terminal(os.O_RDONLY))",
    "its size": "fcntl.ioctl(terminal(os.O_RDONLY), termios.TIOCSWINSZ, bytes([7] * 8))",
    "what is typed": "posix.read(terminal(os.O_RDONLY), 100)",
    "shared memory": "memory()",
    "remove shared memory": "C.shmctl(C.shmget(KEY, 0, 0), 0, None)",
    "receive a message": "receive()",
    "remove a queue": "C.syscall(181 if ARM else 241, NAME)",
    "a limit": "resource.prlimit(PID, resource.RLIMIT_NOFILE, (17, 17))",
    "priority": "os.setpriority(os.PRIO_PROCESS, PID, 7)",
    "priority of a group": "os.setpriority(os.PRIO_PGRP, GROUP, 8)",
    "processors": "os.sched_setaffinity(PID, {0})",
    "scheduler": "os.sched_setscheduler(PID, os.SCHED_BATCH, os.sched_param(0))",
    "priority of its files": "C.syscall(30 if ARM else 251, 1, PID, (3 << 13) | 7)",
    "version of a file": "control(0x40086604, struct.pack('Q', 77))",
    "input, its mode": "os.fchmod(0, os.stat(0).st_mode & 0o7777)",
    "input, its times": "os.utime(0, ns=(os.stat(0).st_atime_ns, os.stat(0).st_mtime_ns))",
    "call a socket without a name": "call()",
    "open devices": "opened()",
}
ALLOWED = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "shm")


class Machine:
    """A terminal, shared memory, a queue and a socket of the user, beside their house."""

    def __init__(self, house, uid):  # noqa: F811
        self.house = house
        self.victim = house.victim = subprocess.Popen(
            ["sleep", "1000"], user=uid, start_new_session=True
        )
        self.master, self.slave = os.openpty()
        os.fchown(self.slave, uid, -1)
        os.write(self.master, b"typed by the user\n")
        os.set_blocking(self.master, False)
        eventually(lambda: any(fcntl.ioctl(self.slave, termios.FIONREAD, bytes(4))), "it is typed")
        self.key = int(house.mark) % 2**30
        self.segment = LIBC.shmget(self.key, 4096, 0o1666)
        self.shared = LIBC.shmat(self.segment, None, 0)
        ctypes.memmove(self.shared, b"precious", 8)
        self.name = f"quickfit-{house.mark}".encode()
        mask = os.umask(0)
        self.queue = LIBC.syscall(MQ_OPEN, self.name, os.O_CREAT | os.O_RDWR, 0o666, 0)
        os.umask(mask)
        assert LIBC.syscall(MQ_SEND, self.queue, b"precious", 8, 0, 0) == 0
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(f"\0quickfit-{house.mark}")
        self.socket.listen()
        self.socket.setblocking(False)
        self.written = b""

    def close(self):
        self.victim.kill()
        self.victim.wait()
        LIBC.shmdt(ctypes.c_void_p(self.shared))
        LIBC.shmctl(self.segment, 0, None)
        LIBC.syscall(MQ_UNLINK, self.name)
        self.socket.close()
        for number in (self.master, self.slave, self.queue):
            os.close(number)

    @property
    def names(self):
        return {
            "TTY": os.ttyname(self.slave),
            "KEY": self.key,
            "NAME": self.name,
            "GROUP": self.victim.pid,
            "SOCKET": f"quickfit-{self.house.mark}",
            "ALLOWED": ALLOWED,
        }

    def script(self, escapes):
        given = "".join(f"{name} = {value!r}\n" for name, value in self.names.items())
        tries = "".join(
            f"try:\n    {code}\nexcept (OSError, PermissionError, termios.error): pass\n"
            for code in escapes
        )
        return given + HEAD + tries

    def state(self):
        with contextlib.suppress(BlockingIOError):
            self.written += os.read(self.master, 1000)
        calls = 0
        with contextlib.suppress(BlockingIOError):
            self.socket.accept()[0].close()
            calls = 1
        settings = termios.tcgetattr(self.slave)
        victim = psutil.Process(self.victim.pid)
        return {
            "terminal": (
                settings,
                fcntl.ioctl(self.slave, termios.TIOCGWINSZ, bytes(8)),
                fcntl.ioctl(self.slave, termios.FIONREAD, bytes(4)),
                b"HARMED" in self.written,
            ),
            "shared memory": (
                LIBC.shmget(self.key, 0, 0),
                ctypes.string_at(self.shared, 8),
            ),
            "queue": self.messages(),
            "limit": Path(f"/proc/{self.victim.pid}/limits").read_text(),
            "rank": (victim.nice(), victim.cpu_affinity(), victim.ionice()),
            "scheduler": os.sched_getscheduler(self.victim.pid),
            "version": self.version(),
            "null": os.stat("/dev/null").st_ctime_ns,
            "calls": calls,
        }

    def messages(self):
        with open(f"/proc/self/fd/{self.queue}") as file:
            held = file.read()
        there = LIBC.syscall(MQ_OPEN, self.name, os.O_RDONLY, 0, 0)
        if there >= 0:
            os.close(there)
        return held, there >= 0

    def version(self):
        with open(self.house.home / "log.csv") as file, contextlib.suppress(OSError):
            return fcntl.ioctl(file, GET_VERSION, bytes(8))


@contextlib.contextmanager
def machine_of(house, uid):  # noqa: F811
    machine = Machine(house, uid)
    try:
        yield machine
    finally:
        machine.close()


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES.keys())
def test_no_attempt_reaches_the_machine(house, mode):  # noqa: F811
    skipped = {"call a socket without a name"} if landlock.version() < 6 else set()
    codes = [code for name, code in ESCAPES.items() if name not in skipped]
    with machine_of(house, mode.uid) as machine:
        before = machine.state()
        ended = house.try_script(machine.script(codes) + "print('to its end')\n", mode)
        assert ended.layers == mode.layers, ended
        assert ended.out == "to its end\n", ended
        assert machine.state() == before


@pytest.mark.parametrize("name", ESCAPES)
def test_the_attempts_are_real(house, name):  # noqa: F811
    with machine_of(house, 0) as machine:
        before = machine.state()
        if name == "version of a file" and before["version"] is None:
            pytest.skip("this file system has none")
        head = f"F, PID = 'log.csv', {machine.victim.pid}\n"
        done = subprocess.run(
            [sys.executable, "-c", head + machine.script([ESCAPES[name]])],
            cwd=house.home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        is_done = machine.state() != before or "opened" in done.stdout
        if name == "type for the user" and not is_done:
            pytest.skip("this kernel refuses it to all")
        assert is_done, done


# What must still work: terminals, threads and processes of its own.
EVERYDAY = """
import os, pty, resource, sys, threading, subprocess
import multiprocessing
from multiprocessing.connection import Client, Listener
assert open("/dev/urandom", "rb").read(1) and open("/dev/zero", "rb").read(1) == b"\\0"
open("/dev/null", "w").write("x")
assert sys.stdin.read() == "" and os.path.exists("/dev/fd/0")
os.sched_setaffinity(os.getpid(), os.sched_getaffinity(0))
thread = threading.Thread(target=lambda: os.sched_setaffinity(threading.get_native_id(), {0}))
thread.start(); thread.join()
child = subprocess.Popen(["sleep", "1000"])
os.sched_setaffinity(child.pid, os.sched_getaffinity(0))
os.setpriority(os.PRIO_PROCESS, child.pid, 5)
resource.prlimit(child.pid, resource.RLIMIT_NOFILE, (100, 100))
assert os.getpriority(os.PRIO_PROCESS, child.pid) == 5
assert resource.prlimit(child.pid, resource.RLIMIT_NOFILE) == (100, 100)
child.kill(); child.wait()
os.nice(1)
assert resource.getrlimit(resource.RLIMIT_CORE)[0] <= 1
with Listener("\\0quickfit-own-" + str(os.getpid())) as listener:
    with Client(listener.address) as client, listener.accept() as served:
        client.send("x")
        assert served.recv() == "x"
"""
TERMINAL = """
master, slave = os.openpty()
os.write(master, b"x\\n")
assert os.read(slave, 10) == b"x\\n" and os.ttyname(slave).startswith("/dev/pts/")
pid, terminal = pty.fork()
if pid == 0:
    os.execvp("tty", ["tty"])
assert b"/dev/pts/" in os.read(terminal, 100)
os.waitpid(pid, 0)
"""


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES.keys())
def test_terminals_threads_and_processes_of_its_own_work(house, mode):  # noqa: F811
    # Without namespaces no terminal can be told from those of the user.
    text = EVERYDAY + (TERMINAL if mode.layers == ALL else "") + "print('fine')\n"
    ended = house.try_script(text, mode)
    assert (ended.code, ended.failure, ended.out) == (0, "", "fine\n"), ended


LATE = """
import os, posix, time
print("here", flush=True)
while not os.path.exists("go"):
    time.sleep(0.01)
for change in (
    lambda: posix.chmod("late/new/keep.txt", 0o777),
    lambda: posix.utime("late/new/keep.txt", (1, 1)),
    lambda: posix.truncate("late/new/keep.txt", 0),
    lambda: posix.unlink("late/new/keep.txt"),
):
    try:
        change()
    except OSError:
        pass
print("to its end")
"""


def mounted(path):
    subprocess.run(["mount", "-t", "tmpfs", "quickfit-test", path], check=True)


@pytest.mark.parametrize("mode", [MODES["root"], MODES["user"]], ids=["root", "user"])
def test_a_disk_that_is_mounted_during_a_trial_is_left_alone(house, mode):  # noqa: F811
    late = house.home / "late"
    late.mkdir()
    mounted(late)
    keep = late / "new" / "keep.txt"
    try:
        subprocess.run(["mount", "--make-shared", late], check=True)
        keep.parent.mkdir()
        log = house.top / "scratch" / "stdout.log"

        def plug_in():
            eventually(lambda: log.exists() and "here" in log.read_text(), "it runs")
            mounted(keep.parent)
            keep.write_text("precious")
            os.chown(keep, mode.uid, mode.uid)
            os.utime(keep, (1e9, 1e9))
            (house.home / "go").touch()

        thread = threading.Thread(target=plug_in)
        thread.start()
        ended = house.try_script(LATE, mode)
        thread.join()
        assert ended.out == "here\nto its end\n", ended
        facts = keep.stat()
        assert (facts.st_mode & 0o777, facts.st_mtime, keep.read_text()) == (0o644, 1e9, "precious")
    finally:
        subprocess.run(["umount", keep.parent], stderr=subprocess.DEVNULL)
        subprocess.run(["umount", "-l", late], check=True)


def test_where_disks_are_mounted_on_demand_they_still_are(monkeypatch):
    calls = []
    monkeypatch.setattr(confinement, "_mount", lambda *args: calls.append(args))
    mounts = [("/", "ext4"), ("/data", "autofs"), ("/home", "ext4")]
    monkeypatch.setattr(confinement, "_mounts", lambda: mounts)
    confinement._keep_mounts_apart()
    private, slave = confinement._MS_PRIVATE, confinement._MS_REC | confinement._MS_SLAVE
    assert calls == [
        (None, "/", None, slave),
        (None, "/", None, private),
        (None, "/home", None, private),
    ]


def test_mounts_are_found_by_their_names():
    assert confinement._mounts()[0] != ("/", "proc")
    assert ("/proc", "proc") in confinement._mounts()
    assert confinement._unescaped(rb"/with\040space\134") == "/with space\\"
