"""Python that makes input: its stages, its threads, and whether it is starved or holds up steps."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quickfit.findings import Location
from quickfit.signals.input import PyInput, Stage, Wait
from quickfit.signals.machine import MachineUse
from quickfit.signals.steps import Steps

if TYPE_CHECKING:
    from quickfit.signals._facade import Signals

# Groups of threads that run the stages; those of an iterator that has ended are gone.
_GROUPS = ("tf.data", "ended")
# Others that use this share of the cores can make a healthy input the limit.
BUSY_MACHINE_SHARE = 0.25
# Others make input and model slower alike; an input this many times as long stays longer.
CLEARLY_LONGER = 3.0


@dataclass(frozen=True)
class InputThreads:
    """What the threads of the pipeline do on average.

    Args:
        cores: how many of them run.
        delay: how many more could run, but have no core.
    """

    cores: float
    delay: float

    @property
    def wanted(self) -> float:
        """How many are ready; of threads that hand a lock around, some always are."""
        return self.cores + self.delay


def input_threads(signals: Signals) -> InputThreads:
    """Return what the threads of the pipeline do; on a short run, all but the main thread."""
    machine = signals.machine
    if not machine.thread_cores:
        return InputThreads(max(machine.cpu_cores - (machine.main_cores or 0.0), 0.0), 0.0)
    cores = sum(machine.thread_cores.get(name, 0.0) for name in _GROUPS)
    delay = sum(machine.thread_delays.get(name, 0.0) for name in _GROUPS)
    return InputThreads(cores, delay)


def generator_stages(signals: Signals) -> list[Stage]:
    """Return the stages that run generators given to `from_generator`."""
    return [stage for stage in signals.stages if _has(stage, ("generator",))]


def python_maps(signals: Signals) -> list[Stage]:
    """Return the stages whose function calls Python, generators left out."""
    generators = generator_stages(signals)
    return [stage for stage in signals.stages if stage not in generators and _has(stage, None)]


def _has(stage: Stage, kinds: tuple[str, ...] | None) -> bool:
    return any(
        bool(operation.facts.get("runs_python")) and (kinds is None or operation.kind in kinds)
        for operation in stage.operations
    )


def period_s(stages: list[Stage]) -> float:
    """Return the least time per step that stages allow, one after the other."""
    return sum(stage.work_s / max(stage.parallelism, 1.0) for stage in stages)


def function_place(stage: Stage, signals: Signals) -> Location | None:
    """Return where the function that a stage runs was written."""
    return signals.location(stage.fact("function_file"), stage.fact("function_line"))


def is_busy_machine(signals: Signals) -> bool:
    """Tell whether other programs use enough of the cores to make anything slow."""
    return (signals.machine.other_cores or 0.0) > BUSY_MACHINE_SHARE * signals.machine_cores


def is_starved(signals: Signals) -> bool:
    """Tell whether the wait may come from other programs alone.

    Beside them everything is slow. The input is the limit without them too only if it, and not
    the model, takes most of the CPU time, or far longer than the model on all cores.
    """
    if not is_busy_machine(signals):
        return False
    is_most = input_threads(signals).cores >= 0.5 * signals.machine.cpu_cores
    work = signals.work
    return not is_most and work.input_cpu_s / work.cores < CLEARLY_LONGER * work.compute_s


# From this share of the cores on, others may be the reason for a wait.
BUSY_SHARE = 0.25


def is_crowded_out(signals: Signals) -> bool:
    """Tell whether the wait may be gone on a machine without others.

    Input and model are held up alike, so their proportion stays: an input that needs less than
    the model, spread over all cores, would hide behind it.
    """
    others = signals.machine.other_cores or 0.0
    if others < BUSY_SHARE * signals.machine_cores:
        return False
    work = signals.work
    return is_starved(signals) or work.input_cpu_s / work.cores < work.compute_s


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
