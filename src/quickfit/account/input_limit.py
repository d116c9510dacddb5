"""Which resource an input-bound run has run out of: a Python thread, the cores, the disk, a thread.

The remedy depends on it: more workers help against one thread, and against nothing else.
"""

from __future__ import annotations

import contextlib
import statistics

from quickfit import units
from quickfit.errors import SignalMissing
from quickfit.signals import Signals
from quickfit.signals.input import Stage

# All cores together this busy are busy.
BUSY_SHARE = 0.85
# Somebody on the machine waited for the disk this much of the time.
DISK_SHARE = 0.2
# A group of stages, or a start of epochs, that takes this much of the wait is what it waits for.
MAIN_SHARE = 0.5
# Stages that hand elements over: what tf.data counts as their work is waking a thread.
HANDS_OVER = ("root", "prefetch", "options")


def limit_of_input(signals: Signals) -> str:
    """Say what the input has run out of, or nothing where that was not measured."""
    with contextlib.suppress(SignalMissing):
        for tell in (_python, _epoch_starts, _disk, _cores, _thread):
            said = tell(signals)
            if said:
                return said
    return ""


def _python(signals: Signals) -> str:
    if signals.loop.input in ("generator", "pydataset"):
        source = signals.py_input
        if source is not None and source.workers == 1:
            return "one Python thread makes all batches"
        return ""
    slowest = _slowest(signals)
    runs_python = slowest.fact("runs_python") if slowest is not None else False
    # Older recordings do not tell of generators, which always do.
    if runs_python or (runs_python is None and slowest is not None and slowest.kind == "generator"):
        return "it runs Python, of which one thread works at a time"
    return ""


def _epoch_starts(signals: Signals) -> str:
    starts = signals.epoch_start_s
    # The first of all also builds and compiles, and says nothing about the others.
    each_s = statistics.median(starts[1:]) if len(starts) > 1 else 0.0
    waited_s = signals.wait.share * signals.steps.total_s
    if waited_s and each_s * len(starts) > MAIN_SHARE * waited_s:
        return f"most of it at the start of epochs, {units.seconds(each_s)} each"
    return ""


def _disk(signals: Signals) -> str:
    machine = signals.machine
    if (machine.io_pressure or 0.0) < DISK_SHARE or not machine.read_bytes_per_s:
        return ""
    return f"the disk is the limit ({units.size(machine.read_bytes_per_s)} per second are read)"


def _cores(signals: Signals) -> str:
    machine = signals.machine
    busy = signals.step_cores + (machine.other_cores or 0.0)
    if busy < BUSY_SHARE * signals.cores:
        return ""
    return "all cores are busy: it needs cheaper work or a cache, not more workers"


def _thread(signals: Signals) -> str:
    slowest = _slowest(signals)
    if slowest is None or slowest.parallelism > 1:
        return ""
    return "it runs on one thread while cores are idle"


def _slowest(signals: Signals) -> Stage | None:
    try:
        stages = [stage for stage in signals.stages if stage.kind not in HANDS_OVER]
    except SignalMissing:
        return None
    period = {stage.name: stage.work_s / max(stage.parallelism, 1.0) for stage in stages}
    return max(stages, key=lambda stage: period[stage.name], default=None)
