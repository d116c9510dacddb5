"""One long `fit` that trains a block of steps on command, measured, and what it learned."""

from __future__ import annotations

import dataclasses
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quickfit.errors import ModelError
from quickfit.tuning.numerics.nan_search import has_own_step, optimizers_of, record_updates
from quickfit.tuning.numerics.nan_step import restore_variables
from quickfit.tuning.trials import batch_elements, resources
from quickfit.tuning.trials.building import AssembledTraining
from quickfit.tuning.trials.feeds import reset_seeds
from quickfit.tuning.trials.settings import TrialBlock, TrialLearned, TrialReady

if TYPE_CHECKING:
    from quickfit.lab.child_side import ParentLink

# No command comes after so many epochs.
_EPOCHS = 10**9


class PacedTraining:
    """The training of one trial.

    The train function of the model is wrapped, not watched by a callback: a callback that is
    called after each batch makes Keras wait for the values of each step, which `fit` without
    callbacks does not do.

    Args:
        assembled: what to train.
        link: where commands come from and answers go to.
    """

    def __init__(self, assembled: AssembledTraining, link: ParentLink) -> None:
        self.model, self._feed = assembled
        self._link = link
        self._steps = int(self.model.steps_per_execution or 1)
        pace = CallPace(self._feed.batch, self._steps, self._feed.samples)
        self._odometer = StepCounter(pace, counted_samples(self.model))
        self._first: FirstCalls | None = FirstCalls()
        self._first_logs: Any = None
        self._block: BlockWatch | None = None
        self._known: dict[str, Any] = {}
        self._rest_s = 0.0
        self._left: dict[str, Any] = {}
        self.model.make_train_function()
        self._function = self.model.train_function

    def begin(self, build_s: float, base_bytes: int) -> dict[str, Any]:
        """Do the first steps, then blocks; return the first command that asks for something else.

        Args:
            build_s: what it took to build.
            base_bytes: the memory that was held before.
        """
        self._known = {"build_s": build_s, "base_bytes": base_bytes}
        self._rest_s = self._do_rest()
        return self._fit()

    def go_on(self, command: dict[str, Any]) -> dict[str, Any]:
        """Do blocks; return the first command that asks for something else."""
        self._obey(command)
        return self._fit()

    def bare_function(self) -> None:
        """Give the model its own train function back, for trainings that are not in blocks."""
        self.model.train_function = self._function

    def _do_rest(self) -> float:
        """Let XLA compile the smaller last batch of an epoch; return what that took.

        It compiles each shape by itself, and would do so in the middle of a block.
        """
        rest = self._feed.rest() if self.model.jit_compile else None
        if rest is None:
            return 0.0
        began_s = time.perf_counter()
        self.model.fit(**rest, verbose=0)
        return time.perf_counter() - began_s

    def _fit(self) -> dict[str, Any]:
        import keras

        self.model.train_function = self._paced
        epochs = keras.callbacks.LambdaCallback(on_epoch_end=self._end_epoch)
        self.model.fit(**self._feed.arguments(), epochs=_EPOCHS, callbacks=[epochs])
        return self._left

    def _end_epoch(self, epoch: int, logs: Any) -> None:
        if self._odometer.is_idle:
            raise ModelError(
                f"epoch {epoch + 1} had not a single batch: the data end after one pass, or "
                f"drop_remainder=True drops everything at a batch of {self._feed.batch:,}."
            )
        self._odometer.end_epoch()

    def _paced(self, iterator: Any) -> Any:
        began_s = time.perf_counter()
        logs = self._function(iterator)
        self._odometer.call()
        if self._first is not None:
            self._first_logs = self._first_logs or logs
            self._do_first(time.perf_counter() - began_s)
        elif self._block is not None:
            block = self._block.call(self._steps)
            if block is not None:
                self._link.answer("block", dataclasses.asdict(block))
                self._obey(self._link.command())
        self._link.say_alive()
        return logs

    def _do_first(self, took_s: float) -> None:
        assert self._first is not None
        if not self._first.call(took_s):
            return
        self._link.answer("ready", dataclasses.asdict(self._ready(self._first)))
        self._first = None
        self._link.enter("training")
        self._obey(self._link.command())

    def _ready(self, first: FirstCalls) -> TrialReady:
        return TrialReady(
            batch=self._feed.batch,
            samples=self._feed.samples,
            compile_s=self._rest_s + first.compile_s(self._feed.first_s),
            step_s=first.call_s / self._steps,
            parameters=int(self.model.count_params()),
            peak_bytes=device_peak_bytes() or resources.peak_bytes(),
            data_kind=self._feed.kind,
            is_nan=_is_nan(self._first_logs),
            own=_compiled_setting(self.model, self._steps),
            **_optimizer_facts(self.model),
            **self._known,
        )

    def _obey(self, command: dict[str, Any]) -> None:
        self._block = None
        if command["do"] == "run":
            self._block = BlockWatch(command["steps"], self._odometer)
        else:
            self._left = command
            self.model.stop_training = True


