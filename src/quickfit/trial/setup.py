"""Begins a trial, before the script and before anything is recorded."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from types import ModuleType

from quickfit.trial import guard, landlock, overlay, savers, seeds, turnstile
from quickfit.trial.shadow import OPEN_FOLDERS, Shadow
from quickfit.trial.spec import Spec, read

Patch = Callable[[ModuleType], None]
_PR_SET_PDEATHSIG = 1


def prepare(path: str, role: str) -> dict[str, list[Patch]]:
    """Make this process one that can harm nothing; return what to patch after which import.

    Args:
        path: the trial's file.
        role: `main` for the script itself, `descendant` for a process it started.
    """
    spec = read(path)
    if role == "main":
        _end_with(spec.parent)
    _be_the_first_to_die()
    shadow = Shadow(spec.scratch)
    overlay.install(spec.files)
    guard.install(shadow)
    if not landlock.restrict_writes([spec.scratch, *OPEN_FOLDERS]):
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
        return turnstile.patches(spec)
    if spec.results_steps:
        from quickfit.trial import results

        return results.patches(spec)
    return {}


def _end_with(parent: int) -> None:
    """Make Linux end this process with its parent: a stopped one would stay for ever."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def _be_the_first_to_die() -> None:
    """Where memory runs out, it is the trial that is ended and nothing of the user's."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        return


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
