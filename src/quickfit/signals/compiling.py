"""How steps are run: eagerly, with what would be left of them compiled, or by XLA."""

from __future__ import annotations

import itertools
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quickfit import units
from quickfit.code.lines import calls_named, line_of_call
from quickfit.code.syntax import keyword_value
from quickfit.errors import SignalMissing
from quickfit.findings import Evidence, Gain, Location
from quickfit.signals._facade import RECOMPILED
from quickfit.signals._host import FETCHES
from quickfit.signals.gains import gain, share_interval
from quickfit.signals.loops import EagerOps
from quickfit.signals.stacks import SampledStack, package_of

if TYPE_CHECKING:
    from quickfit.signals._facade import Signals

# What a compiled step keeps of the large operations, which it fuses and runs side by side, and
# the seconds it needs for every operation. From six models, dense to recurrent, on two cores:
# eager steps were 2.1 to 32 times as long, and these three gave 1.2 to 33.
KEPT = (1.0, 0.5, 0.25)
GRAPH_OP_S = (3e-6, 1e-6, 1e-6)
# How much of the time without a core lay in operations, beside what chance says.
LOST_IN_OPS = (0.5, 1.0, 1.5)
WAITS = "it waits while a compiled step runs"
# Functions that run an operation, whatever it takes: these files of TensorFlow, generated or not.
RUNNERS = ("/execute.py", "/imperative_grad.py")
# Operations that compute nothing: their time is that of starting them.
STARTED_ONLY = (
    *(
        "read_variable_op",
        "identity",
        "reshape",
        "shape",
        "strided_slice",
        "expand_dims",
        "squeeze",
    ),
    *("convert_to_eager_tensor", "assign_variable_op", "zeros_like", "ones_like", "const"),
)
# Calls that wait for something else: a batch, a compiled function.
WAITED_FOR = ("__next__", "_call", "predict", "evaluate")
# Without a look at the operations: what of the step must be Python for certain, and what is left
# of the rest, likely and at best, in which more of the same is hidden.
LEAST_STARTED, REST_LEFT = 0.20, (1.0, 0.5, 0.2)


@dataclass(frozen=True)
class EagerStep:
    """What an eager step takes.

    Args:
        ops: its operations, from a short look; None where only samples tell.
        step_s: the mean time of a step, without waiting for a core.
        share: the share of it that is Python and starting operations.
        busy_share: the share of it that the main thread computes and does not wait; what it
            stands in line for a core on a busy machine is no waiting.
        after_s: the step time when compiled: at worst, likely, at best.
        samples: of the main thread, where only they tell.
        delay_share: for which share of the time the thread was ready but had no core.
    """

    ops: EagerOps | None
    step_s: float
    share: float
    busy_share: float
    after_s: tuple[float, float, float]
    samples: int = 0
    delay_share: float = 0.0

    def gain(self, basis: str) -> Gain:
        """Return what compiling the step gains."""
        return gain(self.step_s, self.after_s, basis)

    def evidence(self) -> tuple[Evidence, ...]:
        """Return the facts that show it."""
        took = f"of {units.seconds(self.step_s)}"
        took += ", waiting for a core left out" if self.delay_share > 0.1 else ""
        python = "of the step is Python and starting operations"
        busy = Evidence("of the step the main thread is busy", self.busy_share, "share", WAITS)
        if self.ops is None:
            return (
                Evidence(python, self.share, "share", f"{took} or more, by {self.samples} samples"),
                busy,
            )
        counted = f"counted over {self.ops.steps} steps"
        return (
            Evidence(
                "operations started from Python per step", self.ops.per_step, "count", counted
            ),
            Evidence(python, self.share, "share", took),
            busy,
        )