def _compiled_setting(model: Any, steps: int) -> dict[str, Any]:
    """Return what a model was compiled with, by the names of `Setting`."""
    policy = getattr(getattr(model, "dtype_policy", None), "name", None)
    return {"jit": bool(model.jit_compile), "steps_per_execution": steps, "policy": policy}


def _is_nan(logs: Any) -> bool:
    """Return whether a step told a loss that is not a number."""
    try:
        return isinstance(logs, dict) and "loss" in logs and math.isnan(float(logs["loss"]))
    except (TypeError, ValueError):
        return False  # a model of its own kind may tell anything


def _optimizer_facts(model: Any) -> dict[str, Any]:
    """Return the name and the learning rate of an optimizer of Keras, as far as they are plain."""
    import keras

    optimizer = getattr(model.optimizer, "inner_optimizer", model.optimizer)
    name = type(optimizer).__name__
    if getattr(keras.optimizers, name, None) is not type(optimizer):
        return {}
    rate = optimizer.get_config().get("learning_rate")
    return {"optimizer": name, "learning_rate": rate if isinstance(rate, float) else None}


# After a pause caches are cold: the first moments of a block do not count.
SETTLE_S = 0.1
# Calls after the first one that tell how long a call takes: enough for a median, and no more
# than a moment of a slow model.
_ENOUGH_CALLS = 20
_FEW_CALLS = 3
_ENOUGH_S = 0.2
_TOO_LONG_S = 3.0


@dataclass(frozen=True)
class BlockClocks:
    """Where times come from.

    Args:
        wall: seconds that never go back.
        cpu: CPU seconds of this process, all threads.
    """

    wall: Callable[[], float] = time.perf_counter
    cpu: Callable[[], float] = time.process_time


class FirstCalls:
    """The first calls of a train function: one that traces and compiles, and some later ones."""

    def __init__(self) -> None:
        self._took_s: list[float] = []

    def call(self, took_s: float) -> bool:
        """Take in one call; return whether that is enough of them."""
        self._took_s.append(took_s)
        later = self._took_s[1:]
        if not later:
            return False
        long = sum(later)
        is_enough = len(later) >= _FEW_CALLS and long >= _ENOUGH_S
        return is_enough or len(later) >= _ENOUGH_CALLS or long >= _TOO_LONG_S

    @property
    def call_s(self) -> float:
        """What a later call takes."""
        return statistics.median(self._took_s[1:])

    def compile_s(self, first_batch_s: float) -> float:
        """Return what the first call took beyond a later one and beyond waiting for its data."""
        return max(self._took_s[0] - self.call_s - first_batch_s, 0.0)


@dataclass(frozen=True)
class _ClockMark:
    travelled: TrainedDistance
    wall_s: float
    cpu_s: float


class BlockWatch:
    """Measures one block of steps.

    Args:
        steps: how many are wanted.
        odometer: counts them.
        clocks: where times come from.
    """

    def __init__(
        self, steps: int, odometer: StepCounter, clocks: BlockClocks | None = None
    ) -> None:
        self._steps = steps
        self._odometer = odometer
        self._clocks = clocks or BlockClocks()
        self._resumed_s = self._clocks.wall()
        self._began: _ClockMark | None = None
        self._calls = 0
        resources.forget_peak()

    def call(self, steps: int) -> TrialBlock | None:
        """Take in one call of so many steps at most; return the block when it is complete."""
        if self._began is None:
            if self._clocks.wall() - self._resumed_s >= SETTLE_S:
                self._began = self._mark()
            return None
        self._calls += steps
        return self._block(self._began) if self._calls >= self._steps else None

    def _block(self, began: _ClockMark) -> TrialBlock | None:
        ended = self._mark()
        way = ended.travelled.since(began.travelled)
        if way.steps < self._steps:
            self._calls = way.steps  # calls at the end of an epoch were cut short
            return None
        return TrialBlock(
            steps=way.steps,
            samples=way.samples,
            wall_s=ended.wall_s - began.wall_s,
            cpu_s=ended.cpu_s - began.cpu_s,
            peak_bytes=device_peak_bytes() or resources.peak_bytes(),
        )

    def _mark(self) -> _ClockMark:
        # Reading waits for the device, so it comes before the clocks.
        travelled = self._odometer.read()
        return _ClockMark(travelled, self._clocks.wall(), self._clocks.cpu())


