"""What a script in a trial cannot do: as root, as a user, and where the kernel offers less.

Every mode is real: another user by its number, a kernel that offers less by a seccomp filter that
refuses the calls, as containers do.
"""

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from quickfit.lab.sandbox import confinement, seccomp
from trials import state_of

from launch.sessions import PATIENCE_S, clean_env, eventually

NOBODY = 65534
IS_ARM = platform.machine() == "aarch64"
UNSHARE, LANDLOCK = (97 if IS_ARM else 272), (444, 445, 446)
pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "aarch64") or not sys.platform.startswith("linux"),
    reason="Linux on x86-64 or ARM",
)
ALL = "own namespaces, Landlock, seccomp"


@dataclass(frozen=True)
class Mode:
    """Who runs a trial, which system calls the kernel refuses, and what is then active."""

    uid: int = 0
    refused: tuple[int, ...] = ()
    layers: str = ALL


MODES = {
    "root": Mode(),
    "user": Mode(uid=NOBODY),
    "root without namespaces": Mode(refused=(UNSHARE,), layers="Landlock, seccomp"),
    "user without namespaces": Mode(NOBODY, (UNSHARE,), "Landlock, seccomp"),
}
GUARD_ONLY = Mode(NOBODY, (UNSHARE, *LANDLOCK), "seccomp, Python guard only")

# Refuses calls, runs a script as a trial, and says what came of it.
DRIVER = """
import ctypes, json, os, struct, sys
home, refused, trusts = json.loads(sys.argv[1])
lines = [(0x20, 0, 0, 0)]
for number in refused:
    lines += [(0x15, 0, 1, number), (0x06, 0, 0, 0x00050000 | 38)]
lines.append((0x06, 0, 0, 0x7FFF0000))
code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in lines))
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(38, 1, 0, 0, 0)
assert libc.prctl(22, 2, struct.pack("HP", len(lines), ctypes.addressof(code)), 0, 0) == 0
from pathlib import Path
from quickfit.launch.target import Target
from quickfit.lab.script_trial import started
home = Path(home)
scratch = home.with_name("scratch")
print("begins", flush=True)
with started(Target(script="train.py"), scratch, cwd=home, trusts_script=trusts) as trial:
    trial.keeper.wait()
    logs = [(scratch / f"std{name}.log").read_text() for name in ("out", "err")]
    found = [trial.keeper.poll(), trial.failure(), trial.confinement, *logs]
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Ended:
    """How a trial ended."""

    code: int
    failure: str
    layers: str
    out: str
    err: str


def python_of(uid: int) -> str:
    """Return a Python like this one that a user can run: this one may lie in root's own home."""
    code = f"import sys; exit(sys.version_info[:2] != {sys.version_info[:2]})"
    for path in (sys.executable, shutil.which("python3", path="/usr/bin:/usr/local/bin") or ""):
        try:
            if path and not subprocess.run([path, "-c", code], user=uid, cwd="/").returncode:
                return path
        except OSError:
            continue
    pytest.skip("no Python that another user can run")


