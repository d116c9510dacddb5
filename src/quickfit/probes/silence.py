"""Notices that nothing moves: no step, no batch, no new loop, epoch or trace.

Asked with every sample of the stacks, so it only adds up counters that others keep. While the run
is silent, and only then, it is recorded where every thread of the script stands.
"""

from __future__ import annotations

import json
import os
import threading

from quickfit.probes import _thread_calls
from quickfit.probes._state import Loop, State, now
from quickfit.probes._thread_states import native_ids
from quickfit.probes.native_stacks import Key
from quickfit.probes.stacks import StackSampler, Standing

# Longer than most steps, and short enough to tell within ten seconds what a run is at.
AFTER_S = 3.0
# A thread that stands still is recorded again after this long, to say that it is still there.
AGAIN_S = 10.0
# A script may have thousands; the first ones are as good as any.
MAX_THREADS = 64
# What tells a process its part in a training on several machines, and how much of it is kept.
CLUSTER_VARIABLE, MAX_CLUSTER = "TF_CONFIG", 4_000


class Silence:
    """Whether the run stands still: since when, and in which loop."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.is_silent = False
        self.since_s = now()
        self.where: Loop | None = None
        self._moves = -1
        # By thread: the stack that was recorded last, and when; and the one that was seen last.
        self._written: dict[int, tuple[int, float]] = {}
        self._seen: dict[int, Key] = {}
        self._cluster: str | None = None

    def tick(self, at_s: float) -> None:
        """Look whether anything has moved since the last time."""
        # A start that waits for other workers may hold Python's lock, and then it is too late.
        self._write_cluster()
        moves = self._count()
        if moves != self._moves:
            self._moves, self.since_s = moves, at_s
            if self.is_silent:
                self.is_silent, self.where = False, None
                self._written, self._seen = {}, {}
        elif not self.is_silent and at_s - self.since_s >= AFTER_S:
            active = self.state.active_loops()
            self.is_silent, self.where = True, active[-1] if active else None

    def _count(self) -> int:
        """Return a number that changes with every move."""
        state = self.state
        moves = state.looked + state.next_ids.get("loop", 0) + state.next_ids.get("trace", 0)
        for loop in state.loops:
            moves += loop.steps + loop.epoch
        for made in state.py_inputs:
            moves += made.batches
        for calls in list(_thread_calls.threads.values()):
            moves += calls.calls + len(calls.ends)
        return moves

    def write(self, stacks: StackSampler) -> list[Standing]:
        """Record where the threads are; return it, with whether each was there before."""
        at_s, natives = now(), native_ids()
        known = dict(threading._active)  # type: ignore[attr-defined]
        standing, written = [], {}
        for one in stacks.standing()[:MAX_THREADS]:
            thread = known.get(one.ident)
            native = natives.get(one.ident) or getattr(thread, "native_id", None)
            standing.append(one._replace(is_still=self._seen.get(one.ident) == one.key))
            stack, last = stacks.stack_id(one.role, one.key), self._written.get(one.ident)
            if last is None or last[0] != stack or at_s - last[1] >= AGAIN_S:
                row = (at_s, native, str(getattr(thread, "name", "")), one.role, stack)
                self.state.writer.add("threads", row)
                last = (stack, at_s)
            written[one.ident] = last
        self._written, self._seen = written, {one.ident: one.key for one in standing}
        return standing

    def _write_cluster(self) -> None:
        """Record the cluster that the script is part of; it may have set that up itself."""
        told = os.environ.get(CLUSTER_VARIABLE)
        if told and told != self._cluster:
            self._cluster = told
            self.state.writer.add("meta", ("cluster", json.dumps(told[:MAX_CLUSTER])))