def device_peak_bytes() -> int:
    """Return the most memory that was held on the first GPU, or 0 without one."""
    import tensorflow as tf

    if not tf.config.list_physical_devices("GPU"):
        return 0
    peak = int(tf.config.experimental.get_memory_info("GPU:0")["peak"])
    tf.config.experimental.reset_memory_stats("GPU:0")
    return peak


def counted_samples(model: Any) -> Callable[[], float]:  # Any: Keras tells no types
    """Return a function that reads what the model's tracker of the loss has counted."""

    def counted() -> float:
        variable = getattr(getattr(model, "_loss_tracker", None), "count", None)
        return 0.0 if variable is None else float(variable.numpy())

    return counted


@dataclass(frozen=True)
class TrainedDistance:
    """How far a training has come."""

    steps: int
    samples: int

    def since(self, earlier: TrainedDistance) -> TrainedDistance:
        """Return the way from an earlier reading to this one."""
        return TrainedDistance(self.steps - earlier.steps, self.samples - earlier.samples)


@dataclass(frozen=True)
class CallPace:
    """What one call of the train function feeds.

    Args:
        batch: samples per step.
        steps: per call.
        epoch_samples: in one epoch; None where nobody knows.
    """

    batch: int
    steps: int
    epoch_samples: int | None