class House:
    """A user's home, a file in shared memory and a process, which a trial must leave alone."""

    def __init__(self, top: Path) -> None:
        self.top, self.home = top, top / "home"
        self.home.mkdir()
        (self.home / "log.csv").write_text("precious")
        (self.home / "data").mkdir()
        os.utime(self.home / "log.csv", (1e9, 1e9))
        self.shared = Path("/dev/shm") / f"quickfit-test-{top.name}"
        self.shared.write_text("precious")
        # Also the mark by which what a trial has started is found.
        self.mark = f"4{time.monotonic_ns() % 10**9}"
        self.victim: subprocess.Popen[bytes] | None = None

    def close(self) -> None:
        if self.victim is not None:
            self.victim.kill()
            self.victim.wait()
        self.shared.unlink(missing_ok=True)
        shutil.rmtree(self.top)

    def try_script(self, text: str, mode: Mode, *, trusts: bool = False) -> Ended:
        """Run a script as a trial of a user; the names that it needs are defined in it."""
        self.victim = self.victim or subprocess.Popen(["sleep", "1000"], user=mode.uid)
        names = {"F": "log.csv", "SHM": str(self.shared), "PID": self.victim.pid, "MARK": self.mark}
        head = "".join(f"{name} = {value!r}\n" for name, value in names.items())
        (self.home / "train.py").write_text(head + text)
        for path in (self.top, self.home, self.shared, *self.home.rglob("*")):
            os.chown(path, mode.uid, mode.uid)
        os.utime(self.home / "log.csv", (1e9, 1e9))
        self.before = self.state()
        shutil.rmtree(self.top / "scratch", ignore_errors=True)
        done = subprocess.run(**self.driver(mode, trusts=trusts), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return Ended(*json.loads(done.stdout.splitlines()[-1]))

    def driver(self, mode: Mode, *, trusts: bool) -> dict[str, object]:
        """Return how the driver is started."""
        given = json.dumps([str(self.home), mode.refused, trusts])
        paths = [path for path in sys.path if path.endswith(("src", "site-packages"))]
        more = {"user": mode.uid, "group": mode.uid, "extra_groups": []} if mode.uid else {}
        return {
            "args": [python_of(mode.uid), "-c", DRIVER, given],
            "cwd": self.top,
            "env": clean_env(PYTHONPATH=os.pathsep.join(paths)),
            **more,
        }

    def state(self) -> list[object]:
        facts = self.shared.stat()
        shared = (facts.st_mode, facts.st_uid, facts.st_mtime_ns, self.shared.read_text())
        attributes = os.listxattr(self.home / "log.csv")
        return [state_of(self.home), shared, attributes, self.victim and self.victim.poll()]

    def processes(self) -> list[str]:
        """Return what a trial has started and left."""
        found = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
        return [" ".join(words) for words in found if self.mark in words]


@pytest.fixture
def house():
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    top = Path(tempfile.mkdtemp(prefix="quickfit-test-"))
    top.chmod(0o755)
    found = House(top)
    yield found
    found.close()


IMPORTS = "import ctypes, os, posix, sqlite3, subprocess, sys\nC = ctypes.CDLL(None)\n"
ESCAPES = {
    # Mode, owner and times: Landlock has no right for them.
    "chmod, a program": "run('chmod', '000', F)",
    "chown, a program": "run('chown', '1:1', F)",
    "touch, a program": "run('touch', '-d', '2001-01-01', F)",
    "chmod by descriptor": "os.fchmod(os.open(F, os.O_RDONLY), 0)",
    "chown by descriptor": "os.fchown(os.open(F, os.O_RDONLY), 1, 1)",
    "times by descriptor": "posix.utime(os.open(F, os.O_RDONLY), (1, 1))",
    "attribute by descriptor": "posix.setxattr(os.open(F, os.O_RDONLY), 'user.x', b'1')",
    "chmod by /proc": "posix.chmod(f'/proc/self/fd/{os.open(F, os.O_RDONLY)}', 0)",
    "chmod by /proc, a program": "run('chmod', '000', '/proc/self/cwd/' + F)",
    "chmod in C": "C.chmod(F.encode(), 0)",
    "chown in C": "C.chown(F.encode(), 1, 1)",
    "times in C": "C.utimes(F.encode(), None)",
    "attribute in C": "C.setxattr(F.encode(), b'user.x', b'1', 1, 0)",
    "chattr": "run('chattr', '+d', F)",
    # Contents.
    "overwrite through /proc/self/cwd": "posix.open('/proc/self/cwd/' + F, CUT)",
    "cut while reading": "posix.open(F, os.O_RDONLY | os.O_TRUNC)",
    "truncate in C": "C.truncate(F.encode(), 0)",
    "open in C": "C.open(F.encode(), os.O_WRONLY | os.O_TRUNC)",
    "delete in C": "C.unlink(F.encode())",
    "a database": "sqlite3.connect('new.db').execute('create table t (a)')",
    "a hard link": "C.link(F.encode(), LINK.encode()); posix.open(LINK, CUT)",
    "a symbolic link": "posix.symlink(os.path.abspath(F), LINK); posix.open(LINK, CUT)",
    "a new file beside": "run('touch', 'new.txt')",
    # Shared memory.
    "overwrite in shared memory": "posix.open(SHM, os.O_WRONLY | os.O_TRUNC)",
    "delete in shared memory": "posix.unlink(SHM)",
    "chmod in shared memory": "posix.chmod(SHM, 0)",
    "replace in shared memory, a program": "run('cp', '--remove-destination', F, SHM)",
    # Mounts.
    "mount it writable": "run('mount', '-o', 'remount,rw,bind', '/'); run('umount', '/tmp')",
    "take a mount away": "run('umount', os.path.dirname(LINK)); posix.open(F, os.O_WRONLY)",
    "in namespaces of its own": "run('unshare', '-Urm', 'mount', '-o', 'remount,rw,bind', '/')",
    # Processes.
    "kill": "posix.kill(PID, 9)",
    "kill in C": "C.kill(PID, 9)",
    "kill, a program": "run('kill', '-9', str(PID))",
    "stop": "posix.kill(PID, 19)",
    "queue a signal": "C.syscall(QUEUE, PID, 9, INFO)",
}
HELPERS = """
import shutil, struct, tempfile
LINK = os.path.join(tempfile.gettempdir(), "link")
CUT = os.O_WRONLY | os.O_TRUNC
INFO = struct.pack("3i", 9, 0, -1) + bytes(116)
QUEUE = 138 if os.uname().machine == "aarch64" else 129
def run(*words):
    subprocess.run([shutil.which(words[0]) or words[0], *words[1:]], stderr=subprocess.DEVNULL)
"""
# A child with a session of its own, and a daemon that forks twice.
ORPHANS = """
subprocess.Popen(["sleep", MARK], start_new_session=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execvp("sleep", ["sleep", MARK])
    os._exit(0)
os.wait()
"""


def attempts(escapes):
    tries = [
        f"try:\n    {code}\nexcept OSError as error:\n    pass\nexcept sqlite3.Error: pass"
        f"\nif os.path.lexists(LINK): posix.unlink(LINK)\nprint({name!r}, flush=True)\n"
        for name, code in escapes.items()
    ]
    return IMPORTS + HELPERS + "".join(tries)


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES.keys())
def test_no_attempt_changes_anything_of_the_users(house, mode):
    ended = house.try_script(attempts(ESCAPES) + ORPHANS + "print('to its end')\n", mode)
    assert ended.out.splitlines()[-1:] == ["to its end"], ended
    assert ended.layers == mode.layers
    assert house.state() == house.before
    assert house.processes() == []


