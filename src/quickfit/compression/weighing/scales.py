"""`weighed`: candidates measured side by side, in one process and in turns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from quickfit.compression.flops import Flops, flops
from quickfit.compression.graph import Graph, graph_of, rebuilt
from quickfit.compression.litert import Runner
from quickfit.compression.weighing.feeding import Feed, feed_of
from quickfit.compression.weighing.keras_jobs import KerasJobs
from quickfit.compression.weighing.sizes import file_bytes, parameters, weights_bytes
from quickfit.compression.weighing.tracing import without_tracing_advice
from quickfit.compression.weighing.turns import Clocks, Job, in_turns
from quickfit.compression.weighing.weight import CALL, LITERT, PREDICT, Timing, Weight
from quickfit.errors import ModelError, UsageError

# One sample, as a person waiting for an answer has it, and a batch that keeps the cores busy.
BATCHES = (1, 64)
STEP = "step"


@dataclass(frozen=True)
class What:
    """What is timed of a candidate: a way to predict or a step, at a batch size."""

    way: str
    batch: int


@dataclass(frozen=True)
class Subject:
    """A Keras model that is weighed: its graph, and a copy that is saved and run."""

    graph: Graph
    copy: Any


# Models are `Any`: Keras has no types of its own.
Candidate = Any  # a Keras model, or the path of a `.tflite` file
Evaluate = Callable[[Any], float]


def weighed(
    candidates: Mapping[str, Candidate],
    samples: Any,
    *,
    evaluate: Evaluate | None,
    rounds: int = 5,
    for_training: bool = False,
    clocks: Clocks | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> dict[str, Weight]:
    """Measure models side by side: size, operations, speed of predictions and steps, accuracy.

    Everything is timed in turns, a few calls of each candidate per round, so that a busy machine
    is busy for all of them. Keras models are copied first: those given are only read.

    Args:
        candidates: Keras models and paths of `.tflite` files, by the names that you give them.
        samples: data that the models take, for the timing; labels are dropped.
        evaluate: is called with each candidate as it was given, and returns its accuracy. None:
            accuracies are not asked for.
        rounds: how often everything has its turn.
        for_training: whether training steps shall count in comparisons, and not predictions.
        clocks: where the time is read.
        tell: is told of each round.

    Returns:
        One `Weight` by name, in the order given.

    Raises:
        UsageError: a candidate is neither a model nor a path, the samples do not fit, or
            `evaluate` returned no number.
        ModelError: a model cannot be walked or saved, or a file cannot be run.
    """
    if not isinstance(candidates, Mapping) or not candidates:
        raise UsageError("There is nothing to weigh: give a model by name, {'original': model}.")
    graphs = {name: _graph(name, one) for name, one in candidates.items()}
    feed = feed_of(next(filter(None, graphs.values()), None), samples, max(BATCHES))
    accuracies = {name: _accuracy(name, one, evaluate) for name, one in candidates.items()}
    subjects = {name: _subject(graphs[name], one) for name, one in candidates.items()}
    weights = {name: _still(one, feed) for name, one in subjects.items()}
    jobs = _jobs(subjects, feed)
    with without_tracing_advice() if any(graphs.values()) else nullcontext():
        timings = in_turns(jobs, rounds=rounds, clocks=clocks, tell=tell)
    return {
        name: _timed(still, accuracies[name], _of(timings, name), for_training)
        for name, still in weights.items()
    }


def _graph(name: str, candidate: Candidate) -> Graph | None:
    """Return the graph of a Keras model; None for a file."""
    if isinstance(candidate, Path | str):
        return None
    if not hasattr(candidate, "weights"):
        raise UsageError(
            f"'{name}' is {type(candidate).__name__}, and a Keras model or the path of a .tflite "
            "file is needed. A .keras file: keras.saving.load_model(path)"
        )
    return graph_of(candidate)


def _subject(graph: Graph | None, candidate: Candidate) -> Subject | Path:
    return Path(candidate) if graph is None else Subject(graph, rebuilt(graph))


def _still(subject: Subject | Path, feed: Feed) -> Weight:
    """Return what can be told without running anything."""
    if isinstance(subject, Path):
        runner = Runner(subject)
        is_int8 = any("int8" in dtype for _, dtype in runner.op_counts())
        return Weight(file_bytes=runner.size_bytes, is_int8=is_int8)
    counted = _flops(subject.graph, feed)
    return Weight(
        file_bytes=file_bytes(subject.copy),
        parameters=parameters(subject.copy),
        weights_bytes=weights_bytes(subject.copy),
        flops=None if counted is None else counted.total,
        uncounted=() if counted is None else counted.uncounted,
    )


def _flops(graph: Graph, feed: Feed) -> Flops | None:
    try:
        return flops(graph, size=feed.open_sizes(graph))
    except ModelError:
        return None  # several inputs of open sizes, and not all alike


def _accuracy(name: str, candidate: Candidate, evaluate: Evaluate | None) -> float | None:
    if evaluate is None:
        return None
    value = evaluate(candidate)
    try:
        accuracy = float(value)
    except (TypeError, ValueError):
        accuracy = math.nan
    if not math.isfinite(accuracy):
        raise UsageError(
            f"evaluate() returned {value!r} for '{name}', and a number is needed, such as the "
            "share of right answers."
        )
    return accuracy


def _jobs(subjects: Mapping[str, Subject | Path], feed: Feed) -> dict[tuple[What, str], Job]:
    """Return all that is timed; what is compared with each other stands side by side."""
    makers = {
        name: _of_file(one, feed) if isinstance(one, Path) else _of_model(one, feed)
        for name, one in subjects.items()
    }
    made = {(what, name): make(what) for what in _everything() for name, make in makers.items()}
    return {key: job for key, job in made.items() if job is not None}


def _everything() -> Iterable[What]:
    for batch in BATCHES:
        yield from (What(way, batch) for way in (CALL, LITERT, PREDICT))
    yield What(STEP, max(BATCHES))


def _of_model(subject: Subject, feed: Feed) -> Callable[[What], Job | None]:
    jobs = KerasJobs(subject.graph, subject.copy, feed)
    ways = {CALL: jobs.call, PREDICT: jobs.predict_on_batch, STEP: jobs.step}
    return lambda what: ways[what.way](what.batch) if what.way in ways else None


def _of_file(path: Path, feed: Feed) -> Callable[[What], Job | None]:
    def make(what: What) -> Job | None:
        if what.way != LITERT:
            return None
        # A runner of its own per batch size: changing the size makes it plan its memory anew.
        runner, x = Runner(path), feed.for_file(what.batch)
        return lambda: runner(x)

    return make


def _of(timings: Mapping[tuple[What, str], Timing], name: str) -> dict[What, Timing]:
    return {what: one for (what, whose), one in timings.items() if whose == name}


def _timed(
    still: Weight, accuracy: float | None, timings: Mapping[What, Timing], for_training: bool
) -> Weight:
    latency: dict[str, dict[int, Timing]] = {}
    for what, one in timings.items():
        if what.way != STEP:
            latency.setdefault(what.way, {})[what.batch] = one
    step = next((one for what, one in timings.items() if what.way == STEP), None)
    return replace(still, accuracy=accuracy, step=step, latency=latency, for_training=for_training)
