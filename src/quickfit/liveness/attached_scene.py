"""Makes a scene of what was seen of a process from outside."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from pathlib import Path

from quickfit.liveness import pyspy, system
from quickfit.liveness.attach import Looks, Target, text
from quickfit.liveness.pyspy import ThreadStack
from quickfit.liveness.scene import Child, Frame, Loop, Machine, Scene, Thread
from quickfit.liveness.threads import rates, runs_script

# Workers whose stacks are asked for.
MAX_CHILDREN = 6
# Functions and files of TensorFlow and Keras below which a thread makes input.
_INPUT_FUNCTIONS = {"generator_py_func", "generator_next_fn", "get_tf_iterator", "get_index"}
_INPUT_FILES = ("/script_ops.py", "/py_dataset_adapter.py", "/from_generator_op.py")
_TRAINER = ("/backend/tensorflow/trainer.py", "/src/trainers/trainer.py", "/engine/training.py")
_LOOPS = ("fit", "evaluate", "predict")
# A source file larger than this is no script.
_MAX_SOURCE = 2_000_000


def scene_of(target: Target, looks: Looks, *, program: str = "") -> Scene:
    """Return the scene that some looks at a process make.

    Args:
        target: the process.
        looks: what was seen.
        program: py-spy, to look at the workers once; empty for not.
    """
    threads = _threads(target, looks)
    first, last = looks.first, looks.last
    span_s = last.at_s - first.at_s if first is not None and last is not None else 0.0
    main = next((thread for thread in threads if thread.role == "main"), None)
    scene = Scene(
        at_s=last.at_s if last is not None else 0.0,
        window_s=span_s,
        # How long it has been so is not known: at least for as long as it was looked at.
        quiet_s=span_s,
        still_s=span_s,
        threads=tuple(threads),
        children=_children(target, looks, program),
        children_born=len(last.below) if last is not None else 0,
        machine=_machine(looks),
        environment=_environment(target.pid),
        sources=_sources(threads),
    )
    loop = _loop(scene, main) if main is not None else None
    return dataclasses.replace(scene, loop=loop)


def _threads(target: Target, looks: Looks) -> list[Thread]:
    """Return the threads of the last look, with how often each stood where it stands."""
    found = []
    for stack in looks.stacks[-1]:
        seen = [s.frames for look in looks.stacks for s in look if s.number == stack.number]
        frames, count = Counter(seen).most_common(1)[0]
        role = _role(target, stack, frames)
        if role == "other" and not any(frame.is_user for frame in frames):
            continue
        lines = Counter(
            (user.file, user.line)
            for each in seen
            if (user := next((f for f in each if f.is_user), None)) is not None
        )
        counted = tuple((file, line, n) for (file, line), n in lines.most_common())
        waits = _waits(stack.number, looks)
        found.append(Thread(role, frames, count / len(seen), counted, *waits))
    return sorted(found, key=lambda thread: ("main", "input", "other").index(thread.role))


def _role(target: Target, stack: ThreadStack, frames: tuple[Frame, ...]) -> str:
    # Elsewhere than on Linux the number of the thread is not that of the process.
    if stack.number == target.pid or stack.name == "MainThread":
        return "main"
    makes = any(f.function in _INPUT_FUNCTIONS or f.is_in(*_INPUT_FILES) for f in frames)
    return "input" if makes else "other"


def _waits(number: int, looks: Looks) -> tuple[float | None, str, str, float | None]:
    """Return the cores a thread used, what it sleeps in, and how often it was woken."""
    first, last = looks.first, looks.last
    now = last.process.tasks.get(number) if last is not None else None
    if first is None or last is None or now is None:
        return None, "", "", None
    cores, _ = rates(first.process.tasks.get(number), now, last.at_s - first.at_s)
    alone = looks.undisturbed
    before = alone.process.tasks.get(number) if alone is not None else None
    wakes = rates(before, now, last.at_s - alone.at_s)[1] if alone is not None else None
    return cores, now.waits_in, now.waits_for, wakes


def _loop(scene: Scene, main: Thread) -> Loop | None:
    """Return the loop of Keras that the main thread is in, as its stack tells."""
    calls = [
        number
        for number, frame in enumerate(main.frames)
        if frame.function in _LOOPS and frame.is_in(*_TRAINER)
    ]
    if not calls:
        return None
    outer = main.frames[calls[-1] :]
    user = next((frame for frame in outer if frame.is_user), None)
    kind = main.frames[calls[-1]].function
    validates = kind == "fit" and any(main.frames[n].function == "evaluate" for n in calls)
    phase = "validation" if validates else "train"
    return Loop(kind, scene.place(user), 0.0, 0, 0, phase)


def _children(target: Target, looks: Looks, program: str) -> tuple[Child, ...]:
    first, last = looks.first, looks.last
    if last is None:
        return ()
    earlier = {one.pid: one for one in first.below} if first is not None else {}
    found = []
    for number, now in enumerate(last.below):
        before = earlier.get(now.pid)
        span_s = last.at_s - first.at_s if first is not None else 0.0
        used_s = now.cpu_s - (before.cpu_s if before is not None else 0.0)
        asked = program and number < MAX_CHILDREN
        frames = _frames_of(target, now.pid, program) if asked else ()
        found.append(
            Child(
                pid=now.pid,
                name=now.name,
                age_s=max(system.uptime_s() - now.began_s, 0.0),
                cores=max(used_s, 0.0) / span_s if span_s > 0 else 0.0,
                state=now.state,
                waits_in=now.waits_in,
                is_fork=now.is_fork,
                runs_script=runs_script(frames),
                frames=frames,
            )
        )
    return tuple(found)


def _frames_of(target: Target, pid: int, program: str) -> tuple[Frame, ...]:
    """Return the main stack of a worker; nothing of one that is no Python, or has ended."""
    try:
        stacks = pyspy.stacks(program, pid, target.folder, target.script)
    except pyspy.Failed:
        return ()
    return next((stack.frames for stack in stacks if stack.number == pid), ())


def _machine(looks: Looks) -> Machine:
    first, last = looks.counters[0], looks.counters[-1]
    span_s = last["at_s"] - first["at_s"]
    if span_s <= 0:
        return Machine()

    def rate(name: str) -> float | None:
        known = name in first and name in last
        return max(last[name] - first[name], 0.0) / span_s if known else None

    return Machine(
        cores=rate("cpu_s"),
        read_bytes_per_s=rate("read_bytes"),
        chars_read_per_s=rate("rchar"),
        major_faults_per_s=rate("major_faults"),
        swapped_bytes_per_s=rate("swapped_bytes"),
    )


def _environment(pid: int) -> dict[str, str]:
    """Return the one variable that says who trains together."""
    parts = text(f"/proc/{pid}/environ").split("\0")
    named = dict(part.split("=", 1) for part in parts if part.startswith("TF_CONFIG="))
    return {"TF_CONFIG": named["TF_CONFIG"]} if "TF_CONFIG" in named else {}


def _sources(threads: list[Thread]) -> dict[str, str]:
    """Return the text of the user's files on the stacks, as it is on the disk now."""
    files = {frame.file for thread in threads for frame in thread.frames if frame.is_user}
    return {file: told for file in files if (told := _source(file))}


def _source(file: str) -> str:
    try:
        if os.path.getsize(file) > _MAX_SOURCE:
            return ""
        return Path(file).read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n")
    except OSError:
        return ""