def eager_step(signals: Signals, *, at_most_s: float | None = None) -> EagerStep:
    """Return what the eager part of a step takes.

    Args:
        signals: the signals of a run whose steps run eagerly.
        at_most_s: how much of a step is eager, where other parts of it are compiled.
    """
    try:
        ops, steps = signals.eager_ops, signals.steps
    except SignalMissing as missing:
        return _by_samples(signals, at_most_s, missing)
    look, delay = _look(signals), delay_share(signals)
    # Other programs make operations longer, and Python between them: no part of that is the step's.
    calm_s = steps.mean_s * (1 - delay)
    part = calm_s / look.step_s if look.step_s > 0 else 1.0
    call_s = min(steps.mean_of("call_s"), max(steps.mean_s - steps.mean_of("wait_s"), 0.0))
    call_s = max(call_s - _look_at_model_s(signals), 0.0) * (1 - delay)
    ops_s = ops.step_s * (1 - look.delay_share) * part
    starting_s = min(ops.median_s * part * ops.per_step, ops_s)
    spent_s = max(call_s - ops_s, 0.0) + starting_s
    own_s = min(_own_python_share(signals) * calm_s, spent_s)
    spent_s -= own_s
    if at_most_s is not None:
        spent_s = min(spent_s, at_most_s)
        call_s = min(call_s, at_most_s)
    share = min(spent_s / calm_s, 1.0)
    rest_s = max(calm_s - call_s, 0.0) + min(own_s, call_s)
    # A thread that loses its core inside an operation makes that one seem large. As much of the
    # time that it had none as operations are of all should lie in them; it may be less, or more.
    lost_s = look.delay_share * ops.step_s
    most_s = min(_computing_share(signals) * calm_s, call_s)
    heavy = [min(max(ops.heavy_s - times * lost_s, 0.0) * part, most_s) for times in LOST_IN_OPS]
    # Where large operations are most of the step, there is little to fuse or run side by side.
    after = [
        rest_s + max(kept, 1 - speed_up * share) * heavy_s + op_s * part * ops.per_step
        for kept, speed_up, op_s, heavy_s in zip(
            KEPT, (0.0, 1.0, 1.5), GRAPH_OP_S, heavy, strict=True
        )
    ]
    after_s = (after[0], after[1], after[2])
    return EagerStep(ops, calm_s, share, _busy_share(signals), after_s, delay_share=delay)


def _look_at_model_s(signals: Signals) -> float:
    """Return how long a `predict` or the like takes that begins each step, and is no part of it."""
    head = signals.loop.facts.get("head")
    if head not in ("predict", "evaluate", "test"):
        return 0.0
    mine = [c for c in signals.calls if c.loop == signals.loop.id and c.kind == head]
    calls = sum(call.calls for call in mine)
    # Its first call traces, and says nothing about the others.
    longest_s = max((call.longest_s for call in mine), default=0.0)
    spent_s = sum(call.wall_s for call in mine) - longest_s
    return max(spent_s, 0.0) / (calls - 1) if calls > 1 else 0.0


def _own_python_share(signals: Signals) -> float:
    """Return how much of the loop is the script's own Python below a tape; none if not told.

    A compiled step cannot hold it: an environment, NumPy, lists.
    """
    if not signals.process.facts.get("samples_native"):
        return 0.0
    stacks = signals.main_stacks()
    own = sum(s.seen for s in stacks if signals.is_under_tape(s) and not _is_of_framework(s))
    total = sum(stack.seen for stack in stacks)
    return own / total if total else 0.0


def _computing_share(signals: Signals) -> float:
    """Return how much of the loop may be operations that compute, at most; all if not told."""
    if not signals.process.facts.get("samples_native"):
        return 1.0
    stacks = signals.main_stacks()
    total = sum(stack.seen for stack in stacks)
    computing = sum(
        stack.seen
        for stack in stacks
        if _is_of_framework(stack) and not _is_waiting(stack) and not _is_starting(stack)
    )
    return share_interval(computing / total, total)[1] if total else 1.0


def _is_of_framework(stack: SampledStack) -> bool:
    """Tell whether the innermost line of the script is inside a call of TensorFlow or Keras."""
    inner = itertools.takewhile(lambda frame: not frame.is_user, stack.frames)
    return any(package_of(frame.file) in ("tensorflow", "keras") for frame in inner)


def _busy_share(signals: Signals) -> float:
    return min(main_cpu_s(signals) / signals.steps.mean_s + delay_share(signals), 1.0)


