"""What a step costs however large its batch is: Keras's Python, and threads that wait for work.

The main thread's CPU time is not Python alone: TensorFlow runs operations on the thread that calls
it, too. Samples that were taken without Python's lock tell the two apart: the call of a compiled
function is one line of TensorFlow's `execute.py`, and all else on the thread is Python.
"""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quickfit import units
from quickfit.errors import SignalMissing
from quickfit.findings import Location
from quickfit.signals.compiling import is_jit, main_cpu_s
from quickfit.signals.stacks import GRAPH, Frame, SampledStack, is_in_fit

if TYPE_CHECKING:
    from quickfit.signals._facade import Signals

# Threads that compute; the others feed, watch or wait.
POOLS = ("inter-op", "intra-op")
# Keras's own Python takes half a millisecond to two per step. Where samples cannot tell, a main
# thread that is busy for longer runs operations of the model.
MAX_PYTHON_S = 4e-3
# What is no step, below `fit`: validation, the beginning of an epoch, its end.
NO_STEPS = ("evaluate", "predict", "__iter__", "on_epoch_begin", "on_epoch_end", "_symbolic_build")


@dataclass(frozen=True)
class StepCost:
    """One call of the train function.

    Args:
        step_s: the time of a step.
        python_s: CPU time of the main thread in it, without callbacks, the script's own code, and
            what samples saw it do inside a compiled function.
        compute_s: CPU time of TensorFlow's compute threads, and of the main thread inside a
            compiled function; at most the rest of the step.
        delay_s: of the rest, for how long these threads were ready but had no core.
    """

    step_s: float
    python_s: float
    compute_s: float
    delay_s: float = 0.0

    @property
    def python_share(self) -> float:
        """The share of the step that is the framework's Python, had there been a core for it."""
        return self.python_s / self.calm_s if self.calm_s > 0 else 0.0

    @property
    def calm_s(self) -> float:
        """The time of a step on a machine with a core for it."""
        return max(self.step_s - self.delay_s, 0.0)

    @property
    def idle_s(self) -> float:
        """What of that is neither: threads wait for each other."""
        return max(self.calm_s - self.python_s - self.compute_s, 0.0)

    @property
    def in_words(self) -> str:
        """The time of a step, and what of it is not counted."""
        calm = f"of {units.seconds(self.calm_s)}"
        return f"{calm}, waiting for a core left out" if self.delay_s > 0.1 * self.step_s else calm


def step_cost(signals: Signals) -> StepCost:
    """Return what a step costs, by CPU time of its threads."""
    steps, machine = signals.steps, signals.machine
    between_s = max(
        steps.mean_s - steps.mean_of("call_s") - steps.mean_of("callbacks_s") - signals.wait.step_s,
        0.0,
    )
    beside_s = steps.mean_of("callbacks_cpu_s") + between_s
    main_s = min(max(main_cpu_s(signals) - beside_s, 0.0), steps.mean_s)
    python_s = min(main_s, _python_wall_s(signals))
    if machine.thread_cores:
        pools = sum(machine.thread_cores.get(name, 0.0) for name in POOLS)
    else:
        pools = max(machine.cpu_cores - (machine.main_cores or 0.0), 0.0)
    rest_s = steps.mean_s - python_s
    compute_s = min(pools * steps.mean_s + main_s - python_s, rest_s)
    # Beside other programs a step is longer, and no more of it is compute.
    delayed = (machine.main_delay_share or 0.0) + sum(
        machine.thread_delays.get(name, 0.0) for name in POOLS
    )
    return StepCost(
        steps.mean_s, python_s, compute_s, min(delayed * steps.mean_s, rest_s - compute_s)
    )


def _python_wall_s(signals: Signals) -> float:
    """Return for how long a step is in the framework's Python, by samples; no limit if unknown."""
    steps = signals.steps
    if not signals.process.facts.get("samples_native"):
        return steps.mean_s
    seen = [stack for stack in signals.main_stacks() if _is_in_step(stack, signals.loop.kind)]
    total = sum(stack.seen for stack in seen)
    if not total:
        return steps.mean_s
    computing = sum(stack.seen for stack in seen if _computes(stack))
    is_fit = signals.loop.kind == "fit"
    # In a loop of the script, what is outside the calls is the script's own.
    whole_s = steps.mean_s - steps.mean_of("callbacks_s") if is_fit else steps.mean_of("call_s")
    return whole_s * (1 - computing / total)


def _is_in_step(stack: SampledStack, kind: str) -> bool:
    """Tell whether a stack is in a compiled step, or in what Keras does around it."""
    frames = stack.frames
    if any(f.file.endswith(GRAPH) or f.function == "_create_concrete_function" for f in frames):
        return False  # it traces
    if kind != "fit":
        return any(_is_compiled_call(frame) for frame in frames)
    # In `fit` itself, an iterator ends; below it, callbacks of the script are counted apart.
    inner = list(itertools.takewhile(lambda f: not is_in_fit([f]), frames))
    if not inner or len(inner) == len(frames) or any(frame.is_user for frame in inner):
        return False
    return not any(f.function in NO_STEPS for f in inner)


def _is_compiled_call(frame: Frame) -> bool:
    return frame.function == "_call" and frame.file.endswith("/polymorphic_function.py")


def _computes(stack: SampledStack) -> bool:
    """Tell whether a stack is in native code that runs, or waits for, a compiled function."""
    first = stack.frames[0]
    return first.function == "quick_execute" and any(map(_is_compiled_call, stack.frames))


def fixed_cost(signals: Signals) -> StepCost:
    """Return what a step costs whatever it computes.

    Raises:
        SignalMissing: XLA computes the step, on the thread that runs the framework's Python.
    """
    if is_jit(signals):
        raise SignalMissing("a step without XLA, which computes on the thread that runs Python")
    cost = step_cost(signals)
    if signals.process.facts.get("samples_native"):
        return cost
    beyond_s = max(cost.python_s - MAX_PYTHON_S, 0.0)
    return dataclasses.replace(
        cost, python_s=cost.python_s - beyond_s, compute_s=cost.compute_s + beyond_s
    )


@dataclass(frozen=True)
class BatchSize:
    """How many examples a step has, and the call that says so, `fit` or `batch`."""

    examples: int
    location: Location | None
    method: str


def batch_size(signals: Signals) -> BatchSize | None:
    """Return the size of a batch; None where nothing recorded tells it."""
    if signals.loop.input == "tf.data":
        found = _written(signals)
        if found is not None:
            return found
    facts = signals.loop.facts
    size = facts.get("batch_size") or _first_dimension(facts.get("batch"))
    return BatchSize(int(size), signals.loop.location, "fit") if size else None


def _written(signals: Signals) -> BatchSize | None:
    """Return the batch of the last `batch` in the pipeline."""
    for stage in signals.stages:
        for operation in stage.operations:
            size = operation.facts.get("batch_size")
            if operation.kind == "batch" and isinstance(size, int):
                where = signals.location(operation.file, operation.line)
                return BatchSize(size, where, "batch")
    return None


def _first_dimension(batch: Any) -> int | None:  # a recorded JSON value
    """Return the first dimension of the first part of a batch, as `fit` saw it."""
    try:
        size = batch[0][2][0]
    except (TypeError, IndexError, KeyError):
        return None
    return size if isinstance(size, int) else None
