"""What all of turbo asks before it acts: the probe of this process that it is guarded by."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

from quickfit.probes._guard import guarded_choice
from quickfit.probes._imports import Patch, patching
from quickfit.probes._state import Current

NAME = "turbo"


def choosing(choose: Callable[..., Any]) -> Callable[..., Any]:
    """Return `choose`, off in a forked child, while paused and after its first failure."""

    def call(*args: Any) -> Any:  # whatever the hooked code passes
        state = Current.state
        probe = state.probes.get(NAME) if state is not None else None
        if state is None or probe is None or probe.is_off or state.is_paused:
            return None
        return guarded_choice(probe, choose)(*args)

    return call


def patch_with(patch: Callable[[Any], None]) -> Patch:
    """Return a patch that is not made where a private name has moved."""
    return patching(NAME, patch)


@contextlib.contextmanager
def same_op_seeds() -> Iterator[None]:
    """Leave TensorFlow's counter of operation seeds as it was found."""
    context = sys.modules["tensorflow.python.eager.context"].context()
    if not hasattr(context, "_rng"):
        yield
        return
    before = context._rng.getstate()
    yield
    context._rng.setstate(before)
