"""The one background thread: samples stacks, reads counters, writes what was collected.

It is started with `_thread`, so that a script which lists or counts its threads sees its own.
"""

from __future__ import annotations

import _thread
import signal
import threading
import time
from collections.abc import Callable

from quickfit import terminal
from quickfit.probes import (
    _user_modules,
    allocations,
    callbacks,
    calls,
    copies,
    devices,
    eager_ops,
    gpus,
    graph_loop,
    holders,
    machine,
    memory,
    overhead,
    py_functions,
    py_input,
    tf_data,
    tracing,
)
from quickfit.probes._guard import fail
from quickfit.probes._state import State, now
from quickfit.probes.raising import Raising
from quickfit.probes.silence import Silence
from quickfit.probes.stacks import StackSampler, Standing

# Twenty stacks a second name a line that takes a tenth of the time within a minute. Without
# Python's lock they cost a fifth, and disturb no other thread.
SAMPLE_EVERY_S, SAMPLE_NATIVE_EVERY_S = 0.05, 0.04
# How often the thread asks for Python's lock, where that is not needed for samples.
LISTEN_EVERY_S = 0.25
# Twice a second: a killed process loses half a second, and counters cost 0.2 % of a core.
COUNTERS_EVERY_S = 0.5
# Steps that may wait to be written: a few megabytes, however fast they come.
MAX_PENDING = 20_000
# A disk that refuses so often in a row will not take the rest either.
MAX_WRITE_FAILURES = 3
# How long the end of the script, or a fork, waits for the last rows, and how often it looks.
MAX_LAST_WRITE_S, LOOK_EVERY_S = 10.0, 0.1
# All quickfit threads together may use 1 % of one core. They slow down before that: the first
# seconds, in which the sources are kept and objects are counted, cost more than the rest.
MAX_CORE_SHARE = 0.0075
# The share is looked at over this long, so that one slow write does not count for much.
BUDGET_WINDOW_S = 5.0


