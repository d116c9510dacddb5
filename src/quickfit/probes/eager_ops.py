"""Counts and times the operations of an eager train step, for a fraction of a second.

Only a loop that runs eagerly is looked at: there every operation is started from Python through
one of two functions, which are replaced by timed ones for a moment and then put back.
"""

from __future__ import annotations

import sys
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from quickfit.probes._hooks import TimedFunction, paired
from quickfit.probes._state import Loop, State, now

ENTRANCES = ("TFE_Py_FastPathExecute", "TFE_Py_Execute")
# The first steps build variables and caches; long ones have done so after the first of them.
FIRST_STEP = 8
LONG_ENOUGH_S = 1.0
# Long enough for a few steps, short enough that nobody notices.
WINDOW_S = 0.4
WINDOW_STEPS = 2
MAX_WINDOW_S = 5.0
MAX_OPERATIONS = 50_000


@dataclass
class Window:
    """A look at a loop that is under way."""

    loop: Loop
    originals: dict[str, Any]
    began_s: float
    began_step: int
    # Two of each operation: when it began and when it ended.
    stamps: deque[float] = field(default_factory=lambda: deque(maxlen=2 * MAX_OPERATIONS))


def read(state: State) -> None:
    """Open a window on an eager loop that has none, or close one that has seen enough."""
    window: Window | None = state.kept.get("eager_window")
    if window is not None:
        if _is_over(window):
            state.kept["eager_window"] = None
            _close(window, state)
        return
    for loop in state.active_loops():
        if _is_eager(loop) and _is_warm(loop) and not loop.facts.get("ops_timed"):
            loop.facts["ops_timed"] = True
            state.kept["eager_window"] = _open(loop)
            return


def put_back(state: State) -> None:
    """End a look at once: a forked child must not go on with timed operations."""
    window: Window | None = state.kept.pop("eager_window", None)
    if window is not None:
        _close(window, state)


def _is_eager(loop: Loop) -> bool:
    names = ("run_eagerly", "functions_run_eagerly", "eager_loop")
    return any(loop.facts.get(name) for name in names)


def _is_warm(loop: Loop) -> bool:
    if loop.steps >= FIRST_STEP:
        return True
    return loop.first_step_s is not None and now() - loop.first_step_s >= LONG_ENOUGH_S


def _is_over(window: Window) -> bool:
    elapsed_s = now() - window.began_s
    enough = elapsed_s >= WINDOW_S and window.loop.steps >= window.began_step + WINDOW_STEPS
    return enough or elapsed_s >= MAX_WINDOW_S or window.loop.is_over


def _open(loop: Loop) -> Window | None:
    module = sys.modules.get("tensorflow.python.pywrap_tfe")
    if module is None or not all(hasattr(module, name) for name in ENTRANCES):
        return None
    originals = {name: getattr(module, name) for name in ENTRANCES}
    window = Window(loop, originals, now(), loop.steps)
    for name, original in originals.items():
        setattr(module, name, TimedFunction(original, window.stamps, loop.thread))
    return window


def _close(window: Window, state: State) -> None:
    module = sys.modules["tensorflow.python.pywrap_tfe"]
    for name, original in window.originals.items():
        if isinstance(getattr(module, name), TimedFunction):
            setattr(module, name, original)
    window_s = now() - window.began_s
    steps = window.loop.steps - window.began_step
    times = [took_s for _, took_s in paired(list(window.stamps))]
    if len(times) < 2:
        return
    ordered = sorted(times)
    median_s, large_s = ordered[len(times) // 2], ordered[len(times) * 3 // 4]
    heavy_s = sum(max(time - large_s, 0.0) for time in times)
    # A step that is longer than the window is known by a part of it.
    part = 1.0 if steps else max(_step_s(window) / window_s, 1.0)
    sums = (round(part * len(times)), part * sum(times), median_s, part * heavy_s)
    state.writer.add("eager_ops", (window.loop.id, now(), part * window_s, max(steps, 1), *sums))


def _step_s(window: Window) -> float:
    """Return how long the steps before the window took, or no time where there was only one."""
    first_s, steps = window.loop.first_step_s, window.began_step - 1
    return (window.began_s - first_s) / steps if first_s is not None and steps > 0 else 0.0
