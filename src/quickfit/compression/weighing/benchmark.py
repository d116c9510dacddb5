"""Models measured side by side, in one process and in turns: size, operations, speed, accuracy."""

from __future__ import annotations

import logging
import math
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from quickfit.compression.calibration import (
    Samples,
    fit_inputs,
    misfit_error,
    model_inputs,
    samples_of,
)
from quickfit.compression.copying import rebuild_graph
from quickfit.compression.flops import Flops, flops
from quickfit.compression.graph import Graph, graph_of
from quickfit.compression.litert import Runner
from quickfit.compression.weighing.comparison import (
    CALL,
    LITERT,
    PREDICT,
    TimedTurn,
    Timing,
    Weight,
)
from quickfit.errors import ModelError, UsageError
from quickfit.lab.turns import interleave

# One sample, as a person waiting for an answer has it, and a batch that keeps the cores busy.
BATCHES = (1, 64)
STEP = "step"


@dataclass(frozen=True)
class TimedAction:
    """What is timed of a candidate: a way to predict or a step, at a batch size."""

    way: str
    batch: int


@dataclass(frozen=True)
class KerasSubject:
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
    clocks: BenchmarkClocks | None = None,
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
    graphs = {name: _candidate_graph(name, one) for name, one in candidates.items()}
    feed = feed_of(next(filter(None, graphs.values()), None), samples, max(BATCHES))
    accuracies = {name: _measure_accuracy(name, one, evaluate) for name, one in candidates.items()}
    subjects = {name: _make_subject(graphs[name], one) for name, one in candidates.items()}
    weights = {name: _measure_at_rest(one, feed) for name, one in subjects.items()}
    jobs = _all_jobs(subjects, feed)
    with without_tracing_advice() if any(graphs.values()) else nullcontext():
        timings = time_in_turns(jobs, rounds=rounds, clocks=clocks, tell=tell)
    by_name: dict[str, dict[TimedAction, Timing]] = {name: {} for name in weights}
    for (what, name), timing in timings.items():
        by_name[name][what] = timing
    return {
        name: _add_timings(still, accuracies[name], by_name[name], for_training)
        for name, still in weights.items()
    }


def _candidate_graph(name: str, candidate: Candidate) -> Graph | None:
    """Return the graph of a Keras model; None for a file."""
    if isinstance(candidate, Path | str):
        return None
    if not hasattr(candidate, "weights"):
        raise UsageError(
            f"'{name}' is {type(candidate).__name__}, and a Keras model or the path of a .tflite "
            "file is needed. A .keras file: keras.saving.load_model(path)"
        )
    return graph_of(candidate)


def _make_subject(graph: Graph | None, candidate: Candidate) -> KerasSubject | Path:
    return Path(candidate) if graph is None else KerasSubject(graph, rebuild_graph(graph))


def _measure_at_rest(subject: KerasSubject | Path, feed: SampleFeed) -> Weight:
    """Return what can be told without running anything."""
    if isinstance(subject, Path):
        runner = Runner(subject)
        is_int8 = any("int8" in dtype for _, dtype in runner.op_counts())
        return Weight(file_bytes=runner.size_bytes, is_int8=is_int8)
    counted = _count_flops(subject.graph, feed)
    return Weight(
        file_bytes=file_bytes(subject.copy),
        parameters=count_parameters(subject.copy),
        weights_bytes=weights_bytes(subject.copy),
        flops=None if counted is None else counted.total,
        uncounted=() if counted is None else counted.uncounted,
    )


def _count_flops(graph: Graph, feed: SampleFeed) -> Flops | None:
    try:
        return flops(graph, size=feed.open_sizes(graph))
    except ModelError:
        return None  # several inputs of open sizes, and not all alike


def _measure_accuracy(name: str, candidate: Candidate, evaluate: Evaluate | None) -> float | None:
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


def _all_jobs(
    subjects: Mapping[str, KerasSubject | Path], feed: SampleFeed
) -> dict[tuple[TimedAction, str], Job]:
    """Return all that is timed; what is compared with each other stands side by side."""
    makers = {
        name: _file_jobs(one, feed) if isinstance(one, Path) else _model_jobs(one, feed)
        for name, one in subjects.items()
    }
    made = {(what, name): make(what) for what in _all_timings() for name, make in makers.items()}
    return {key: job for key, job in made.items() if job is not None}