class StepCounter:
    """Adds up what was trained on.

    A call runs fewer steps, and a step has fewer samples, where an epoch ends. Keras's own
    tracker of the loss counts the samples of an epoch; a model with its own `train_step` may
    leave that at zero, and older versions count steps in it: then calls are counted.

    Args:
        pace: what a call feeds when nothing is cut short.
        counted: returns what the tracker of the loss has counted in this epoch.
    """

    def __init__(self, pace: CallPace, counted: Callable[[], float]) -> None:
        self._pace = pace
        self._counted = counted
        self._before = TrainedDistance(0, 0)
        self._calls = 0

    @property
    def is_idle(self) -> bool:
        """Whether nothing was done in this epoch."""
        return self._calls == 0

    def call(self) -> None:
        """Count one call of the train function."""
        self._calls += 1

    def end_epoch(self) -> None:
        """Begin to count the next epoch."""
        self._before = self.read()
        self._calls = 0

    def read(self) -> TrainedDistance:
        """Return all steps and samples so far; waits for the device to have done them."""
        epoch = self._epoch()
        return TrainedDistance(
            self._before.steps + epoch.steps, self._before.samples + epoch.samples
        )

    def _epoch(self) -> TrainedDistance:
        pace = self._pace
        steps = self._calls * pace.steps
        most = steps * pace.batch
        told = round(self._counted()) if steps else 0
        if not (steps < told <= most or (pace.batch == 1 and 0 < told <= most)):
            told = min(most, pace.epoch_samples or most)
        least_steps = steps - pace.steps + 1
        return TrainedDistance(min(max(-(-told // pace.batch), least_steps), steps), told)


# The loss is evaluated on no more than this: enough to compare, and soon done.
JUDGED_SAMPLES = 1024
_JUDGED_BYTES = 1 << 28
# A step of the user's own is asked eagerly, which takes longer.
ASKED_SAMPLES = 256
# How models refuse what they are not made for.
_REFUSALS = (ValueError, TypeError, AttributeError, NotImplementedError)


def learn_and_compare(
    samples: int, fresh: AssembledTraining, trained: Any, link: ParentLink
) -> TrialLearned:
    """Train from the first weights and compare the loss.

    A model with its own `train_step` may have no loss to evaluate: then its step is asked, and
    makes no update. Where that fails, the loss counts that its training told first and last.

    Args:
        samples: to train on, rounded up to whole steps.
        fresh: the same model and data, made anew; the data untouched.
        trained: the model that has been trained: where it can take the first weights of the
            fresh one it is used, because it is compiled already.
        link: is told that the work goes on.
    """
    elements = batch_elements.first_rows(fresh.feed.batches(), JUDGED_SAMPLES, _JUDGED_BYTES)
    judged = batch_elements.as_dataset(list(elements))
    model = trained if take_state(fresh.model, trained) else fresh.model
    steps = -(-samples // fresh.feed.batch)
    before = _judge_model(model, judged)
    reset_seeds()
    model.make_train_function()
    told = _LossRecorder(model.train_function, link)
    model.train_function = told
    model.fit(**fresh.feed.exactly(steps), epochs=1, verbose=0)
    after = _judge_model(model, judged)
    if math.isnan(before):
        before, after = told.losses()
    return TrialLearned(steps * fresh.feed.batch, before, after)


def take_state(source: Any, target: Any) -> bool:
    """Give a model the weights and the optimizer's state of another; False if they differ."""
    if not (source.built and target.built):
        return False
    _build_optimizers(source)
    pairs = list(zip(_model_variables(source), _model_variables(target), strict=False))
    if len(_model_variables(source)) != len(_model_variables(target)):
        return False
    if any(one.shape != other.shape or one.dtype != other.dtype for one, other in pairs):
        return False
    for one, other in pairs:
        other.assign(one)
    return True


def loss_of(model: Any, judged: Any) -> float:
    """Return the loss on some batches, or NaN for a model that cannot be evaluated."""
    jit = model.jit_compile
    # What is evaluated twice is not worth compiling with XLA.
    model.jit_compile = False
    model.test_function = None
    try:
        found = model.evaluate(judged, verbose=0, return_dict=True)
    except _REFUSALS:
        return float("nan")  # a model with its own train_step need not have a loss to evaluate
    finally:
        model.jit_compile = jit
    return float(found.get("loss", float("nan")))


def own_loss(model: Any, judged: Any) -> float:
    """Return the loss that a `train_step` of the user's own tells, or NaN; nothing is updated."""
    import tensorflow as tf

    if not has_own_step(model):
        return float("nan")
    total, rows = 0.0, 0
    with (
        restore_variables(model, model.optimizer),
        record_updates(optimizers_of(model, model.optimizer), []),
    ):
        for batch in judged:
            model.reset_metrics()
            try:
                loss = _loss_in(type(model).train_step(model, batch))
            except (*_REFUSALS, tf.errors.OpError):
                return float("nan")  # a step may need a graph around it
            count = batch_elements.batch_rows(batch)
            total, rows = total + loss * count, rows + count
            if rows >= ASKED_SAMPLES:
                break
    return total / rows if rows else float("nan")


def _judge_model(model: Any, judged: Any) -> float:
    evaluated = loss_of(model, judged)
    return own_loss(model, judged) if math.isnan(evaluated) else evaluated


def _build_optimizers(model: Any) -> None:
    optimizer = model.optimizer
    if optimizer is not None and not optimizer.built:
        optimizer.build(model.trainable_variables)


def _model_variables(model: Any) -> list[Any]:
    kept = [variable for one in optimizers_of(model, model.optimizer) for variable in one.variables]
    return [*model.variables, *kept]


class _LossRecorder:
    """A train function that keeps what its first and its last call told."""

    def __init__(self, function: Callable[[Any], Any], link: ParentLink) -> None:
        self._function = function
        self._link = link
        self._first: Any = None
        self._last: Any = None

    def __call__(self, iterator: Any) -> Any:
        self._last = self._function(iterator)
        self._first = self._first or self._last
        self._link.say_alive()
        return self._last

    def losses(self) -> tuple[float, float]:
        """Return the loss that the training itself told first and last, or NaN."""
        return _loss_in(self._first), _loss_in(self._last)


def _loss_in(logs: Any) -> float:
    if not isinstance(logs, dict) or not logs:
        return float("nan")
    found = logs.get("loss", next(iter(logs.values())))
    try:
        return float(found)
    except (TypeError, ValueError):
        return float("nan")