def main_cpu_s(signals: Signals) -> float:
    """Return the CPU time of the main thread per step.

    Raises:
        SignalMissing: it is not known. That is not zero.
    """
    steps = signals.steps
    if any(step.cpu_s is not None for step in steps.steps):
        return steps.mean_of("cpu_s")
    # It is asked after some steps only; the machine is read all the time.
    busy = signals.machine.main_cores
    if busy is None:
        raise SignalMissing("the CPU time of the main thread")
    return min(busy, 1.0) * steps.mean_s


def _by_samples(signals: Signals, at_most_s: float | None, missing: SignalMissing) -> EagerStep:
    """Return what is certain of an eager step that was not looked at: steps were few or long.

    Samples favour what gives up Python's lock, as an operation does while it computes; so Python,
    and operations that compute nothing, take more than they are seen in.

    Raises:
        SignalMissing: the given one, where that is not much.
    """
    stacks, step_s = signals.main_stacks(), signals.steps.mean_s
    samples = sum(stack.seen for stack in stacks)
    started = sum(stack.seen for stack in stacks if _is_starting(stack))
    share = share_interval(started / samples, samples)[0] if samples else 0.0
    if at_most_s is not None:
        share = min(share, at_most_s / step_s)
    if share < LEAST_STARTED:
        raise missing
    after = [step_s * (1 - share) * left for left in REST_LEFT]
    busy_share = _busy_share(signals)
    return EagerStep(None, step_s, share, busy_share, (after[0], after[1], after[2]), samples)


def _is_starting(stack: SampledStack) -> bool:
    """Tell whether a stack is in Python of TensorFlow or Keras, or in an operation of no work."""
    first = stack.frames[0] if stack.frames else None
    if first is None or package_of(first.file) not in ("tensorflow", "keras"):
        return False
    if first.function in FETCHES or _is_waiting(stack):
        return False
    is_runner = first.file.endswith(RUNNERS) or "/gen_" in first.file
    return not is_runner or first.function in STARTED_ONLY


def _is_waiting(stack: SampledStack) -> bool:
    return any(frame.function in WAITED_FOR for frame in stack.frames)


def delay_share(signals: Signals) -> float:
    """Return how much of the time the main thread was ready but had no core; none if not told."""
    try:
        return signals.machine.main_delay_share or 0.0
    except SignalMissing:
        return 0.0


@dataclass(frozen=True)
class Look:
    """The look at the operations: the time of a step in it, and how often it had no core.

    Args:
        step_s: the time of a step meanwhile, without waiting for a core.
        delay_share: the share of the time that the main thread was ready but had no core.
    """

    step_s: float
    delay_share: float


def _look(signals: Signals) -> Look:
    row = [r for r in signals.process.rows("eager_ops") if r["loop"] == signals.loop.id][-1]
    window_s, at_s = float(row["window_s"] or 0.0), float(row["at_s"])
    delay = delay_between(signals, at_s - window_s, at_s)
    return Look(window_s * (1 - delay) / max(row["steps"], 1), delay)


def delay_between(signals: Signals, begin_s: float, end_s: float) -> float:
    """Return for which share of a span the main thread was ready but had no core.

    Where the span has no readings at both ends, the share of the training stands for it.
    """
    read = [
        (float(row["at_s"]), float(row["main_run_delay_s"]))
        for row in signals.process.rows("machine")
        if row["main_run_delay_s"] is not None
    ]
    before = max((r for r in read if r[0] <= begin_s), default=None)
    after = min((r for r in read if r[0] >= end_s), default=None)
    if before is None or after is None or after[0] <= before[0]:
        return delay_share(signals)
    return min(max((after[1] - before[1]) / (after[0] - before[0]), 0.0), 1.0)


# A call must take this much longer than the others to have compiled: a busy machine delays too.
MIN_COMPILE_S = 0.2


@dataclass(frozen=True)
class Compiled:
    """What XLA's compiling took in the steps of the main loop.

    Args:
        first_s: in the first step, without the trace.
        again_s: in later steps that did not trace: batches of another shape.
        again: how many those were.
        step_s: a step that did not compile.
        expected_s: how long the training takes, from its first step to its planned end.
        steps: how many steps that is.
    """

    first_s: float
    again_s: float
    again: int
    step_s: float
    expected_s: float
    steps: int


