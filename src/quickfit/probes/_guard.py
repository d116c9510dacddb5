"""Keeps a failing probe away from the script: its first failure turns it off.

What a signal handler of the script raises meanwhile is the script's, and gets there. Each guarded
call is timed on the thread that pays for it.
"""

from __future__ import annotations

import functools
import signal
import time
from collections.abc import Callable
from typing import Any

from quickfit.probes._probe import Probe


def guarded(probe: Probe, observe: Callable[..., Any]) -> Callable[..., Any]:
    """Return `observe` so that its first failure turns the probe off; its result is dropped."""

    @functools.wraps(observe)
    def call(*args: Any) -> None:  # whatever the hooked code passes
        if probe.is_off:
            return
        began = time.thread_time()
        try:
            observe(*args)
        except Exception as error:  # anything: the user's training comes first
            if is_of_handler(error):
                raise
            fail(probe, error)
        probe.calls += 1
        probe.cpu_s += time.thread_time() - began

    return call


def guarded_choice(probe: Probe, choose: Callable[..., Any]) -> Callable[..., Any]:
    """Return `choose` so that its first failure turns the probe off; it chooses None from then on.

    What it does for the script is not counted as what watching costs.
    """

    @functools.wraps(choose)
    def call(*args: Any) -> Any:  # whatever the hooked code passes
        if probe.is_off:
            return None
        probe.calls += 1
        try:
            return choose(*args)
        except Exception as error:  # anything: the user's training comes first
            if is_of_handler(error):
                raise
            fail(probe, error)
            return None

    return call


def is_of_handler(error: BaseException) -> bool:
    """Tell whether a signal handler of the script has raised it: an alarm may ring at any line."""
    handlers = map(signal.getsignal, signal.valid_signals())
    codes = {getattr(getattr(one, "__func__", one), "__code__", None) for one in handlers} - {None}
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            return True
        trace = trace.tb_next
    return False


def fail(probe: Probe, error: BaseException) -> None:
    """Turn a probe off because of an error of ours, and keep what it was."""
    place = ""
    trace = error.__traceback__
    while trace is not None:
        place = f" ({trace.tb_frame.f_code.co_name}:{trace.tb_lineno})"
        trace = trace.tb_next
    probe.turn_off("failed", f"{type(error).__name__}: {error}{place}"[:300])