def is_done_without_a_trial(house, name):
    """Tell whether an attempt changes something where nothing confines it."""
    for path in (house.home / "log.csv", house.shared):
        path.unlink(missing_ok=True)
        path.write_text("precious")
    os.utime(house.home / "log.csv", (1e9, 1e9))
    before = house.state()
    head = f"F, SHM, PID = 'log.csv', {str(house.shared)!r}, {house.victim.pid}\n"
    command = [sys.executable, "-c", head + attempts({name: ESCAPES[name]})]
    subprocess.run(command, cwd=house.home, stdout=subprocess.DEVNULL)
    if name == "stop":
        is_done = psutil.Process(house.victim.pid).status() == psutil.STATUS_STOPPED
        house.victim.send_signal(signal.SIGCONT)
        return is_done
    if "kill" in name or "signal" in name:
        return house.victim.wait(PATIENCE_S) == -signal.SIGKILL
    try:
        return house.state() != before
    except FileNotFoundError:
        return True


def test_the_attempts_are_real(house):
    # Mounts are left alone here, and not every file system has attributes.
    skipped = ("mount", "namespace", "attribute", "chattr")
    for name in (name for name in ESCAPES if not any(word in name for word in skipped)):
        if house.victim is None or house.victim.poll() is not None:
            house.victim = subprocess.Popen(["sleep", "1000"])
        assert is_done_without_a_trial(house, name), name


# What programs and libraries do every day, which no layer may break.
EVERYDAY = """
import multiprocessing, os, platform, shutil, signal, sqlite3, subprocess, sys, tempfile
import threading, time
from multiprocessing import shared_memory
import psutil

def work(number):
    return number * number

def wait():
    time.sleep(1000)

platform.processor()
open("new.txt", "w").write("new")
shutil.copy("new.txt", "a.txt"); shutil.copy2("new.txt", "b.txt"); shutil.copystat(F, "a.txt")
shutil.copytree("data", "data2")
with tempfile.TemporaryDirectory() as folder:
    with open(os.path.join(folder, "x"), "w") as file:
        file.write("x")
os.chmod("new.txt", 0o644)
os.utime("new.txt")
os.link(F, "linked.csv")
open("linked.csv", "w").write("mine")
try:
    os.remove("gone.txt")
except FileNotFoundError:
    pass
shutil.rmtree("gone", ignore_errors=True)
assert open(F).read() == "precious" and open(SHM).read() == "precious"
assert threading.main_thread().native_id == os.getpid() == threading.get_native_id()
assert psutil.Process().pid == os.getpid() and psutil.Process().cmdline()
assert os.path.exists(f"/proc/{os.getpid()}/status") and os.getpgrp() == os.getpid()
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(work, [1, 2]) == [1, 4]
child = multiprocessing.get_context("fork").Process(target=wait)
child.start()
child.terminate()
child.join()
assert child.exitcode == -signal.SIGTERM
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
child.kill()
assert child.wait() == -9
os.kill(os.getpid(), 0)
signal.signal(signal.SIGUSR1, lambda *_: print("signalled"))
signal.raise_signal(signal.SIGUSR1)
os.killpg(os.getpgrp(), signal.SIGUSR1)
print("fine", os.getuid(), platform.node())
"""
SHARES = """
memory = shared_memory.SharedMemory(create=True, size=100)
memory.close(); memory.unlink()
multiprocessing.Lock(); multiprocessing.Queue()
open("/dev/shm/own", "w").write("x"); os.remove("/dev/shm/own")
"""


