"""Begins a trial, before the script and before anything is recorded."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from quickfit.lab import child_side
from quickfit.lab.sandbox import confinement, guard, overlay, savers, seeds
from quickfit.lab.sandbox.shadow import Shadow
from quickfit.lab.sandbox.spec import HELD_FILE, Spec, read
from quickfit.probes._state import Current

Patch = Callable[[ModuleType], None]
# Set in a trial that the kernel keeps from writing elsewhere; what it starts is kept so too.
CONFINED_VARIABLE = "QUICKFIT_CONFINED"


def prepare(path: str, role: str) -> dict[str, list[Patch]]:
    """Make this process one that can harm nothing; return what to patch after which import.

    Args:
        path: the trial's file.
        role: `main` for the script itself, `descendant` for a process it started.
    """
    spec = read(path)
    if role == "main":
        child_side.settle(spec.parent)
        layers = confinement.begin(spec.scratch, parent=spec.parent, report=spec.report)
        os.environ.pop(CONFINED_VARIABLE, None)
        if confinement.stops_writes(layers):
            os.environ[CONFINED_VARIABLE] = "1"
    shadow = Shadow(spec.scratch, spec.shared_memory)
    overlay.install(spec.files)
    guard.install(shadow)
    if CONFINED_VARIABLE not in os.environ and not spec.trusts_script:
        guard.watch(shadow)
    seeds.start(spec.seed)
    found: dict[str, list[Patch]] = {}
    for patches in (savers.patches(shadow), seeds.patches(spec.seed), _kept(spec, role)):
        for module, patch in patches.items():
            found.setdefault(module, []).append(patch)
    return found


def _kept(spec: Spec, role: str) -> dict[str, Patch]:
    if role != "main":
        return {}
    if spec.holds:
        return hold_patches(spec)
    if spec.results_steps:
        from quickfit.lab.sandbox import result_hooks

        return result_hooks.patches(spec)
    return {}


def environment(scratch: str) -> dict[str, str]:
    """Return what a trial's environment has that the user's does not."""
    trackers = {name: value.format(scratch=scratch) for name, value in savers.TRACKERS.items()}
    return trackers | {
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "MPLBACKEND": "Agg",
        "TMPDIR": os.path.join(scratch, "tmp"),
        "CUDA_CACHE_PATH": os.path.join(scratch, "cuda"),
    }


def hold_patches(spec: Spec) -> dict[str, Patch]:
    """Return what lets a trial stop itself at the end of its first step, and say when that was."""

    def hold() -> bool:
        state = Current.state
        if state is not None and any(loop.trains and loop.steps for loop in state.loops):
            state.at_step = None
            state.writer.flush()
            Path(spec.scratch, HELD_FILE).write_text(repr(time.monotonic()))
            # All processes of the trial; the parent lets them go on.
            os.killpg(os.getpgrp(), signal.SIGSTOP)
        return False

    def start(module: ModuleType) -> None:
        if Current.state is not None:
            Current.state.at_step = hold

    return {"tensorflow.python.framework.ops": start}
