"""With `--memory`: what Python has allocated, by the user's line that asked for it.

Uses Python's own tracemalloc. It begins only when training is under way: traced from the start,
the import of TensorFlow alone takes ten times as long, and what is allocated once before training
cannot be a leak. Steps are several times slower meanwhile, so their times say nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

from quickfit.probes._places import absolute, is_user_file
from quickfit.probes._state import State, now
from quickfit.probes.memory import has_begun

# The result of a compiled function is allocated nine calls below the user's line. Main-thread
# CPU of a 0.8 ms step with 1, 3, 8, 12 frames: 1.7, 2.9, 6.6, 9.4 ms.
FRAMES = 10
EVERY_S = 1.0
# A snapshot of a million allocations takes a second; then it is taken more rarely.
MAX_SHARE = 0.05
MIN_BYTES = 16_384
# A line that once was large enough is followed from then on; so many of them.
MAX_LINES = 200
_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")

Frames = Sequence[tuple[str, int]]


class _Wanted:
    """Whether allocations are to be followed in this process."""

    is_on = False


def start() -> None:
    """Follow allocations from the first steps on; called where `QUICKFIT_MEMORY` is set."""
    _Wanted.is_on = True


def write(state: State) -> None:
    """Record what each line holds, when it is time to."""
    if not _Wanted.is_on or now() < state.kept.get("allocations_due_s", 0.0):
        return
    # Only a run that asks for it pays for the module.
    import _tracemalloc as tracing

    if not state.kept.get("allocations_begun"):
        if has_begun(state):
            state.kept["allocations_begun"] = True
            # A script that traces itself keeps its own setting.
            if not tracing.is_tracing():
                tracing.start(FRAMES)
        return
    if not tracing.is_tracing():
        return  # the script has ended it
    began_s = time.thread_time()
    lines = by_line(tracing._get_traces())
    _write_lines(state, lines)
    cost_s = time.thread_time() - began_s
    state.kept["allocations_due_s"] = now() + max(EVERY_S, cost_s / MAX_SHARE)


def _write_lines(state: State, lines: dict[tuple[str, int], list[int]]) -> None:
    followed: set[tuple[str, int]] = state.kept.setdefault("allocation_lines", set())
    for place in sorted(lines, key=lambda key: -lines[key][0]):
        if lines[place][0] >= MIN_BYTES and len(followed) < MAX_LINES:
            followed.add(place)
    at_s = now()
    for file, line in followed:
        size, blocks = lines.get((file, line), (0, 0))
        path = absolute(file)
        state.writer.add_source(path)
        state.writer.add("allocations", (at_s, path, line, size, blocks))


def by_line(allocations: Sequence[tuple[Any, ...]]) -> dict[tuple[str, int], list[int]]:
    """Return bytes and blocks by the innermost line of the user's code.

    Args:
        allocations: domain, size and frames (innermost first) of each, as tracemalloc has them.
    """
    lines: dict[tuple[str, int], list[int]] = {}
    # Allocations of one place share their frames.
    places: dict[int, tuple[str, int] | None] = {}
    for _, size, frames, *_ in allocations:
        key = id(frames)
        if key not in places:
            places[key] = user_line(frames)
        place = places[key]
        if place is not None:
            total = lines.setdefault(place, [0, 0])
            total[0] += size
            total[1] += 1
    return lines


def user_line(frames: Frames) -> tuple[str, int] | None:
    """Return the user's line behind an allocation; None if quickfit's own code is nearer."""
    for file, line in frames:
        if file.startswith(_PACKAGE):
            return None
        if is_user_file(file):
            return file, line
    return None
