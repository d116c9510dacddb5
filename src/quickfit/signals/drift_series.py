"""The parts of a step over the run, as series: how many steps were done, and the value there.

Left out are steps that say nothing about the others: the first of an epoch, and those that traced.
Steps that a long recording has merged into blocks come as one point per block.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from quickfit.recording.reader import ProcessRecording
from quickfit.recording.thinning import BLOCK_STEPS, bin_of, seconds_of
from quickfit.signals.drift_inputs import input_series
from quickfit.signals.drift_machine import machine_series
from quickfit.signals.drift_progress import Progress, Row, Series
from quickfit.signals.steps import Step, Steps

# What a block of merged steps has the sum of.
_SUMMED = ("call_s", "callbacks_s", "callbacks_cpu_s", "cpu_s", "wait_s")


def all_series(
    processes: list[ProcessRecording], loop: int, steps: Steps, plain: Iterable[Step], spe: int
) -> Series:
    """Return every series of a loop.

    Args:
        processes: the one that trains, and then the others of the run.
        loop: its number.
        steps: its steps after warm-up.
        plain: those of them in which nothing was traced.
        spe: how many batches a step takes.
    """
    process, *others = processes
    blocks = [row for row in process.rows("step_blocks") if row["loop"] == loop]
    progress = Progress(steps, sum(block["steps"] for block in blocks) + steps.warmup)
    series = step_series(steps, plain, blocks)
    # In a loop of the script, Python itself asks for the next batch: that wait is exact.
    series = input_series(process, loop, progress, spe) | series
    return series | machine_series(process, others, progress)


def step_series(steps: Steps, plain: Iterable[Step], blocks: list[Row]) -> Series:
    """Return the series of what every step tells.

    Args:
        steps: the steps after warm-up.
        plain: those of them in which nothing was traced.
        blocks: the steps before them, merged.
    """
    if blocks:
        # A mean is not to be compared with a median: the newer steps are merged alike.
        return _of_blocks([*blocks, *_merged(steps)])
    series: Series = {}
    usual = {id(step) for step in plain}
    # Where most epochs have a step or two, the first ones are all there is.
    is_short = 2 * sum(step.is_first_of_epoch for step in steps.steps) > len(steps.steps)
    watched: Step | None = None
    for place, step in enumerate(steps.steps, start=steps.warmup + 1):
        is_same_epoch = watched is not None and watched.epoch == step.epoch
        watched = step if step.cpu_s is not None else watched
        if (step.is_first_of_epoch and not is_short) or id(step) not in usual:
            continue
        for name, value in _parts(step).items():
            # The CPU time is that of all steps since the last one that was watched in full.
            if value is not None and (name != "cpu" or is_same_epoch):
                series.setdefault(name, []).append((float(place), value))
    return series


def _merged(steps: Steps) -> list[Row]:
    """Return steps as blocks like those that a long recording keeps of its old ones."""
    found: list[Row] = []
    for begin in range(0, len(steps.steps), BLOCK_STEPS):
        part = steps.steps[begin : begin + BLOCK_STEPS]
        sums: dict[str, float] = {
            name: sum(getattr(step, name) or 0.0 for step in part) for name in _SUMMED
        }
        sums["watched"] = sum(step.cpu_s is not None for step in part)
        counts = Counter(str(bin_of(step.end_s - step.begin_s)) for step in part)
        found.append({"steps": len(part), "sums": sums, "histogram": counts})
    # A last block of a few steps is no block.
    return found[:-1] if len(found) > 1 and found[-1]["steps"] < BLOCK_STEPS / 2 else found


def _parts(step: Step) -> dict[str, float | None]:
    between_s = None
    if step.call_s is not None:
        known_s = step.call_s + (step.callbacks_s or 0.0) + (step.wait_s or 0.0)
        between_s = max(step.cycle_s - known_s, 0.0)
    return {
        "step": step.cycle_s,
        "call": step.call_s,
        "callbacks": step.callbacks_s,
        "callbacks_cpu": step.callbacks_cpu_s,
        "cpu": step.cpu_s,
        "wait": step.wait_s,
        "between": between_s,
    }


def _of_blocks(blocks: list[Row]) -> Series:
    series: Series = {}
    done = 0
    for block in blocks:
        place = done + block["steps"] / 2
        done += block["steps"]
        for name, value in _block_parts(block).items():
            series.setdefault(name, []).append((place, value))
    return series


def _block_parts(block: Row) -> dict[str, float]:
    sums, watched = block["sums"], block["sums"].get("watched")
    step_s = _median_s(block["histogram"])
    found = {"step": step_s}
    # In `fit` every step has its call timed; in a loop of the script only some have.
    is_fit = bool(sums.get("callbacks_s"))
    timed = block["steps"] if is_fit else watched
    if timed:
        found["call"] = sums.get("call_s", 0.0) / timed
    if is_fit:
        found["callbacks"] = sums["callbacks_s"] / block["steps"]
    elif timed:
        found["wait"] = sums.get("wait_s", 0.0) / timed
        found["between"] = max(step_s - found["call"] - found["wait"], 0.0)
    if watched:
        found["cpu"] = sums.get("cpu_s", 0.0) / watched
    if watched and is_fit:
        found["callbacks_cpu"] = sums.get("callbacks_cpu_s", 0.0) / watched
    return found


def _median_s(histogram: dict[str, int]) -> float:
    bins = sorted((int(index), count) for index, count in histogram.items())
    half, seen = sum(count for _, count in bins) / 2, 0
    for index, count in bins:
        seen += count
        if seen >= half:
            return seconds_of(index)
    return 0.0
