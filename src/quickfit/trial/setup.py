"""Begins a trial, before the script and before anything is recorded."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from types import ModuleType

from quickfit.trial import confinement, guard, overlay, savers, seeds, turnstile
from quickfit.trial.shadow import Shadow
from quickfit.trial.spec import Spec, read

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
        _end_with(spec.parent)
        _be_the_first_to_die()
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
        return turnstile.patches(spec)
    if spec.results_steps:
        from quickfit.trial import results

        return results.patches(spec)
    return {}


def _end_with(parent: int) -> None:
    """Make Linux end this process with its parent: a stopped one would stay for ever."""
    confinement.end_with_parent(signal.SIGKILL)
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
