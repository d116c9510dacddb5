"""Input: how long steps wait for it, what each stage of the pipeline costs, who makes it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from quickfit.errors import SignalMissing
from quickfit.findings import Location
from quickfit.pipeline_model.match import Operation, match, operation_kind
from quickfit.pipeline_model.snapshot import Snapshot, snapshot_from_row
from quickfit.pipeline_model.stages import StageCost, stage_costs, with_ended_nodes
from quickfit.recording.reader import ProcessRecording
from quickfit.signals.steps import Step, Steps

# The error of a share that was measured in one or two windows, as a part of it.
FEW_WINDOWS_ERROR = 0.25
# A last step of an epoch this many times as long as the others did something else as well.
LONG_LAST = 3.0
# Starts of epochs that take this share of the time are a wait, whatever the steps do.
MIN_START_SHARE = 0.10
# A shuffle moves references. While it fills, tf.data counts waiting for its input as its work.
SHUFFLED_S = 10e-6


@dataclass(frozen=True)
class Stage:
    """One runtime stage, with what the user wrote for it.

    `work_s`, `per_step` (elements passed on) and `calls` (elements taken in) are per training
    step. `operations` is empty for a stage that tf.data injected. `number` and `inputs` are those
    of tf.data's model, `buffer` is how many elements the stage may hold ready.
    """

    kind: str
    name: str
    work_s: float
    per_step: float
    parallelism: float
    element_bytes: float
    buffered: int
    buffered_bytes: int
    location: Location | None
    function: str
    operations: tuple[Operation, ...]
    calls: float
    number: int = 0
    inputs: tuple[int, ...] = ()
    buffer: float | None = None
    is_async: bool = False

    def carries(self, kind: str) -> bool:
        """Tell whether this stage carries out an operation of a kind, alone or fused."""
        return any(operation.kind == kind for operation in self.operations)

    def fact(self, name: str) -> Any:  # a recorded JSON value
        """Return a recorded fact of the first operation that has it, or None."""
        for operation in self.operations:
            if operation.facts.get(name) is not None:
                return operation.facts[name]
        return None


@dataclass(frozen=True)
class PyInput:
    """A Python generator or PyDataset: what one batch costs it.

    `busy_share` is the share of the training time during which it was making a batch. `made_at` is
    the user's line that made it, where its code is a library's.
    """

    kind: str
    name: str
    location: Location | None
    workers: int
    batches: int
    batch_s: float
    batch_cpu_s: float
    busy_share: float
    made_at: Location | None = None


@dataclass(frozen=True)
class Wait:
    """How long a step waits for input, on average, and how that was measured.

    `error_share` is how far the share may be off, by the windows it was measured in; zero where
    a clock tells.
    """

    step_s: float
    share: float
    requests: int
    source: str
    error_share: float = 0.0


def wait_of_steps(steps: Steps) -> Wait | None:
    """Return the wait of a loop that asks for its batches from Python."""
    known = [step for step in steps.steps if step.wait_s is not None]
    watched = [step for step in steps.steps if step.call_s is not None]
    if known and len(known) > 0.9 * len(watched):
        mean_s = steps.mean_of("wait_s")
        share = min(mean_s / steps.mean_s, 1.0) if steps.mean_s else 0.0
        return Wait(mean_s, share, len(known), "the time the script's own calls for a batch take")
    return None


def no_wait(steps: Steps) -> Wait:
    """Return the wait of a loop that makes its batches itself: that is Python between its steps."""
    return Wait(0.0, 0.0, len(steps.steps), "the script makes its batches between the steps")


def wait_from_pipeline(
    process: ProcessRecording, loop: int, steps: Steps, spe: int, start_s: float
) -> Wait | None:
    """Return the wait as tf.data saw it: time per request minus the consumer's time between two.

    Each snapshot carries the consumer's gaps since the one before; the steps that ended in the
    same window give the time those requests took in all. The first request of an iterator has
    no gap before it, so the first steps of epochs are left out there and come with what they
    took longer (`start_s`, in all), without tracing.
    """
    iterators = training_iterators(process, loop)
    later = Steps(_with_a_gap(steps), steps.warmup)
    windows: list[tuple[float, float]] = []
    requests = 0
    for row in process.rows("pipelines"):
        if row["iterator"] not in iterators or row["gaps"] < 1:
            continue
        count = max(round(row["gaps"] / spe), 1)
        recent = later.before(row["at_s"], count)
        # Of the first snapshot after warm-up, some gaps lie before that.
        part = len(recent) / count
        took_s = sum(step.cycle_s for step in recent)
        windows.append((took_s, min(part * row["gap_s"], took_s)))
        requests += len(recent)
    window_s = sum(took_s for took_s, _ in windows)
    if not requests or window_s <= 0:
        return _wait_at_starts(steps, start_s) if snapshots_of(process, loop) else None
    share = max(0.0, 1.0 - sum(gap_s for _, gap_s in windows) / window_s)
    # A first step waits as any other does, and then for its start; so does a long last one.
    firsts = len(steps.steps) - len(later.steps)
    wait_s = min(share * (later.total_s + firsts * later.median_s) + start_s, steps.total_s)
    mean_s = wait_s / len(steps.steps)
    source = "tf.data's own model of the pipeline"
    return Wait(mean_s, mean_s / steps.mean_s, requests, source, _error_share(windows, share))


def _error_share(windows: list[tuple[float, float]], share: float) -> float:
    """Return twice the standard error of a share that was measured in several windows."""
    known = [(took_s, 1.0 - gap_s / took_s) for took_s, gap_s in windows if took_s > 0]
    if len(known) < 3:
        return FEW_WINDOWS_ERROR * share
    total_s = sum(took_s for took_s, _ in known)
    squares = sum((took_s * (each - share)) ** 2 for took_s, each in known)
    return min(2.0 * math.sqrt(squares) / total_s, share)


def _wait_at_starts(steps: Steps, start_s: float) -> Wait | None:
    """Return the wait of epochs that mostly begin: the steps between were too fast to look at."""
    if start_s < MIN_START_SHARE * steps.total_s:
        return None
    mean_s = min(start_s, steps.total_s) / len(steps.steps)
    return Wait(
        mean_s,
        mean_s / steps.mean_s,
        len(steps.steps),
        "what the first step of an epoch takes longer than the others",
    )


def _with_a_gap(steps: Steps) -> tuple[Step, ...]:
    """Return the steps whose time tf.data's gaps account for.

    Not the first of an epoch, which has no gap before it. After the last one nothing is asked
    for, so what it took longer than the others is in no gap: it compiled, say.
    """
    usual_s = steps.median_s
    following = [*(step.is_first_of_epoch for step in steps.steps[1:]), True]
    return tuple(
        step
        for step, is_last in zip(steps.steps, following, strict=True)
        if not step.is_first_of_epoch and not (is_last and step.cycle_s > LONG_LAST * usual_s)
    )


def wait_from_python(process: ProcessRecording, loop: int, steps: Steps) -> Wait | None:
    """Return the wait of a loop whose batches come straight from a Python iterator.

    Keras turns tf.data's model off for a PyDataset with workers; then nothing is prefetched,
    and the time inside the iterator is the wait itself.
    """
    totals = py_input_totals(process, loop, steps)
    if totals is None or totals["workers"] < 2 or not totals["batches"]:
        return None
    share = min(totals["wall_s"] / totals["window_s"], 1.0)
    return Wait(share * steps.mean_s, share, totals["batches"], "time inside the Python iterator")


def py_input_totals(process: ProcessRecording, loop: int, steps: Steps) -> dict[str, Any] | None:
    """Return what the Python inputs of a loop did after warm-up; each call of `fit` has its own."""
    series: dict[int, list[dict[str, Any]]] = {}
    for row in process.rows("py_inputs"):
        if row["loop"] == loop:
            series.setdefault(row["id"], []).append(row)
    parts = [part for rows in series.values() if (part := _moved(rows, steps)) is not None]
    if not parts:
        return None
    longest = max(parts, key=lambda part: part["batches"])
    sums = {name: sum(part[name] for part in parts) for name in ("batches", "wall_s", "cpu_s")}
    # Those of training and validation are there at the same time.
    window_s = _covered_s([part["span"] for part in parts])
    return {**longest, **sums, "window_s": window_s} if window_s > 0 else None


def _covered_s(spans: list[tuple[float, float]]) -> float:
    """Return the time that spans cover together, each moment counted once."""
    covered_s, until_s = 0.0, -math.inf
    for begin_s, end_s in sorted(spans):
        covered_s += max(end_s - max(begin_s, until_s), 0.0)
        until_s = max(until_s, end_s)
    return covered_s


def _moved(rows: list[dict[str, Any]], steps: Steps) -> dict[str, Any] | None:
    """Return how far one Python input came between two readings after warm-up."""
    window = [row for row in rows if steps.begin_s <= row["at_s"] <= steps.end_s + 1.0]
    # What it did not do after its own `fit` had ended is no idleness.
    window = [row for row in window if row["batches"] < rows[-1]["batches"] or row["busy"]] + [
        row for row in window if row["batches"] == rows[-1]["batches"] and not row["busy"]
    ][:1]
    if len(window) < 2 or window[-1]["at_s"] <= window[0]["at_s"]:
        return None
    first, last = window[0], window[-1]
    grown = {name: last[name] - first[name] for name in ("batches", "wall_s", "cpu_s")}
    return {**last, **grown, "span": (first["at_s"], last["at_s"])}


def training_iterators(process: ProcessRecording, loop: int) -> dict[int, int]:
    """Return the iterators that fed the training steps of a loop, with their dataset."""
    return {
        row["id"]: row["dataset"]
        for row in process.rows("iterators")
        if row["loop"] == loop and row["phase"] == "train"
    }


def pipeline(process: ProcessRecording, loop: int, steps: Steps) -> tuple[list[StageCost], int]:
    """Return the stage costs of the loop's longest-lived pipeline, and its top dataset.

    Raises:
        SignalMissing: tf.data's model was not there.
    """
    iterators = training_iterators(process, loop)
    snapshots = snapshots_of(process, loop)
    if not snapshots:
        has_workers = any(row["workers"] > 1 for row in process.rows("py_inputs"))
        why = " (Keras turns it off for workers)" if has_workers else ""
        raise SignalMissing(f"tf.data's model of the pipeline{why}")
    # A source that has run dry takes its nodes along; only a full picture tells the costs.
    size = max(len(s.nodes) for series in snapshots.values() for s in series)
    full = {n: [s for s in series if len(s.nodes) == size] for n, series in snapshots.items()}
    windows = {n: _window(series, steps.begin_s) for n, series in full.items() if series}
    longest = max(windows, key=lambda n: _outputs(*windows[n]))
    costs = stage_costs(*windows[longest])
    if not costs:
        # A shuffle that holds all of the data reads it to its end before its first element.
        every = [s for each in snapshots.values() for s in each]
        costs = stage_costs(None, with_ended_nodes(every)) or _filling_costs(every, process)
    if not costs:
        raise SignalMissing("a pipeline that moved while it was watched")
    return costs, iterators[longest]


def _filling_costs(snapshots: list[Snapshot], process: ProcessRecording) -> list[StageCost]:
    """Return the costs of pipelines that were only seen before their first batch."""
    sizes = [row["facts"].get("batch_size") or 0 for row in process.rows("datasets")]
    fullest = max(snapshots, key=lambda s: max(node.elements for node in s.nodes.values()))
    made = max(node.elements for node in fullest.nodes.values())
    batches = made // max(sizes, default=0) if max(sizes, default=0) else 0
    return stage_costs(None, fullest, outputs=batches) if batches else []


def _window(series: list[Snapshot], begin_s: float) -> tuple[Snapshot | None, Snapshot]:
    """Return the snapshots to compare: those after warm-up, if most elements came between them."""
    warm = [s for s in series if s.at_s >= begin_s] or series[-1:]
    is_most = 2 * _outputs(warm[0], warm[-1]) >= _outputs(None, warm[-1])
    return (warm[0] if len(warm) > 1 and is_most else None), warm[-1]


def _outputs(first: Snapshot | None, last: Snapshot) -> int:
    before = first.nodes[first.root].elements if first is not None else 0
    return last.nodes[last.root].elements - before


def snapshots_of(process: ProcessRecording, loop: int) -> dict[int, list[Snapshot]]:
    """Return the snapshots of every pipeline that fed the training steps of a loop."""
    iterators = training_iterators(process, loop)
    snapshots: dict[int, list[Snapshot]] = {}
    for row in process.rows("pipelines"):
        if row["iterator"] in iterators:
            snapshots.setdefault(row["iterator"], []).append(snapshot_from_row(row))
    return snapshots


def operations(process: ProcessRecording) -> dict[int, Operation]:
    """Return every dataset operation that was recorded, by its number."""
    texts = {row["file"]: row["text"].splitlines() for row in process.rows("sources")}
    found = {}
    for row in process.rows("datasets"):
        kind = operation_kind(row["kind"])
        place = _written_at(row, kind, texts)
        found[row["id"]] = Operation(row["id"], kind, *place, tuple(row["inputs"]), row["facts"])
    return found


def _written_at(
    row: dict[str, Any], kind: str, texts: dict[str, list[str]]
) -> tuple[str | None, int | None]:
    """Return the line that names an operation.

    A helper that calls whatever it is told, `getattr(ds, method)(...)`, is not where to look.
    """
    places = [(row["file"], row["line"]), *row["facts"].get("via", ())]
    for file, line in places:
        text = texts.get(file, [])
        if line is not None and 0 < line <= len(text) and kind in text[line - 1]:
            return file, line
    return row["file"], row["line"]


def stages(
    costs: list[StageCost], written: dict[int, Operation], top: int, spe: int, locate: Any
) -> list[Stage]:
    """Return the stages with the user's lines; `locate(file, line)` makes a Location."""
    matched = match(costs, written, top)
    by_id = {cost.node.id: cost for cost in costs}
    result = []
    for cost in costs:
        carried = tuple(matched.get(cost.node.id, []))
        named = next((op for op in carried if op.kind == "map"), carried[0] if carried else None)
        node = cost.node
        result.append(
            Stage(
                kind=cost.kind,
                name=node.name,
                work_s=_own_work_s(cost) * spe,
                per_step=cost.per_output * spe,
                parallelism=cost.parallelism,
                element_bytes=cost.element_bytes,
                buffered=node.buffered,
                buffered_bytes=node.buffered_bytes,
                location=locate(named.file, named.line) if named else None,
                function=str(named.facts.get("function", "")) if named else "",
                operations=carried,
                calls=_calls(cost, by_id) * spe,
                number=node.id,
                inputs=node.inputs,
                buffer=node.buffer,
                is_async=node.is_async,
            )
        )
    return result


def _own_work_s(cost: StageCost) -> float:
    is_shuffle = cost.kind.startswith("shuffle")
    return min(cost.work_s, SHUFFLED_S * cost.per_output) if is_shuffle else cost.work_s


def _calls(cost: StageCost, by_id: dict[int, StageCost]) -> float:
    """Return how many elements a stage takes in for one output of the pipeline."""
    below = [by_id[number] for number in cost.node.inputs if number in by_id]
    return max((stage.per_output for stage in below), default=cost.per_output)
