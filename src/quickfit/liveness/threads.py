"""The threads of a script and the processes below it: their stacks, and what they wait in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from quickfit.liveness import system
from quickfit.liveness.rows import NewRows, Row, value_of
from quickfit.liveness.scene import Child, Frame, Thread
from quickfit.recording.schema import PROCESS_SUFFIX

# Rows of stacks that a window may have.
_MAX_SAMPLES = 600
# Where a thread stands is written when that changes, and anew at least this often.
_THREADS_S = 12.0
_MAX_STANDING = 1000
# A row of samples is of this long before it.
_SAMPLES_S = 1.0


class Stacks:
    """The stacks that were seen in one process; each is read once.

    Args:
        rows: the recording of the process.
    """

    def __init__(self, rows: NewRows) -> None:
        self._rows = rows
        self._known: dict[int, tuple[str, tuple[Frame, ...]]] = {}

    def seen(self, since_s: float) -> dict[str, Counter[int]]:
        """Return how often each stack was seen since a moment, by the role of its thread."""
        seen: dict[str, Counter[int]] = {}
        for row in self._rows.since("samples", since_s, _MAX_SAMPLES):
            role = self._stack(row["stack"])[0]
            seen.setdefault(role, Counter())[row["stack"]] += row["seen"]
        return seen

    def frames(self, stack: int | None) -> tuple[Frame, ...]:
        """Return the frames of a stack, the innermost first."""
        return self._stack(stack)[1] if stack is not None else ()

    def lines(self, counts: Counter[int]) -> tuple[tuple[str, int, int], ...]:
        """Return how often each innermost line of the user's was seen, the most frequent first."""
        lines: Counter[tuple[str, int]] = Counter()
        for stack, seen in counts.items():
            frame = next((f for f in self.frames(stack) if f.is_user), None)
            if frame is not None:
                lines[frame.file, frame.line] += seen
        return tuple((file, line, seen) for (file, line), seen in lines.most_common())

    def _stack(self, number: int) -> tuple[str, tuple[Frame, ...]]:
        if number in self._known:
            return self._known[number]
        told = self._rows.ask("SELECT role, frames FROM stacks WHERE id = ?", number)
        ids = value_of(told[0]["frames"]) if told else None
        if not isinstance(ids, list):
            return "", ()
        marks = ",".join("?" * len(ids))
        found = self._rows.ask(f"SELECT * FROM frames WHERE id IN ({marks})", *ids)
        frames = {
            row["id"]: Frame(row["file"], row["line"], row["function"], bool(row["is_user"]))
            for row in found
        }
        self._known[number] = (told[0]["role"], tuple(frames[n] for n in ids if n in frames))
        return self._known[number]


