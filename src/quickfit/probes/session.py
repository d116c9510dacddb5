"""Starts watching a process, keeps watching through forks, and ends with everything on disk.

One background thread does all the sampling and writing. It is stopped before a fork and
started again after it, so that no lock, no SQLite connection and no thread of ours is carried
into the child.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from pathlib import Path
from typing import NoReturn

from quickfit.probes import (
    devices,
    eager_ops,
    fit_loop,
    py_input,
    retracing,
    stopping,
    tf_data,
)
from quickfit.probes._imports import AfterImport, Patch
from quickfit.probes._probe import Probe
from quickfit.probes._state import Current, State
from quickfit.probes.background import Background
from quickfit.recording import environment
from quickfit.recording.writer import Writer

# In the order of installation. Each has PROBE and patches(probe).
_HOOKING = (fit_loop, tf_data, py_input, retracing, devices)
_background: Background | None = None
# Two threads that fork at once do it one after the other, each without the background thread.
_forking = threading.RLock()


def start(folder: Path, *, role: str, stop: dict[str, float] | None = None) -> None:
    """Watch this process from now on.

    Args:
        folder: the run's folder, which exists.
        role: `main` for the script itself, `descendant` for a process it started.
        stop: `{"steps": n}` or `{"seconds": s}` to end the script early at a step boundary.
    """
    if Current.state is not None:
        return
    state = Current.state = _new_state(folder, role)
    state.stop_steps = int(stop["steps"]) if stop and stop.get("steps") else None
    state.stop_at_s = (
        time.perf_counter() + stop["seconds"] if stop and stop.get("seconds") else None
    )
    _install_hooks(state)
    if role == "main":
        # On disk before the script's first line: however it ends, there is a recording.
        state.writer.flush()
    _start_background(state)
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
    atexit.register(finish)


def finish() -> None:
    """Stop watching and put everything on disk."""
    state = Current.state
    if state is None:
        return
    _stop_background()
    try:
        state.writer.add("meta", ("ended_s", repr(time.perf_counter())))
        state.writer.close()
    except Exception as error:  # a full disk must not change how the script ends
        print(f"quickfit: the recording could not be finished: {error}", file=sys.stderr)


def pause(*, paused: bool) -> None:
    """Turn all watching off and on again; the overhead benchmark compares the two."""
    if Current.state is not None:
        Current.state.is_paused = paused


def _new_state(folder: Path, role: str) -> State:
    facts = environment.process_facts(role)
    state = State(Writer(folder, facts))
    for module in _HOOKING:
        probe: Probe = module.new_probe()
        state.probes[probe.name] = probe
    for name in ("stacks", "machine", "eager_ops", "callbacks"):
        state.probes[name] = Probe(name, state="active")
    return state


def _install_hooks(state: State) -> None:
    patches: dict[str, list[Patch]] = {}
    for module in _HOOKING:
        for name, patch in module.patches().items():
            patches.setdefault(name, []).append(patch)
    AfterImport(patches).install()


def _start_background(state: State) -> None:
    global _background
    _background = Background(state)
    _background.start()


def _stop_background() -> None:
    global _background
    if _background is not None:
        _background.stop()
        _background = None


def _before_fork() -> None:
    _forking.acquire()
    _stop_background()
    state = Current.state
    if state is not None:
        try:
            eager_ops.put_back(state)
            state.writer.close()
        except Exception as error:  # a full disk must not keep the script from forking
            state.probes["machine"].turn_off("failed", f"writing before a fork: {error}")


def _after_fork_in_parent() -> None:
    if Current.state is not None:
        _start_background(Current.state)
    _forking.release()


def _after_fork_in_child() -> None:
    _forking.release()
    before = Current.state
    if before is None:
        return
    state = _new_state(before.writer.folder, "descendant")
    # Hooks were installed before the fork; what they found is true here as well.
    state.probes = {name: _copy(probe) for name, probe in before.probes.items()}
    state.hooks = dict(before.hooks)
    Current.state = state
    _start_background(state)


def _copy(probe: Probe) -> Probe:
    fresh = Probe(probe.name, probe.needs, probe.state, probe.detail, probe.is_off)
    fresh.active = set(probe.active)
    return fresh


def stop_now() -> NoReturn:
    """End the script at a step boundary: everything on disk, nothing after the loop runs."""
    if Current.state is not None:
        Current.state.writer.add("meta", ("stopped_early", "true"))
    finish()
    stopping.leave()
