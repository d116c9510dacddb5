"""Steps that are held up by Python's lock: a generator beside them is at work all the time.

The batch is ready, so tf.data sees no wait; but every line of Python in the step waits for the
generator to give up the lock, five milliseconds at a time. Neither the model nor the main thread
runs then, which is how it shows: the step takes far longer than its threads ran.
"""

from __future__ import annotations

import dataclasses

from quickfit.signals.input import PyInput, Wait
from quickfit.signals.machine import MachineUse
from quickfit.signals.steps import Steps

# A generator that holds the lock that much works all the time, and mostly on a core.
MIN_BUSY_SHARE = 0.8
MIN_CPU_SHARE = 0.5
# Groups of threads that run the step; they may stand in line for a core as well.
_COMPUTING = ("main", "inter-op", "intra-op")


def held_s(source: PyInput, machine: MachineUse, steps: Steps, per_call: int) -> float:
    """Return how long a step is held up, on average."""
    made_s = source.batch_cpu_s * per_call
    step_s, call_s = steps.mean_s, steps.mean_of("call_s")
    is_busy = source.busy_share >= MIN_BUSY_SHARE and made_s >= MIN_CPU_SHARE * step_s
    if not is_busy:
        return 0.0
    ran_s = max(machine.cpu_cores * step_s - made_s, 0.0)
    delays = [machine.thread_delays.get(name, 0.0) for name in _COMPUTING]
    lined_up_s = max([machine.main_delay_share or 0.0, *delays]) * step_s
    return max(min(call_s - ran_s - lined_up_s, made_s), 0.0)


def held_up(wait: Wait, seconds: float, steps: Steps) -> Wait:
    """Return a wait with the time that the step itself is held up."""
    step_s = max(wait.step_s, min(seconds, steps.mean_s))
    if step_s == wait.step_s:
        return wait
    source = f"{wait.source}, and the time Python's lock was held"
    return dataclasses.replace(wait, step_s=step_s, share=step_s / steps.mean_s, source=source)
