"""Why a run does not move: asks each mechanism in turn, the most certain first."""

from __future__ import annotations

from collections.abc import Callable

from quickfit.liveness import in_locks, in_machine, in_processes, in_python, in_tensorflow
from quickfit.liveness.reason import Reason
from quickfit.liveness.scene import Scene

__all__ = ["Reason", "reason"]

# What names its own mechanism comes before what is told by elimination.
_MECHANISMS: tuple[Callable[[Scene], Reason | None], ...] = (
    in_python.stdin,
    in_processes.unguarded_spawn,
    in_processes.fork_deadlock,
    in_processes.missing_workers,
    in_locks.held_lock,
    in_machine.swap,
    in_python.swallowed,
    in_python.empty_loop,
    in_tensorflow.all_filtered,
    in_tensorflow.endless_input,
    in_tensorflow.unrolled_loop,
    in_tensorflow.cache_fill,
    in_tensorflow.shuffle_fill,
    in_machine.storage,
    in_python.silent_generator,
    in_tensorflow.huge_images,
    in_tensorflow.compiling,
    in_tensorflow.slow_step,
)


def reason(scene: Scene) -> Reason | None:
    """Return why a run does not move; None where no mechanism fits what is seen."""
    for mechanism in _MECHANISMS:
        found = mechanism(scene)
        if found is not None:
            return found
    return None