class Background:
    """Samples and writes until stopped."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.stacks: StackSampler = state.kept.setdefault("stacks", StackSampler(state))
        self.machine: machine.MachineReader = state.kept.setdefault(
            "machine", machine.MachineReader(state)
        )
        self.silence: Silence = state.kept.setdefault("silence", Silence(state))
        self.raising: Raising = state.kept.setdefault("raising", Raising(state))
        self.gpus: gpus.GpuReader = state.kept.setdefault("gpus", gpus.GpuReader())
        self.slower = 1.0
        self.failures = 0
        self.budget_from_s = self.budget_cpu_s = 0.0
        self.earlier_cpu_s: float = state.kept.get("background_cpu_s", 0.0)
        self._wake = _thread.allocate_lock()
        self._done = _thread.allocate_lock()
        self._is_running = False

    def start(self) -> None:
        """Start the thread."""
        self._wake.acquire()
        self._done.acquire()
        self._is_running = True
        # A signal that the script holds back waits for it; one of our threads would be struck,
        # and the process ended, in its place. A thread starts with the mask of its maker.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            _thread.start_new_thread(self._run, ())
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def stop(self) -> None:
        """Ask the thread to read everything once more, write it, and end; wait for that."""
        if self._is_running:
            self._is_running = False
            self._wake.release()
            if self.stacks.native is not None:
                self.stacks.native.wake()
            # Long enough for a slow disk; a script must not hang on us for ever, nor on files that
            # it has closed.
            deadline_s = now() + MAX_LAST_WRITE_S
            while not self._done.acquire(timeout=LOOK_EVERY_S):
                if now() > deadline_s or self.state.writer.has_lost_files:
                    return

    def _run(self) -> None:
        self.stacks.start()
        self.budget_from_s = next_counters = now()
        try:
            while not self._sample(next_counters - now()):
                if self.state.is_paused:
                    continue
                self._quietly("silence", self._listen)
                if now() >= next_counters or self.state.writer.pending_steps > MAX_PENDING:
                    self._read_counters()
                    self._keep_budget(now())
                    next_counters = now() + COUNTERS_EVERY_S * self.slower
            if self.stacks.native is not None:
                self.stacks.native.finish()
            self._read_counters()
        finally:
            self._done.release()

    def _sample(self, left_s: float) -> bool:
        """Sample stacks once, or for a while; tell whether the thread is asked to end.

        Args:
            left_s: until the counters are read next.
        """
        if self.stacks.native is not None and not self.state.probes["stacks"].is_off:
            # Asked to end before it could be woken: a script may fork again at once.
            if not self._is_running:
                return True
            every_s = SAMPLE_NATIVE_EVERY_S * self.slower
            return self.stacks.watch(max(min(LISTEN_EVERY_S, left_s), every_s), every_s)
        if self._wake.acquire(timeout=SAMPLE_EVERY_S * self.slower):
            return True
        if not self.state.is_paused:
            self._quietly("stacks", self.stacks.sample)
        return False

    def _read_counters(self) -> None:
        state = self.state
        self._quietly("stacks", self.stacks.write)
        self._quietly("machine", self.machine.read)
        # After the main thread has ended, TensorFlow may be half torn down.
        if threading.main_thread().is_alive():
            self._quietly("holders", self._look_at_holders)
            self._quietly("tf_data", lambda: tf_data.read_pipelines(state))
            self._quietly("devices", lambda: devices.read_once(state))
            self._quietly("gpus", lambda: self.gpus.read(state))
            self._quietly("eager_ops", lambda: eager_ops.read(state))
            self._quietly("memory", lambda: memory.read(state))
            self._quietly("memory", lambda: allocations.write(state))
            self._quietly("copies", lambda: copies.read(state))
            self._quietly("calls", lambda: graph_loop.read(state))
            if self.silence.is_silent:
                self._read_silence()
        self._quietly("stacks", lambda: _user_modules.keep_sources(state))
        self._quietly("py_input", lambda: py_input.write_totals(state))
        self._quietly("callbacks", lambda: callbacks.write_totals(state))
        self._quietly("calls", lambda: calls.write_totals(state))
        self._quietly("py_functions", lambda: py_functions.write_totals(state))
        state.kept["background_cpu_s"] = self.earlier_cpu_s + self._cpu_s()
        self._quietly("machine", lambda: overhead.write(state))
        self._write()

    def _look_at_holders(self) -> None:
        holders.read(self.state, self.machine.own_bytes)

    def _listen(self) -> None:
        self.silence.tick(now())

    def _read_silence(self) -> None:
        """Read what tells why nothing moves."""
        state, silence = self.state, self.silence
        found: list[Standing] = []
        self._quietly("silence", lambda: found.extend(silence.write(self.stacks)))
        self._quietly("silence", lambda: tracing.write(state))
        self._quietly("tf_data", lambda: tf_data.read_waiting(state))
        # A process that the script started cannot know whether the run moves.
        if self._is_running and state.writer.facts.get("role") == "main":
            look = self.raising.look
            self._quietly("raising", lambda: look(found, silence.since_s, self._wait))

    def _wait(self, seconds: float) -> bool:
        """Wait for so long; True, at once, if the thread is asked to end."""
        is_asked = self._wake.acquire(timeout=seconds)
        if is_asked:
            self._wake.release()  # for the loop, which ends then
        return is_asked

    def _write(self) -> None:
        try:
            self.state.writer.flush()
            self.failures = 0
        except Exception as error:  # disk full, folder removed: training goes on unrecorded
            self.failures += 1
            if self.failures < MAX_WRITE_FAILURES:
                return
            machine_probe = self.state.probes["machine"]
            if not machine_probe.is_off:
                terminal.say(f"recording stopped: {error}")
            for probe in self.state.probes.values():
                probe.turn_off("failed", f"the recording cannot be written: {error}")
            self.state.writer.discard()

    def _quietly(self, name: str, read: Callable[[], None]) -> None:
        probe = self.state.probes.get(name)
        if probe is not None and probe.is_off:
            return
        try:
            read()
        except Exception as error:  # anything: the user's training comes first
            if probe is not None:
                fail(probe, error)

    def _cpu_s(self) -> float:
        native = self.stacks.native
        return time.thread_time() + (native.cpu_s if native is not None else 0.0)

    def _keep_budget(self, at_s: float) -> None:
        """Sample more rarely while the thread costs more than its share, then as before."""
        cpu_s = self._cpu_s()
        span_s, used_s = at_s - self.budget_from_s, cpu_s - self.budget_cpu_s
        if span_s < BUDGET_WINDOW_S:
            return
        self.budget_from_s, self.budget_cpu_s = at_s, cpu_s
        if used_s > MAX_CORE_SHARE * span_s:
            self.slower = min(self.slower * 1.5, 40.0)
        elif used_s < 0.5 * MAX_CORE_SHARE * span_s:
            self.slower = max(self.slower / 1.5, 1.0)
