"""CPU time of the process by what its threads do.

TensorFlow names only some of its threads: Linux refuses names of more than 15 characters, and a
thread without a name of its own has that of the thread that started it. So the order in which
threads were born tells the rest. When TensorFlow starts, it makes its intra-op pool (no name
sticks), then its inter-op pool (`tf_Compute`), then a `tf_graph_runner`. Threads that come later
under the name of the process or of the inter-op pool are those of tf.data. A library that starts
its own unnamed threads after that is taken for tf.data too.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from quickfit.probes._descriptors import names_in
from quickfit.probes._state import State, now
from quickfit.probes._system_files import text

# What `_frames.c` calls its thread.
SAMPLER_NAME = "quickfit"
# The name of the threads of TensorFlow that run its operations.
INTER_OP_NAME = "tf_Compute"
# A pool of a hundred threads is made within a few hundredths of a second.
_POOL_TICKS = 3
# A thread gives itself its name after it was born.
_YOUNG_LOOKS = 3


@dataclass
class Thread:
    """One thread: when it was born, its name, and its counters when last seen."""

    id: int
    start_ticks: int
    name: str
    cpu_ns: int = 0
    delay_ns: int = 0
    disk_ticks: int = 0
    looks: int = 0


class ThreadGroups:
    """Adds up what each group of threads used, also those that have ended since."""

    def __init__(self) -> None:
        self.disk_ticks = 0
        self._threads: dict[int, Thread] = {}
        self._cpu_ns: dict[str, int] = {}
        self._delay_ns: dict[str, int] = {}
        self._names_of_main: set[str] = set()
        # The kernel counts waiting for the disk only when told to.
        self.counts_disk = (text("/proc/sys/kernel/task_delayacct") or "0").strip() == "1"

    def read(self) -> list[tuple[str, int, float, float]] | None:
        """Return name, threads, CPU seconds and run-queue delay of every group so far."""
        seen = self._look()
        if not seen:
            return None  # no such folder, or a kernel that does not count
        groups = self._groups(list(self._threads.values()))
        alive: dict[str, int] = {}
        for thread, cpu_ns, delay_ns in seen:
            group = groups[thread.id]
            alive[group] = alive.get(group, 0) + 1
            self._cpu_ns[group] = self._cpu_ns.get(group, 0) + cpu_ns
            self._delay_ns[group] = self._delay_ns.get(group, 0) + delay_ns
        self._count_ended()
        return [
            (name, alive.get(name, 0), cpu_ns / 1e9, self._delay_ns.get(name, 0) / 1e9)
            for name, cpu_ns in sorted(self._cpu_ns.items())
        ]

    def _look(self) -> list[tuple[Thread, int, int]]:
        """Return the live threads, each with what its counters grew by."""
        try:
            ids = [int(name) for name in names_in("/proc/self/task")]
        except OSError:
            return []
        before, self._threads = self._threads, {}
        found = []
        for number in ids:
            told = (text(f"/proc/self/task/{number}/schedstat") or "").split()
            if len(told) < 2:
                continue  # it has ended since
            cpu_ns, delay_ns = int(told[0]), int(told[1])
            thread = before.get(number)
            # A smaller counter is that of a new thread with an old number.
            if thread is None or cpu_ns < thread.cpu_ns or thread.looks < _YOUNG_LOOKS:
                thread = self._named(number, thread)
                if thread is None:
                    continue
            self._threads[number] = thread
            found.append((thread, cpu_ns - thread.cpu_ns, delay_ns - thread.delay_ns))
            thread.cpu_ns, thread.delay_ns = cpu_ns, delay_ns
            thread.looks += 1
            if self.counts_disk:
                self._add_disk_wait(thread)
        return found

    def _named(self, number: int, known: Thread | None) -> Thread | None:
        told = text(f"/proc/self/task/{number}/stat")
        if not told:
            return None
        name, fields = split_stat(told)
        start_ticks = int(fields[19])
        if known is not None and known.start_ticks == start_ticks:
            known.name = name
            return known
        return Thread(number, start_ticks, name)

    def _add_disk_wait(self, thread: Thread) -> None:
        told = text(f"/proc/self/task/{thread.id}/stat")
        if told:
            ticks = int(split_stat(told)[1][39])
            self.disk_ticks += max(ticks - thread.disk_ticks, 0)
            thread.disk_ticks = ticks

    def _groups(self, threads: list[Thread]) -> dict[int, str]:
        main = threading.main_thread().native_id or 0
        own = threading.get_native_id()
        groups = {own: "quickfit", main: "main"}
        for python in threading.enumerate():
            # Threads of TensorFlow that call Python are known to Python under a stand-in.
            is_stand_in = isinstance(python, threading._DummyThread)
            if python.native_id is not None and not is_stand_in:
                groups.setdefault(python.native_id, "python")
        for thread in threads:
            if thread.id == main:
                self._names_of_main.add(thread.name)
            elif thread.name == SAMPLER_NAME:
                groups[thread.id] = "quickfit"
        rest = [thread for thread in threads if thread.id not in groups]
        return groups | born_groups(rest, self._names_of_main)

    def _count_ended(self) -> None:
        """Credit what the process used and no thread was seen to use."""
        known_ns = sum(ns for name, ns in self._cpu_ns.items() if name != "ended")
        ended_ns = time.process_time_ns() - known_ns
        self._cpu_ns["ended"] = max(ended_ns, self._cpu_ns.get("ended", 0))


def born_groups(threads: list[Thread], names_of_main: set[str]) -> dict[int, str]:
    """Return the group of each native thread, from its name and the order of their births."""
    ordered = sorted(threads, key=lambda thread: (thread.start_ticks, thread.id))
    unnamed = {*names_of_main, INTER_OP_NAME}
    first = next((i for i, t in enumerate(ordered) if t.name == INTER_OP_NAME), None)
    groups = {}
    for place, thread in enumerate(ordered):
        if thread.name not in unnamed:
            groups[thread.id] = "tensorflow" if thread.name.startswith("tf_") else "named"
        elif first is None or place < first:
            groups[thread.id] = "libraries"
        else:
            groups[thread.id] = "tf.data"
    if first is not None:
        _mark_pools(ordered, first, groups)
    return groups


def _mark_pools(ordered: list[Thread], first: int, groups: dict[int, str]) -> None:
    born = ordered[first].start_ticks
    for thread in ordered[first:]:
        if thread.name != INTER_OP_NAME or thread.start_ticks > born + _POOL_TICKS:
            break
        groups[thread.id] = "inter-op"
    for thread in reversed(ordered[:first]):
        if groups[thread.id] != "libraries" or thread.start_ticks < born - _POOL_TICKS:
            break
        groups[thread.id] = "intra-op"


def split_stat(told: str) -> tuple[str, list[str]]:
    """Return the name and the fields after it (the third first) of a `stat` file.

    A name may hold blanks and brackets; the last bracket ends it.
    """
    begin, end = told.index("("), told.rindex(")")
    return told[begin + 1 : end], told[end + 2 :].split()


def write(state: State, groups: list[tuple[str, int, float, float]]) -> None:
    """Record the running totals of all groups."""
    at_s = now()
    for name, threads, cpu_s, delay_s in groups:
        state.writer.add("thread_groups", (name, at_s, threads, cpu_s, delay_s))