def is_jit(signals: Signals) -> bool:
    """Tell whether XLA compiles the train step."""
    facts = signals.loop.facts
    if facts.get("run_eagerly") or facts.get("functions_run_eagerly"):
        return False
    return bool(facts.get("jit_compile")) or any(t.is_compiled for t in _in_loop(signals))


def jit_location(signals: Signals) -> Location | None:
    """Return where compiling was asked for: the call of `compile`, or the function."""
    facts = signals.loop.facts
    if facts.get("jit_compile"):
        place = signals.location(facts.get("compile_file"), facts.get("compile_line"))
        return place or signals.loop.location
    compiled = [t for t in _in_loop(signals) if t.is_compiled]
    if not compiled:
        return None
    where = compiled[0].location or compiled[0].caller
    return where if where is None or _asks(where) else _asking_call(signals) or where


def _asks(where: Location) -> bool:
    return "jit_compile" in where.text


def _asking_call(signals: Signals) -> Location | None:
    """Return the only call of the user's files that makes a function for XLA."""
    found = []
    for row in signals.process.rows("sources"):
        calls = calls_named(row["text"], "function")
        jit = [call for call in calls if keyword_value(call, "jit_compile") is not None]
        found += [(row["file"], line_of_call(call)) for call in jit]
    return signals.location(*found[0]) if len(found) == 1 else None


def may_change_shape(signals: Signals) -> bool:
    """Tell whether batches can have other shapes than that of a smaller last one.

    In `fit` the specification of a batch says which of its sides are open. Nobody knows in a
    loop of the script's own.
    """
    parts = signals.loop.facts.get("batch")
    return parts is None or any(None in shape[1:] for _, _, shape in parts)


def compiled(signals: Signals) -> Compiled | None:
    """Return what compiling took; None where the length of the training is not known."""
    rows = [row for row in signals.process.rows("steps") if row["loop"] == signals.loop.id]
    if not rows or rows[0]["step"] != 1:
        raise SignalMissing("the first step of the training")
    usual_s = statistics.median(_took_s(row) for row in rows[1:] or rows)
    found = [(row, _took_s(row) - usual_s) for row in rows]
    slow = [(r, s) for r, s in found if s > max((RECOMPILED - 1) * usual_s, MIN_COMPILE_S)]
    first_s = sum(s - _traced_s(signals, r) for r, s in slow if r is rows[0])
    again = [s for r, s in slow if r is not rows[0] and not _traced_s(signals, r)]
    elapsed_s = rows[-1]["end_s"] - rows[0]["begin_s"]
    planned = _planned(signals, len(rows))
    if planned is None:
        return None
    left_s = max(planned - len(rows), 0) * usual_s
    return Compiled(
        max(first_s, 0.0),
        sum(again),
        len(again),
        usual_s,
        elapsed_s + left_s,
        max(planned, len(rows)),
    )


def _planned(signals: Signals, seen: int) -> int | None:
    """Return how many steps the training was to have; None where nobody knows."""
    loop = signals.loop
    is_stopped = bool(signals.process.facts.get("stopped_early"))
    if loop.is_over and not is_stopped:
        return seen  # it ended by itself
    epochs, steps = loop.facts.get("epochs"), loop.facts.get("steps")
    # Further calls of `fit` may follow the ones that were seen.
    if loop.kind != "fit" or loop.setup_s or not epochs or not steps:
        return None
    return int(epochs) * -(-int(steps) // signals.steps_per_execution)


def _took_s(row: dict[str, Any]) -> float:
    call_s = row["call_s"]
    return float(row["end_s"] - row["begin_s"] if call_s is None else call_s)


def _traced_s(signals: Signals, row: dict[str, Any]) -> float:
    """Return what a step traced, also before its loop was known to be one."""
    begin_s, end_s = row["begin_s"], row["end_s"]
    inside = (t for t in signals.traces if begin_s <= t.at_s <= end_s and not t.is_nested)
    return sum(trace.duration_s for trace in inside if not trace.name.startswith("Dataset_"))


def _in_loop(signals: Signals) -> list[Any]:
    first_s = signals.loop.begin_s
    return [t for t in signals.traces if t.is_in_loop or t.at_s >= first_s]