class Processes:
    """Looks at the threads of a script and at the processes below it, again and again.

    Args:
        folder: where the run is recorded.
        pid: the script's process.
        look: asks the system about a process.
    """

    def __init__(
        self, folder: Path, pid: int, *, look: Callable[[int], system.Look | None]
    ) -> None:
        self._folder, self._pid, self._ask_system = folder, pid, look
        self._number = system.number_inside(pid)
        self._rows = recorded_by(folder, self._number)
        self._stacks = Stacks(self._rows)
        self._before: system.Look | None = None
        self._now: system.Look | None = None
        self._born: set[int] = set()

    @property
    def born(self) -> int:
        """How many processes were seen below the script so far."""
        return len(self._born)

    def look(self) -> None:
        """Look again; CPU is told from one look to the next."""
        self._before, self._now = self._now, self._ask_system(self._pid)
        if self._now is not None:
            self._born |= {process.pid for process in self._now.below}

    def threads(self, now_s: float, window_s: float) -> tuple[Thread, ...]:
        """Return the threads of the script."""
        seen = self._stacks.seen(now_s - window_s)
        standing = self._standing(now_s) or self._most_seen(seen)
        roles = Counter(role for _, role, _ in standing)
        same = Counter((role, stack) for _, role, stack in standing)
        found = []
        for native_id, role, stack in standing:
            counts, frames = seen.get(role, Counter()), self._stacks.frames(stack)
            # Samples tell the role and not the thread: each has its part of them.
            each = sum(counts.values()) * same[role, stack] / roles[role]
            share = min(counts[stack] / each, 1.0) if each else 1.0
            if frames:
                lines = self._stacks.lines(counts)
                found.append(Thread(role, frames, share, lines, *self._task(native_id)))
        return tuple(found)

    def _standing(self, now_s: float) -> list[tuple[int | None, str, int]]:
        """Return where each thread was seen last; one that has ended is no longer there."""
        rows = self._rows.since("threads", now_s - _THREADS_S, _MAX_STANDING)
        newest = {row["native_id"] or (row["name"], row["role"]): row for row in rows}
        tasks = self._now.process.tasks if self._now is not None else {}
        return [
            (row["native_id"], row["role"], self._now_at(row))
            for row in newest.values()
            if not tasks or row["native_id"] is None or row["native_id"] in tasks
        ]

    def _now_at(self, row: Row) -> int:
        """Return the stack of a thread; the main one's is known from samples where it went on.

        Rows are written while nothing moves, and none says that something moves again.
        """
        later = self._stacks.seen(row["at_s"] + _SAMPLES_S) if row["role"] == "main" else {}
        counts = later.get("main", Counter())
        stack: int = row["stack"]
        return stack if stack in counts else most_seen(counts) or stack

    def _most_seen(self, seen: dict[str, Counter[int]]) -> list[tuple[int | None, str, int]]:
        """Return a thread of each role; without numbers only the main thread's is known."""
        stacks = [(role, most_seen(counts)) for role, counts in seen.items()]
        main = self._number
        return [(main if r == "main" else None, r, s) for r, s in stacks if s is not None]

    def _task(self, native_id: int | None) -> tuple[float | None, str, str, float | None]:
        """Return what of a core a thread used, what it sleeps in, and how often it was woken."""
        before, now = self._before, self._now
        task = now.process.tasks.get(native_id) if now and native_id else None
        earlier = before.process.tasks.get(native_id) if before and native_id else None
        if task is None or now is None:
            return None, "", "", None
        span_s = now.at_s - before.at_s if before is not None else 0.0
        cores, wakes = rates(earlier, task, span_s)
        return cores, task.waits_in, task.waits_for, wakes

    def children(self, now_s: float, window_s: float) -> tuple[Child, ...]:
        """Return the processes below the script."""
        before, now = self._before, self._now
        if now is None:
            return ()
        earlier = {p.pid: p for p in before.below} if before is not None else {}
        span_s = now.at_s - before.at_s if before is not None else 0.0
        since_s = now_s - window_s
        return tuple(self._child(p, earlier.get(p.pid), span_s, since_s) for p in now.below)

    def _child(
        self,
        now: system.ProcessLook,
        before: system.ProcessLook | None,
        span_s: float,
        since_s: float,
    ) -> Child:
        stacks = Stacks(recorded_by(self._folder, now.pid))
        frames = stacks.frames(most_seen(stacks.seen(since_s).get("main", Counter())))
        used_s = now.cpu_s - before.cpu_s if before is not None else now.cpu_s
        age_s = max(system.uptime_s() - now.began_s, 0.0)
        return Child(
            pid=now.pid,
            name=now.name,
            age_s=age_s,
            cores=used_s / (span_s if before is not None and span_s else max(age_s, 0.1)),
            state=now.state,
            waits_in=now.waits_in,
            is_fork=now.is_fork,
            runs_script=runs_script(frames),
            frames=frames,
        )


def recorded_by(folder: Path, pid: int) -> NewRows:
    """Return the recording of one process of a run."""
    return NewRows(folder / f"{pid}{PROCESS_SUFFIX}")


def most_seen(counts: Counter[int]) -> int | None:
    """Return the stack that was seen most often."""
    return counts.most_common(1)[0][0] if counts else None


def runs_script(frames: tuple[Frame, ...]) -> bool:
    """Tell whether a worker started by spawn is in the script's own top level."""
    spawned = any(
        frame.is_in("/multiprocessing/spawn.py") and frame.function.startswith("_fixup_main")
        for frame in frames
    )
    return spawned and any(frame.is_user and frame.function == "<module>" for frame in frames)


def rates(
    before: system.TaskLook | None, now: system.TaskLook, span_s: float
) -> tuple[float | None, float | None]:
    """Return the cores a thread used between two looks, and how often a second it was woken."""
    if before is None or span_s <= 0:
        return None, None
    cores = (now.cpu_s - before.cpu_s) / span_s
    if before.wakes is None or now.wakes is None:
        return cores, None
    return cores, (now.wakes - before.wakes) / span_s
