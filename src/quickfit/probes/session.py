"""Starts watching a process, keeps watching through forks, and ends with everything on disk.

One background thread does all the sampling and writing. It is stopped before a fork and
started again after it, so that no lock, no SQLite connection and no thread of ours is carried
into the child.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from quickfit import terminal
from quickfit.probes import (
    allocations,
    calls,
    devices,
    eager_ops,
    ending,
    fit_loop,
    hand_loop,
    py_functions,
    py_input,
    retracing,
    stopping,
    tf_data,
)
from quickfit.probes._descriptors import high_numbers, read_bytes
from quickfit.probes._guard import guarded
from quickfit.probes._imports import AfterImport, Patch
from quickfit.probes._probe import Probe
from quickfit.probes._state import Current, State
from quickfit.probes.background import Background
from quickfit.recording import environment
from quickfit.recording.writer import Writer

# In the order of installation. Each has PROBE and patches(probe).
_HOOKING = (calls, fit_loop, tf_data, py_input, py_functions, retracing, devices)
# Those that the background thread asks by itself.
_READING = ("stacks", "machine", "silence", "raising", "holders")
_background: Background | None = None
# What a recording that was ended from inside knew of the hooks.
_last: State | None = None
# A notebook goes on between two recordings, and makes what the next one is about.
_waits = False
# Two threads that fork at once do it one after the other, each without the background thread.
_forking = threading.RLock()


def start(
    folder: Path,
    *,
    role: str,
    stop: dict[str, float] | None = None,
    patches: dict[str, list[Patch]] | None = None,
) -> None:
    """Watch this process from now on.

    Args:
        folder: the run's folder, which exists.
        role: `main` for the script itself, `descendant` for a process it started.
        stop: `{"steps": n}` or `{"seconds": s}` to end the script early at a step boundary.
        patches: what else to do after which import.
    """
    if Current.state is not None:
        return
    state = Current.state = _new_state(folder, role)
    state.stop_steps = int(stop["steps"]) if stop and stop.get("steps") else None
    state.stop_at_s = (
        time.perf_counter() + stop["seconds"] if stop and stop.get("seconds") else None
    )
    _install_hooks(state, patches or {})
    if role == "main":
        # On disk before the script's first line: however it ends, there is a recording.
        state.writer.flush()
    _start_background(state)
    _follow_process()


def _follow_process() -> None:
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
    atexit.register(_at_exit)


def _at_exit() -> None:
    state = Current.state
    # A notebook goes on after an error, and Python keeps the last one.
    if state is not None and "inside" not in state.kept:
        try:
            ending.note(state)
        except Exception as error:  # anything: the script ends as it would have
            state.writer.add("notes", (time.perf_counter(), f"how it ended: {error!r:.200}"))
        _write_ending(state)
    finish()


def _write_ending(state: State) -> None:
    """Put on disk at once that the script's last line has run: what follows may take a while."""
    state.writer.add("meta", ("ending_s", repr(time.perf_counter())))
    with contextlib.suppress(Exception):  # a full disk: `finish` says so
        state.writer.flush()


def finish() -> None:
    """Stop watching and put everything on disk."""
    state = Current.state
    if state is None or state.is_waiting:
        return
    _stop_background()
    # It ends: the last step of an open loop, counted now, must not end it once more.
    state.stop_steps = state.stop_at_s = state.at_step = None
    if state.loops:
        # A training of less than a second may end before the background thread asks for them.
        guarded(state.probes["devices"], devices.read_once)(state)
    try:
        for settle in state.before_finish:
            settle(state)
        hand_loop.finish(state)
        calls.write_totals(state)
        py_functions.write_totals(state)
        state.writer.add("meta", ("ended_s", repr(time.perf_counter())))
        state.writer.close()
    except Exception as error:  # a full disk must not change how the script ends
        terminal.say(f"the recording could not be finished: {error}")


def follow_allocations() -> None:
    """Find out which lines hold more and more memory, at the price of slow steps."""
    if Current.state is not None:
        Current.state.writer.add("meta", ("memory_run", "true"))
        allocations.start()


def is_watched_from_outside() -> bool:
    """Tell whether `quickfit run` watches this process."""
    state = Current.state
    return state is not None and "inside" not in state.kept