@pytest.mark.parametrize(
    "mode", [*MODES.values(), GUARD_ONLY], ids=[*MODES.keys(), "Python guard only"]
)
def test_what_programs_do_every_day_works(house, mode):
    # Where the shared memory of the user cannot be kept apart, a trial has none.
    text = EVERYDAY + (SHARES if mode.layers == ALL else "")
    if "Landlock" in mode.layers and "namespaces" not in mode.layers:
        start = text.index("with multiprocessing.get_context"), text.index("child = multi")
        text = text[: start[0]] + text[start[1] :]  # a pool has semaphores in shared memory
    ended = house.try_script(text, mode)
    assert (ended.code, ended.failure) == (0, ""), ended
    assert ended.out.split()[-3:] == ["fine", str(mode.uid), platform.node()]
    assert ended.out.count("signalled") == 2
    assert house.state() == house.before


# -- where the kernel offers neither namespaces nor Landlock --------------------------------------

SEEN = (
    *("chmod, a program", "chmod in C", "chown in C", "overwrite through /proc/self/cwd"),
    *("open in C", "delete in C", "truncate in C", "a database", "a hard link", "a symbolic link"),
    *("overwrite in shared memory", "delete in shared memory", "kill in C"),
)


@pytest.mark.parametrize("name", SEEN)
def test_with_python_alone_a_script_that_may_write_elsewhere_is_not_tried(house, name):
    ended = house.try_script(attempts({name: ESCAPES[name]}), GUARD_ONLY)
    assert ended.failure.startswith("cannot be tried safely: train.py:")
    assert ended.failure.endswith("If you trust the script: --trust-script")
    assert ended.layers == GUARD_ONLY.layers
    assert name not in ended.out
    assert house.state() == house.before


def test_with_python_alone_the_filter_keeps_signals_and_modes(house):
    """The calls that no guard in Python sees."""
    names = ("chmod by descriptor", "times by descriptor", "chown by descriptor", "kill", "stop")
    ended = house.try_script(attempts({name: ESCAPES[name] for name in names}), GUARD_ONLY)
    assert (ended.code, ended.failure) == (0, ""), ended
    assert house.state() == house.before


def test_a_script_that_the_user_trusts_is_tried_with_python_alone(house):
    text = "import subprocess\nsubprocess.run(['touch', 'new.txt'], check=True)\nprint('done')\n"
    assert house.try_script(text, GUARD_ONLY).failure.endswith("--trust-script")
    ended = house.try_script(text, GUARD_ONLY, trusts=True)
    assert (ended.code, ended.failure, ended.out) == (0, "", "done\n")
    assert (house.home / "new.txt").exists()


def test_trust_lets_no_script_overwrite_a_file(house):
    ended = house.try_script("open(F, 'w')\n", GUARD_ONLY, trusts=True)
    assert ended.failure == "cannot be tried safely: train.py:5 writes log.csv"


@pytest.mark.parametrize(
    "mode", [MODES["root"], MODES["user without namespaces"], GUARD_ONLY], ids=lambda m: m.layers
)
def test_nothing_outlives_quickfit_itself(house, mode):
    text = (
        "import os, subprocess, time\n" + ORPHANS + "print('here', flush=True)\ntime.sleep(1000)\n"
    )
    trusted = mode is GUARD_ONLY
    (house.home / "train.py").write_text(f"MARK = {house.mark!r}\n{text}")
    for path in (house.top, house.home, *house.home.rglob("*")):
        os.chown(path, mode.uid, mode.uid)
    driver = subprocess.Popen(**house.driver(mode, trusts=trusted), stdout=subprocess.DEVNULL)
    log = house.top / "scratch" / "stdout.log"
    eventually(lambda: log.exists() and "here" in log.read_text(), "it runs")
    eventually(lambda: len(house.processes()) == 2, "both are started")
    below = psutil.Process(driver.pid).children(recursive=True)
    driver.kill()
    driver.wait()
    eventually(lambda: not any(one.is_running() for one in below), "the trial ends")
    eventually(lambda: not house.processes(), "what it started ends")


def test_an_exit_code_and_a_signal_are_passed_on(house):
    for text, code in (("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 11)", -11)):
        assert house.try_script(text, MODES["root"]).code == code


@pytest.mark.parametrize(
    ("layers", "text"),
    [
        ({confinement.FILES, confinement.PROCESSES, "Landlock", "seccomp"}, ALL),
        ({confinement.FILES, "seccomp"}, "own namespace for files, seccomp"),
        ({"Landlock", "seccomp"}, "Landlock, seccomp"),
        ({"seccomp"}, "seccomp, Python guard only"),
        (set(), "Python guard only"),
    ],
)
def test_the_layers_are_said_in_a_few_words(layers, text):
    assert confinement.summary(layers) == text


def test_on_another_system_there_is_no_layer(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert confinement.begin("/scratch", parent=1) == frozenset()
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert seccomp.install(guards_files=True, guards_processes=True, asks=False) is None
