"""What keeps a pipeline from being faster, and what the machine would allow."""

from __future__ import annotations

from collections.abc import Sequence

from quickfit import units
from quickfit.data.speed.figures import Ideal, Limit, Machine, Span, Stage

# So many of the cores are never all used: threads hand over to each other.
BUSY_SHARE = 0.85
# A stage that accounts for this much of the time between two elements sets it.
LIMITING_SHARE = 0.6
# What Python code uses, whatever the number of threads that wait for the GIL.
ONE_CORE = (0.75, 1.25)
# Short passes spend this much on beginning.
BEGIN_SHARE = 0.4
# Asking for an element from Python takes up to this long.
MAX_CONSUMER_S = 1e-3
# Reading from storage is worth a word from here.
MIN_READ_BYTES_PER_S = 5e6
# Work of these stages can be shared out to any number of threads.
_CAN_BE_PARALLEL = (
    *("map", "mapandbatch", "batch", "paddedbatch", "interleave", "flatmap", "parseexample"),
    *("tfrecord", "textline", "fixedlengthrecord", "filter"),
)
# They only hand elements on; what is counted for them is waking up, or beginning another dataset.
_HANDS_OVER = ("prefetch", "concatenate")


def ideal_of(total: Span, stages: Sequence[Stage], machine: Machine) -> Ideal:
    """Return the least time per element: all cores at work, unless one stage cannot be shared."""
    shared_s = total.element_cpu_s / machine.cores
    serial = [one for one in stages if one.kind not in (*_CAN_BE_PARALLEL, *_HANDS_OVER)]
    slowest = max(serial, key=lambda one: one.work_s, default=None)
    # A Python generator waits for the GIL and for files; other processes could do that for it.
    if slowest is not None and slowest.work_s > shared_s and not slowest.runs_python:
        least_s = min(slowest.work_s, total.element_s)
        return Ideal(least_s, f"{slowest.name} cannot be shared between threads")
    cores = _cores(machine.cores)
    return Ideal(shared_s, f"{units.seconds(total.element_cpu_s)} CPU per {total.unit} on {cores}")


def limit_of(
    total: Span,
    stages: Sequence[Stage],
    machine: Machine,
    *,
    is_python: bool = False,
    begin_share: float = 0.0,
) -> Limit:
    """Return what sets the pace, by what was measured.

    Args:
        total: what was counted.
        stages: those of the pipeline, if they are known.
        machine: what it did meanwhile.
        is_python: whether the elements come from a Python iterator.
        begin_share: of the time, how much passes took to begin.
    """
    is_busy = machine.is_contended(total.cores)
    has_cores_left = total.cores < BUSY_SHARE * machine.cores
    slowest = _pace_maker(stages, total) if has_cores_left else None
    if slowest is not None:
        return Limit("stage", _stage_text(slowest, total, machine), slowest.name)
    if begin_share >= BEGIN_SHARE:
        return Limit("start", _start_text(begin_share))
    if is_busy:
        return Limit("busy", _busy_text(machine, total))
    if not has_cores_left:
        return _by_cores(total, stages, machine)
    if is_python:
        return Limit("python", _python_text(total, machine))
    return _by_rest(total, stages, machine)


def _pace_maker(stages: Sequence[Stage], total: Span) -> Stage | None:
    """Return the stage that takes most of the time between two elements, if one does."""
    longest_s = max((one.period_s for one in stages), default=0.0)
    if longest_s < LIMITING_SHARE * total.element_s:
        return None
    found = max((o for o in stages if o.period_s == longest_s), key=lambda one: one.work_s)
    return None if found.kind in _HANDS_OVER else found


def _start_text(share: float) -> str:
    return (
        f"the start of each pass: {units.share(share)} of the time goes by between the last element"
        " of a pass and the first of the next; with more data in a pass that counts for less"
    )


def _busy_text(machine: Machine, total: Span) -> str:
    return (
        f"inconclusive: other processes use {machine.other_cores:.1f} of {_cores(machine.cores)},"
        f" the pipeline {total.cores:.1f}; on a free machine it may be faster"
    )


def _by_cores(total: Span, stages: Sequence[Stage], machine: Machine) -> Limit:
    said = f"the cores: it uses {total.cores:.1f} of {_cores(machine.cores)}"
    most = max(stages, key=lambda one: one.share, default=None)
    if most is None:
        return Limit("cores", said)
    return Limit(
        "cores", f"{said}, {units.share(most.share)} of the work is {most.name}", most.name
    )


def _stage_text(stage: Stage, total: Span, machine: Machine) -> str:
    threads = round(stage.parallelism)
    where = "one thread" if threads <= 1 else f"{threads} threads"
    period_s = min(stage.period_s, total.element_s)  # that of a pass may be above the mean
    took = f"{units.seconds(period_s)} of {units.seconds(total.element_s)} per {total.unit}"
    said = f"{stage.name} runs on {where}: {took}"
    if machine.is_contended(total.cores):
        return f"{said}; other processes use {machine.other_cores:.1f} of {_cores(machine.cores)}"
    if stage.runs_python and threads > 1 and ONE_CORE[0] < total.cores < ONE_CORE[1]:
        return f"{stage.name} runs Python: {threads} threads wait for one GIL, {took}"
    if stage.work_s > 2 * total.element_cpu_s:
        return f"{said}; it mostly waits ({units.seconds(total.element_cpu_s)} CPU in all)"
    return said


def _python_text(total: Span, machine: Machine) -> str:
    used = f"it uses {total.cores:.1f} of {_cores(machine.cores)}"
    if total.cores < 0.5:
        return f"the Python code that makes the elements mostly waits: {used}"
    return f"the Python code that makes the elements: {used}"


def _by_rest(total: Span, stages: Sequence[Stage], machine: Machine) -> Limit:
    read_per_s = (machine.read_bytes or 0) / total.wall_s if total.wall_s > 0 else 0.0
    if read_per_s >= MIN_READ_BYTES_PER_S:
        return Limit(
            "storage",
            f"storage: {units.size(read_per_s)} per second are read, with"
            f" {total.cores:.1f} of {_cores(machine.cores)} in use",
        )
    last = stages[-1] if stages else None
    if last is not None and last.buffered > 0 and total.element_s < MAX_CONSUMER_S:
        return Limit(
            "consumer",
            f"the loop that takes the elements: {last.name} had {last.buffered} ready for it",
        )
    return Limit(
        "unknown",
        f"neither a stage nor the cores: it uses {total.cores:.1f} of {_cores(machine.cores)}",
    )


def _cores(count: float) -> str:
    shown = f"{count:.0f}" if count == round(count) else f"{count:.1f}"
    return f"{shown} core{'' if shown == '1' else 's'}"