def wait_inside() -> None:
    """Notice from now on where datasets and models are made, also between two recordings.

    Nothing is recorded, and nothing is written to a disk, until `start_inside`.
    """
    global _waits
    _waits = True
    if Current.state is not None:
        return
    if _last is not None:
        Current.state = _waiting_like(_last)
        return
    state = Current.state = _new_state(Path(), "main")
    state.is_waiting = state.is_paused = state.kept["inside"] = True
    _install_hooks(state, {})
    _follow_process()


def _waiting_like(before: State) -> State:
    state = _like(before, Path(), "main")
    state.is_waiting = state.is_paused = state.kept["inside"] = True
    return state


def start_inside(folder: Path) -> None:
    """Watch a process that runs already, from its own code; what was watched before is ended."""
    before = Current.state or _last
    if before is None:
        start(folder, role="main")
    else:
        finish()
        Current.state = _like(before, folder, "main")
        Current.state.writer.flush()
        _start_background(Current.state)
    state = Current.state
    assert state is not None
    state.kept["inside"] = True
    state.writer.add("meta", ("started_inside", "true"))


def stop_inside(folder: Path) -> bool:
    """End the recording in a folder, if it is the one under way; the hooks do nothing then."""
    global _last
    state = Current.state
    if state is None or state.is_waiting or state.writer.folder != folder:
        return False
    finish()
    _last = state
    Current.state = _waiting_like(state) if _waits else None
    return True


def progress_inside(folder: Path) -> tuple[int, int] | None:
    """Return how many steps the recording in a folder has seen and in which epoch it is.

    None when it is not under way. It costs nothing: no file is read.
    """
    state = Current.state
    if state is None or state.writer.folder != folder:
        return None
    loops = state.active_loops()
    return state.steps, loops[-1].epoch if loops else 0


def after_loops(action: Callable[[], None] | None) -> None:
    """Call `action` whenever a `fit` has ended."""
    if Current.state is not None:
        Current.state.after_loop = action


def flush(*, cells: dict[str, str] | None = None) -> None:
    """Put on disk what is known now.

    Args:
        cells: what a notebook calls its cells, by their files.
    """
    if Current.state is not None:
        if cells:
            Current.state.writer.add("meta", ("cells", json.dumps(cells)))
        calls.write_totals(Current.state)
        py_functions.write_totals(Current.state)
        Current.state.writer.flush()


def pause(*, paused: bool) -> None:
    """Turn all watching off and on again; the overhead benchmark compares the two."""
    if Current.state is not None:
        Current.state.is_paused = paused


def _new_state(folder: Path, role: str) -> State:
    facts = environment.process_facts(role)
    state = State(Writer(folder, facts, opening=high_numbers, read=read_bytes))
    for module in _HOOKING:
        probe: Probe = module.new_probe()
        state.probes[probe.name] = probe
    for name in (*_READING, "memory", "eager_ops", "callbacks"):
        state.probes[name] = Probe(name, state="active")
    return state


def _install_hooks(state: State, more: dict[str, list[Patch]]) -> None:
    patches = {name: list(found) for name, found in more.items()}
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
    if state is not None and not state.is_waiting:
        try:
            eager_ops.put_back(state)
            state.writer.close()
        except Exception as error:  # a full disk must not keep the script from forking
            state.probes["machine"].turn_off("failed", f"writing before a fork: {error}")


def _after_fork_in_parent() -> None:
    if Current.state is not None and not Current.state.is_waiting:
        _start_background(Current.state)
    _forking.release()


def _after_fork_in_child() -> None:
    _forking.release()
    before = Current.state
    if before is None or before.is_waiting:
        return
    Current.state = _like(before, before.writer.folder, "descendant")
    _start_background(Current.state)


def _like(before: State, folder: Path, role: str) -> State:
    """Return a new state for hooks that are in place: what they found is still true."""
    state = _new_state(folder, role)
    calls.forget()
    py_functions.forget()
    state.probes = {name: _copy(probe) for name, probe in before.probes.items()}
    state.hooks = dict(before.hooks)
    # Models live longer than recordings, and so do the lines that compiled them.
    state.kept = {key: value for key, value in before.kept.items() if _is_of_model(key)}
    return state


def _is_of_model(key: object) -> bool:
    return isinstance(key, str) and key.startswith(("compile ", "run_functions_eagerly"))


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