def _all_timings() -> Iterable[TimedAction]:
    for batch in BATCHES:
        yield from (TimedAction(way, batch) for way in (CALL, LITERT, PREDICT))
    yield TimedAction(STEP, max(BATCHES))


def _model_jobs(subject: KerasSubject, feed: SampleFeed) -> Callable[[TimedAction], Job | None]:
    jobs = KerasJobs(subject.graph, subject.copy, feed)
    ways = {CALL: jobs.call, PREDICT: jobs.predict_on_batch, STEP: jobs.step}
    return lambda what: ways[what.way](what.batch) if what.way in ways else None


def _file_jobs(path: Path, feed: SampleFeed) -> Callable[[TimedAction], Job | None]:
    def make(what: TimedAction) -> Job | None:
        if what.way != LITERT:
            return None
        # A runner of its own per batch size: changing the size makes it plan its memory anew.
        runner, x = Runner(path), feed.for_file(what.batch)
        return lambda: runner(x)

    return make


def _add_timings(
    still: Weight, accuracy: float | None, timings: Mapping[TimedAction, Timing], for_training: bool
) -> Weight:
    latency: dict[str, dict[int, Timing]] = {}
    for what, one in timings.items():
        if what.way != STEP:
            latency.setdefault(what.way, {})[what.batch] = one
    step = next((one for what, one in timings.items() if what.way == STEP), None)
    return replace(still, accuracy=accuracy, step=step, latency=latency, for_training=for_training)


Job = Callable[[], object]
JobKey = TypeVar("JobKey", bound=Hashable)

# A turn is short beside the swings of a machine's load, and long beside a call of a small model.
TURN_S = 0.1
MIN_CALLS = 5
# TensorFlow traces in the first call and tunes memory in the next ones.
WARM_UPS = 3


@dataclass(frozen=True)
class BenchmarkClocks:
    """Where the time is read: on the wall, and as CPU time of the process."""

    wall: Callable[[], float] = time.perf_counter
    cpu: Callable[[], float] = time.process_time


