"""A trial as the parent handles it: started in a process group of its own, watched and ended."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from quickfit import trust
from quickfit.errors import RecordingError
from quickfit.lab.child import Child, ChildOptions, describe_end, read_tail
from quickfit.lab.sandbox import confinement, setup
from quickfit.lab.sandbox.shadow import SHARED_MEMORY
from quickfit.lab.sandbox.spec import (
    EXIT_NOT_BEGUN,
    EXIT_UNSAFE,
    HELD_FILE,
    UNSAFE_FILE,
    VARIABLE,
    Spec,
)
from quickfit.launch.interpreter import interpreter_flags
from quickfit.launch.parent import environment
from quickfit.launch.target import Target
from quickfit.recording.reader import Recording, read
from quickfit.recording.taking import Source

RUNNER = Path(setup.__file__).with_name("runner.py")
SEED = 20_259
# A trial that takes more than this share of the memory that was free is ended.
MEMORY_SHARE = 0.9
# Why a trial was ended that the budget left no time for.
CUT_BY_BUDGET = "was ended: the time is used up; give more with --budget"
# What is said of a script that may write past Python, where the kernel does not stop it.
TRUSTED = (
    ", and this kernel has neither namespaces nor Landlock to confine it."
    " If you trust the script: --trust-script"
)
# How long the keeper of a trial may take to end it.
KEEPER_S = 10.0
# What is read of a note that a trial leaves.
MAX_NOTE_BYTES = 100_000
_POLL_S = 0.1


@dataclass
class Trial:
    """One run of the script.

    `keeper` is the process around the script (see `confinement`) and `script_pid` the script's own,
    whose number and layers the keeper says at the descriptor `report`; None until then.
    `spans` are the times in which it was let run, by the monotonic clock; the last one may be open.
    """

    keeper: Child
    scratch: Path
    target: Target
    cwd: Path
    spans: list[list[float]] = field(default_factory=list)
    why_ended: str = ""
    is_enough: bool = False
    peak_bytes: int = 0
    report: int = -1
    source: Source | None = None
    script_pid: int | None = None
    layers: frozenset[str] | None = None

    @property
    def recording(self) -> Path:
        """The folder with a copy of its recording, in which it cannot write."""
        return _seen(self.scratch)

    def take(self) -> None:
        """Copy what it has recorded so far."""
        if self.source is not None:
            with contextlib.suppress(OSError):
                self.source.take(self.recording)

    def read(self) -> Recording | None:
        """Return what it has recorded so far; None where there is nothing to read yet."""
        self.take()
        try:
            return read(self.recording)
        except RecordingError:
            return None

    def steps(self) -> int:
        """Return how many steps of training it has recorded."""
        recording = self.read()
        return len(recording.main.rows("steps")) if recording is not None else 0

    @property
    def has_ended(self) -> bool:
        """Tell whether it is over, by itself or not."""
        return self.keeper.has_ended

    @property
    def is_running(self) -> bool:
        """Tell whether it is let run."""
        return bool(self.spans) and len(self.spans[-1]) == 1 and not self.has_ended

    @property
    def group(self) -> int:
        """The process group of the script."""
        self._hear()
        return self.script_pid or self.keeper.pid

    def _hear(self) -> None:
        """Take what the keeper says of the script, once."""
        if self.report < 0:
            return
        with contextlib.suppress(BlockingIOError):
            number, _, layers = os.read(self.report, 1000).decode().partition(" ")
            os.close(self.report)
            self.report = -1
            if number:
                self.script_pid = int(number)
                self.layers = frozenset(filter(None, layers.strip().split(",")))

    @property
    def has_begun(self) -> bool:
        """Tell whether the script has a process, and its layers are known."""
        self._hear()
        return self.layers is not None

    @property
    def confinement(self) -> str:
        """What confines it, in a few words; empty until that is known."""
        return (
            confinement.summary(self.layers) if self.has_begun and self.layers is not None else ""
        )

    def is_held(self) -> bool:
        """Tell whether it has stopped itself; the time it says is the end of its first span."""
        if len(self.spans[-1]) == 1:
            with contextlib.suppress(OSError, ValueError):
                held_s = float(_first_bytes(self.scratch / HELD_FILE))
                if _is_stopped(self.group):
                    self.spans[-1].append(held_s)
        return len(self.spans[-1]) == 2

    def hold(self) -> None:
        """Stop all its processes where they are."""
        if len(self.spans[-1]) == 1:
            if not self.has_ended:  # else its number may be that of another group
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.group, signal.SIGSTOP)
            self.spans[-1].append(time.monotonic())

    def go_on(self) -> None:
        """Let its processes go on."""
        if len(self.spans[-1]) == 2 and not self.has_ended:
            self.spans.append([time.monotonic()])
            for group in {self.group, self.keeper.pid}:  # it may have been held very early
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(group, signal.SIGCONT)

    def end(self, why: str = "") -> None:
        """End it, with all it started."""
        self.why_ended = self.why_ended or why
        self._kill()
        if self.spans and len(self.spans[-1]) == 1:
            self.spans[-1].append(time.monotonic())

    def end_well(self) -> None:
        """End it because enough was seen of it; that is no failure."""
        self.is_enough = True
        self.end()

    def _kill(self) -> None:
        """End all processes; the keeper finds those that have left the group."""
        self.keeper.end(grace_s=KEEPER_S if sys.platform.startswith("linux") else 0.0)
        self._hear()
        if self.report >= 0:
            os.close(self.report)
            self.report = -1

    def check_memory(self, limit_bytes: float) -> bool:
        """End a trial that takes more memory than there is; tell whether it was."""
        self.peak_bytes = max(self.peak_bytes, self.keeper.memory_bytes())
        if self.peak_bytes > limit_bytes:
            self.end(f"took {self.peak_bytes / 1e9:.1f} GB of memory, more than is free")
            return True
        return False

    @property
    def is_unsafe(self) -> bool:
        """Tell whether it was ended because it would have harmed something."""
        return self.failure().startswith("cannot be tried safely")

    def failure(self) -> str:
        """Return why it ended, where it did not end well; nothing while it goes well."""
        code = self.keeper.poll()
        if self.why_ended:
            return self.why_ended
        # Also where it was a process of the script that was ended, and the script goes on.
        if code == EXIT_UNSAFE or os.path.lexists(self.scratch / UNSAFE_FILE):
            return f"cannot be tried safely: {self._unsafe()}"
        if code is None or code == 0 or self.is_enough:
            return ""
        words = last_words(self.scratch / "stderr.log")
        if _is_refused(self.scratch / "stderr.log"):
            return f"cannot be tried safely: {self._refused_at()} writes to a file outside: {words}"
        if code == EXIT_NOT_BEGUN:
            return f"could not be begun: {words}"
        how = describe_end(code).removeprefix("was ")
        return f"{how}: {words}" if words else how

    def _refused_at(self) -> str:
        """Return the last line of the user in the traceback."""
        text = read_tail(self.scratch / "stderr.log")
        frames = re.findall(r'^  File "([^"]+)", line (\d+)', text, re.MULTILINE)
        own = [(file, line) for file, line in frames if Path(file).is_relative_to(self.cwd)]
        return f"{Path(own[-1][0]).name}:{own[-1][1]}" if own else "the script"

    def _unsafe(self) -> str:
        try:
            facts = json.loads(_first_bytes(self.scratch / UNSAFE_FILE))
            path = Path(facts["path"])
            what = str(facts["what"])
            place = f"{Path(facts['file']).name}:{facts['line']}" if "file" in facts else ""
        # The script may have written there, too.
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return "it writes to a file that is there already"
        shown = path.relative_to(self.cwd) if path.is_relative_to(self.cwd) else path
        trusted = TRUSTED if "can_be_trusted" in facts else ""
        return f"{place or 'the script'} {what} {shown}{trusted}"


# The script may put a pipe, a device or a link in the place of all that is read here.


def _first_bytes(path: Path) -> str:
    return trust.read_regular(path, MAX_NOTE_BYTES, follow=False).decode(errors="replace")


def _is_stopped(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_STOPPED)
    except psutil.Error:
        return False


def last_words(log: Path) -> str:
    """Return the last line that a script wrote to stderr, logs, warnings and code left out."""
    written = read_tail(log).strip().splitlines()
    left_out = r"[IWEF]\d{4} |WARNING: All log|\s|\S+:\d+: \w*Warning: "
    lines = [line for line in written if not re.match(left_out, line)]
    # A library may speak after the error that ended the script.
    errors = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Interrupt)\b", line)]
    lines = errors or lines
    return lines[-1].strip()[:300] if lines else ""


def _is_refused(log: Path) -> bool:
    """Tell whether the kernel refused a write, which ended the script."""
    tail = read_tail(log)[-4000:]
    marks = ("PermissionError", "Permission denied", "PERMISSION_DENIED", "Read-only file system")
    return any(mark in tail for mark in marks)


@contextlib.contextmanager
def started(
    target: Target,
    folder: Path,
    *,
    cwd: Path,
    texts: Mapping[str, bytes] | None = None,
    results_steps: int = 0,
    holds: bool = False,
    stop: dict[str, float] | None = None,
    trusts_script: bool = False,
) -> Iterator[Trial]:
    """Start a trial; end it, and remove what it wrote but its recording, on the way out.

    Args:
        target: the script and its arguments.
        folder: where its scratch folder is made.
        cwd: the folder in which the user runs the script.
        texts: edited files, by their paths.
        results_steps: keep batches, losses and weights of so many steps.
        holds: it stops itself at the end of its first step.
        stop: end it early at a step boundary, as `quickfit run` does.
        trusts_script: try it also where only Python guards the user's files.
    """
    scratch = folder.resolve()
    for name in ("run.qfrun", "tmp", "shadow", "cuda", "edited"):
        (scratch / name).mkdir(parents=True)
    files = {}
    for number, (path, text) in enumerate((texts or {}).items()):
        files[path] = str(scratch / "edited" / f"{number}.py")
        Path(files[path]).write_bytes(text)
    source = Source(scratch / "run.qfrun")
    shutil.rmtree(_seen(scratch), ignore_errors=True)
    _seen(scratch).mkdir(mode=0o700)
    report, report_end = os.pipe()
    os.set_blocking(report, False)
    spec = Spec(
        str(scratch),
        os.getpid(),
        files,
        SEED,
        results_steps=results_steps,
        holds=holds,
        script=str(cwd / target.script) if target.script else "",
        module=target.module or "",
        args=target.args,
        report=report_end,
        trusts_script=trusts_script,
        shared_memory=_names_in(SHARED_MEMORY),
    )
    env = environment(scratch / "run.qfrun", stop) | setup.environment(str(scratch))
    env[VARIABLE] = str(spec.write())
    try:
        keeper = Child(
            [sys.executable, *interpreter_flags(), str(RUNNER)],
            ChildOptions(
                cwd=cwd,
                env=env,
                stdout=scratch / "stdout.log",
                stderr=scratch / "stderr.log",
                pass_fds=(report_end,),
            ),
        )
    finally:
        os.close(report_end)
    trial = Trial(keeper, scratch, target, cwd, report=report, source=source)
    trial.spans.append([time.monotonic()])
    try:
        yield trial
    finally:
        trial.end()
        trial.take()
        source.close()
        trial.source = None
        for name in ("tmp", "shadow", "cuda"):
            shutil.rmtree(scratch / name, ignore_errors=True)


def _seen(scratch: Path) -> Path:
    return scratch.with_name(f"{scratch.name}-seen.qfrun")


def _names_in(folder: str) -> tuple[str, ...]:
    try:
        return tuple(os.listdir(folder))
    except OSError:
        return ()
