"""A `Dataset.map` handles one element at a time while the step waits for data.

Why it is slow: the function given to `map` runs on one thread, so a step can never be shorter
than one batch's worth of calls. tf.data makes most maps parallel by itself; it leaves those
alone that keep state, such as a random number, because the order of calls would change.

How it shows: a tenth of the step time or more is spent waiting for input, the slowest stage of
the pipeline is a map with a parallelism of 1, and cores are idle.

Example:
    ds = ds.map(augment)

Use instead:
    ds = ds.map(augment, num_parallel_calls=tf.data.AUTOTUNE)

Fix class: same results, because tf.data keeps the order of elements. A map that draws random
numbers may change results: which element gets which number then depends on the threads.

When it is wrong: a map that runs Python code is held back by Python's lock, and more threads do
not help. When all cores are busy already, more threads do not help either: nothing is reported.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from quickfit.causes._cause import Cause, example, waiting, waits_for_input
from quickfit.causes._shared.dataset_elements import steps
from quickfit.causes._shared.map_threads import parallel_call, parallel_map
from quickfit.code.conditions import is_for_tests
from quickfit.code.datasets import Stage as Mapping
from quickfit.code.datasets import chains
from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.syntax import argument, is_open
from quickfit.findings import (
    MIN_GAIN,
    Change,
    Effect,
    Evidence,
    Finding,
    Fix,
    FixClass,
    Gain,
    Spotted,
    Symptom,
)
from quickfit.signals import Signals
from quickfit.signals.gains import gain, predicted_step_s
from quickfit.signals.input import Stage

# The map must be most of what the pipeline does, or making it parallel changes little.
MIN_WORK_SHARE = 0.50
# Of the threads beyond the first, this part is reached: memory and the step itself take theirs.
REACHED = (0.5, 0.8, 1.0)
# The cores that map and step keep busy together: 1.7 of 2 where measured; and the CPU time that
# they need together then, without threads that spin while they wait for the map.
BUSY, CPU_AFTER = (0.85, 1.0, 1.0), (1.0, 1.0, 0.85)


def detect(signals: Signals) -> Finding | None:
    """Report a map on one thread that the step waits for."""
    stage = _slow_map(signals)
    if stage is None or not waits_for_input(signals):
        return None
    if stage.fact("runs_python"):
        return None  # Python's lock is the limit

    found = _gain(signals, stage)
    if found.likely < MIN_GAIN:
        return None
    return Finding(
        summary=f"`map({stage.function or '…'})` runs on one thread",
        where=stage.location,
        evidence=(
            waiting(signals),
            Evidence(
                "in this map per step",
                stage.work_s,
                "s",
                f"{stage.calls:.0f} calls, one after the other",
            ),
            Evidence(
                "of the cores in use on average",
                min(signals.machine.cpu_cores / signals.cores, 1.0),
                "share",
                f"{signals.machine.cpu_cores:.1f} of {signals.cores:g}",
            ),
        ),
        gain=found,
        cost_share=signals.wait.share,
        claims=("input_wait",),
        not_found=("Python code in the map",),
    )


def _gain(signals: Signals, stage: Stage) -> Gain:
    """Return the gain of more threads: the same work as now, nearer to all cores."""
    work = signals.work
    after = [
        predicted_step_s(
            dataclasses.replace(work, compute_cpu_s=part * work.compute_cpu_s),
            input_s=stage.work_s / (1 + (cores - 1) * reached),
            input_cpu_s=part * work.input_cpu_s,
            cores=busy * cores,
        )
        for reached, busy, part, cores in zip(
            REACHED, BUSY, CPU_AFTER, work.cores_after(), strict=True
        )
    ]
    basis = f"the map spread over {work.cores:g} cores, which it shares with the model"
    return gain(work.step_s, (after[0], after[1], after[2]), basis)


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Hint at maps on one thread that read or decode files."""
    if is_for_tests(module):
        return
    for call in module.calls("map"):
        if argument(call, "num_parallel_calls", 1) is not None or is_open(call) or not call.args:
            continue
        done = steps(program, Mapping("map", call, module))
        if not any(step.reads for step in done) or any(step.is_python for step in done):
            continue
        if any(chain.is_whole for chain in chains(program, module, call)):
            is_random = any(step.is_random for step in done)
            yield Spotted(
                where=module.span(call),
                summary=f"`map({module.code(call.args[0])})` reads files and is given one thread",
                effect=Effect.SLOW,
                change=parallel_call(module, call, is_random=is_random),
                is_hint=True,
            )


def _slow_map(signals: Signals) -> Stage | None:
    if signals.py_input is not None:
        return None  # the generator is the input, and Keras's own stages are not the user's
    stages = signals.stages
    slowest = max(stages, key=lambda stage: stage.work_s / max(stage.parallelism, 1.0))
    total_s = sum(stage.work_s for stage in stages)
    is_map = slowest.carries("map") and slowest.parallelism <= 1
    is_most = slowest.work_s >= MIN_WORK_SHARE * total_s
    return slowest if is_map and is_most and slowest.location is not None else None


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Add `num_parallel_calls` to the call."""
    stage = _slow_map(signals)
    if stage is None or finding.where is None:
        return None
    is_random = bool(stage.fact("is_stateful"))
    return Fix(
        title="Run the map on several threads",
        kind=FixClass.MAY_CHANGE_RESULTS if is_random else FixClass.SAME_RESULTS,
        example=example(__doc__ or "", "Use instead"),
        note=(
            "The map keeps state (random numbers): elements keep their order,"
            " but may get other random numbers than before."
            if is_random
            else ""
        ),
    )


def changes(finding: Finding, signals: Signals, program: Program) -> list[Change]:
    """Give the map several threads."""
    stage = _slow_map(signals)
    module = program.find_module(finding.where.file) if finding.where is not None else None
    if stage is None or finding.where is None or module is None:
        return []
    is_random = bool(stage.fact("is_stateful"))
    change = parallel_map(module, finding.where.line, is_random=is_random)
    return [change] if change is not None else []


CAUSE = Cause(
    title="A map runs on one thread",
    symptom=Symptom.SLOW,
    detect=detect,
    scan=scan,
    fix=fix,
    changes=changes,
    resource="one thread, while cores are idle",
)