def time_in_turns(
    jobs: Mapping[JobKey, Job],
    *,
    rounds: int,
    turn_s: float = TURN_S,
    clocks: BenchmarkClocks | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> dict[JobKey, Timing]:
    """Return how long each job takes.

    `tell` hears of each round.

    Raises:
        UsageError: `rounds` is less than 2: one round tells nothing about how far off it is.
    """
    if rounds < 2:
        raise UsageError(f"rounds={rounds!r}: it takes 2 or more to know how far apart they are.")
    for job in jobs.values():
        for _ in range(WARM_UPS):
            job()
    clocks = clocks or BenchmarkClocks()
    turns = interleave(
        {key: partial(time_job, job, turn_s, clocks) for key, job in jobs.items()},
        rounds=rounds,
        tell=lambda number: tell(f"round {number} of {rounds}"),
    )
    return {key: Timing(tuple(some)) for key, some in turns.items()}


def time_job(job: Job, turn_s: float, clocks: BenchmarkClocks) -> TimedTurn:
    """Call a job for a while, the first time with cold caches and not counted."""
    job()
    calls_s: list[float] = []
    begin_cpu_s, begin_s = clocks.cpu(), clocks.wall()
    end_s = begin_s
    while len(calls_s) < MIN_CALLS or end_s - begin_s < turn_s:
        before_s = clocks.wall()
        job()
        end_s = clocks.wall()
        calls_s.append(end_s - before_s)
    cpu_s = (clocks.cpu() - begin_cpu_s) / len(calls_s)
    return TimedTurn(min(calls_s), statistics.median(calls_s), cpu_s)


# Models and tensors are `Any`: Keras has no types of its own.
KerasJob = Callable[[], object]


class KerasJobs:
    """The jobs of one model, which share one copy of it.

    Args:
        graph: of the model.
        copy: a copy of the model, which is run and changed.
        feed: samples for it; they are in memory when a job begins.
    """

    def __init__(self, graph: Graph, copy: Any, feed: SampleFeed) -> None:
        self._graph, self._model, self._feed = graph, copy, feed

    def call(self, batch: int) -> KerasJob:
        """Return a prediction by `model(x)`, compiled."""
        import tensorflow as tf

        x = self._tensors(batch)
        function = tf.function(lambda given: self._model(given, training=False))
        return lambda: _wait_for(function(x))

    def predict_on_batch(self, batch: int) -> KerasJob:
        """Return a prediction by `model.predict_on_batch(x)`, arrays in and out."""
        x = self._feed.for_model(self._graph, batch)
        return lambda: self._model.predict_on_batch(x)

    def step(self, batch: int) -> KerasJob | None:
        """Return a compiled training step with Adam; None where nothing can be trained.

        The loss is a stand-in that needs no labels: forward pass, gradients and update are what
        takes time. The learning rate is 0, so that every step does the same work.
        """
        import keras
        import tensorflow as tf

        model, x = self._model, self._tensors(batch)
        if not model.trainable_variables:
            return None
        optimizer = keras.optimizers.Adam(0.0)
        optimizer.build(model.trainable_variables)

        def step(given: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = _stand_in(model, given)
            gradients = tape.gradient(loss, model.trainable_variables)
            pairs = zip(gradients, model.trainable_variables, strict=True)
            optimizer.apply_gradients([(g, v) for g, v in pairs if g is not None])
            return loss

        function = tf.function(step)
        return lambda: _wait_for(function(x))

    def _tensors(self, batch: int) -> Any:
        import keras
        import tensorflow as tf

        structure = self._feed.for_model(self._graph, batch)
        return keras.tree.map_structure(tf.convert_to_tensor, structure)


def _stand_in(model: Any, given: Any) -> Any:
    import keras
    import tensorflow as tf

    outputs = keras.tree.flatten(model(given, training=True))
    squares = [tf.reduce_mean(tf.square(tf.cast(one, tf.float32))) for one in outputs]
    return tf.add_n([*squares, *(tf.cast(loss, tf.float32) for loss in model.losses)])


def _wait_for(outputs: Any) -> None:
    """Wait for results: a GPU returns before it has them."""
    import keras

    for one in keras.tree.flatten(outputs):
        one.numpy()


# Arrays are `Any`: they hold numbers of every type.


@dataclass(frozen=True)
class SampleFeed:
    """A few samples, one array per input.

    Args:
        arrays: in the order of the inputs.
        names: the names of the inputs; empty where they are not known.
    """

    arrays: tuple[Any, ...]
    names: tuple[str, ...] = ()

    def rows(self, count: int) -> tuple[Any, ...]:
        """Return a batch of this size; samples come again where there are too few."""
        return tuple(array[np.arange(count) % len(array)] for array in self.arrays)

    def for_model(self, graph: Graph, count: int) -> Any:
        """Return a batch in the structure that a Keras model takes.

        Raises:
            UsageError: it takes other inputs than these.
        """
        arrays = fit_inputs(model_inputs(graph), list(self.rows(count)))
        if arrays is None:
            raise misfit_error(model_inputs(graph), list(self.arrays))
        return Samples(tuple(arrays)).given_to(graph)

    def for_file(self, count: int) -> Any:
        """Return a batch as the runtime of `.tflite` files takes it."""
        rows = self.rows(count)
        return rows[0] if len(rows) == 1 else dict(zip(self.names, rows, strict=True))

    def open_sizes(self, graph: Graph) -> tuple[int, ...] | None:
        """Return the sizes that the samples have where the model leaves them open.

        None where there are none; also where inputs differ in them, and no one answer fits.
        """
        found = {
            tuple(size for size, want in zip(array.shape[1:], shape[1:], strict=True) if not want)
            for array, shape in self._with_shapes(graph)
        } - {()}
        return found.pop() if len(found) == 1 else None

    def _with_shapes(self, graph: Graph) -> list[tuple[Any, tuple[int | None, ...]]]:
        shapes = [graph.shape_of(number) for number in graph.inputs]
        arrays = fit_inputs(model_inputs(graph), list(self.arrays)) or []
        return list(zip(arrays, shapes, strict=False))


def feed_of(graph: Graph | None, samples: Any, count: int) -> SampleFeed:
    """Read samples once, for all candidates.

    Args:
        graph: of a Keras model among them, which tells inputs from labels.
        samples: data of any kind that `samples_of` takes; without a Keras model an array, (x, y),
            or a dict of arrays by input name.
        count: how many to keep at most.

    Raises:
        UsageError: the samples are empty, or do not fit the model.
    """
    if graph is not None:
        return SampleFeed(samples_of(graph, samples, limit=count).arrays, graph.input_names)
    if isinstance(samples, Samples):
        parts: Mapping[str, Any] = {str(n): one for n, one in enumerate(samples.arrays)}
    elif isinstance(samples, Mapping):
        parts = samples
    else:
        parts = {"": samples[0] if isinstance(samples, tuple) and samples else samples}
    arrays = [np.asarray(one) for one in parts.values()]
    if not arrays or any(not one.ndim or not len(one) for one in arrays):
        raise UsageError("The samples are empty: give an array with a sample at least.")
    return SampleFeed(tuple(one[:count] for one in arrays), tuple(parts))


def file_bytes(model: Any) -> int:
    """Return the size of the `.keras` file of a model, with the state of its optimizer if any.

    Args:
        model: not compiled, as a copy is, for the size of the model alone.

    Raises:
        ModelError: it cannot be saved.
    """
    with tempfile.TemporaryDirectory(prefix="quickfit-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a Lambda will not be loaded everywhere
        path = Path(folder) / "model.keras"
        try:
            model.save(path)
        except (OSError, TypeError, ValueError, NotImplementedError) as error:
            raise ModelError(
                f"The model '{model.name}' cannot be saved, so its size is not known "
                f"({type(error).__name__}: {str(error).strip().splitlines()[0] or 'no reason'})."
            ) from error
        return path.stat().st_size


def count_parameters(model: Any) -> int:
    """Return the number of weights of a model."""
    return sum(math.prod(weight.shape) for weight in model.weights)


def weights_bytes(model: Any) -> int:
    """Return what the weights of a model take in memory."""
    return sum(math.prod(one.shape) * _dtype_bytes(str(one.dtype)) for one in model.weights)


def _dtype_bytes(dtype: str) -> int:
    digits = "".join(char for char in dtype if char.isdigit())
    if dtype.startswith("float8"):
        return 1  # float8_e4m3fn
    return max(1, int(digits) // 8) if digits else 1


@contextmanager
def without_tracing_advice() -> Iterator[None]:
    """Hold back the warning that functions are traced often: here each is another model."""
    import tensorflow as tf

    def is_other(record: logging.LogRecord) -> bool:
        return "tf.function retracing" not in record.getMessage()

    logger = tf.get_logger()
    logger.addFilter(is_other)
    try:
        yield
    finally:
        logger.removeFilter(is_other)


# Models are `Any`: Keras has no types of its own.

# Longer than most hiccups of a shared machine; a whole search asks ten times or so.
_STOPWATCH_TURNS = 3


class ModelStopwatch:
    """Tells the seconds of a training step, or of a prediction of one sample.

    The first model it is asked about, the original, stays ready: it is asked about again and again.

    Args:
        samples: what the models read.
        for_training: which of the two.
        clocks: where the time is read.
    """

    def __init__(
        self, samples: Samples, *, for_training: bool, clocks: BenchmarkClocks | None = None
    ) -> None:
        self._samples, self._for_training = samples, for_training
        self._clocks = clocks or BenchmarkClocks()
        self._first: tuple[Any, Job] | None = None

    def __call__(self, model: Any) -> float:
        """Return the shortest time."""
        with without_tracing_advice():
            job = self._job(model)
            turns = [time_job(job, TURN_S, self._clocks) for _ in range(_STOPWATCH_TURNS)]
        return min(turn.fastest_s for turn in turns)

    def _job(self, model: Any) -> Job:
        if self._first is not None and self._first[0] is model:
            return self._first[1]
        job = self._made(model)
        for _ in range(WARM_UPS):
            job()
        if self._first is None:
            self._first = model, job
        return job

    def _made(self, model: Any) -> Job:
        graph = graph_of(model)
        jobs = KerasJobs(graph, rebuild_graph(graph), feed_of(graph, self._samples, max(BATCHES)))
        job = jobs.step(max(BATCHES)) if self._for_training else jobs.call(min(BATCHES))
        if job is None:
            raise ModelError(f"'{graph.name}' has nothing to train, so a step takes no time.")
        return job
