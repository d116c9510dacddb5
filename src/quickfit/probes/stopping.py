"""Ends the script early at a step boundary, when `--steps` or `--for` asked for it.

Nothing after the loop runs: no saving of a half-trained model over a good one.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from quickfit.probes._state import State, now


def is_asked(state: State) -> bool:
    """Tell whether the script is to be ended early at all."""
    is_limited = state.stop_steps is not None or state.stop_at_s is not None
    return is_limited or state.at_step is not None


def is_due(state: State) -> bool:
    """Tell whether the limit given on the command line has been reached, or a trial is over."""
    if state.at_step is not None and state.at_step():
        return True
    if state.stop_steps is not None and state.steps >= state.stop_steps:
        return True
    return is_time_up(state)


def is_time_up(state: State) -> bool:
    """Tell whether the time given on the command line is over."""
    return state.stop_at_s is not None and now() >= state.stop_at_s


def leave() -> NoReturn:
    """End the process at once, with what was printed so far."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue
    os._exit(0)
