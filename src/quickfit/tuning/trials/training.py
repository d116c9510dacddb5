"""One long `fit` that does a block of steps on command and waits in between."""

from __future__ import annotations

import dataclasses
import math
import time
from typing import Any

from quickfit.errors import ModelError
from quickfit.tuning.trials import memory
from quickfit.tuning.trials.answers import Ready
from quickfit.tuning.trials.assembling import Assembled
from quickfit.tuning.trials.link import Link
from quickfit.tuning.trials.odometer import Odometer, Pace
from quickfit.tuning.trials.pacing import (
    BlockWatch,
    FirstCalls,
    counted_samples,
    device_peak_bytes,
)

# No command comes after so many epochs.
_EPOCHS = 10**9


class Training:
    """The training of one trial.

    The train function of the model is wrapped, not watched by a callback: a callback that is
    called after each batch makes Keras wait for the values of each step, which `fit` without
    callbacks does not do.

    Args:
        assembled: what to train.
        link: where commands come from and answers go to.
    """

    def __init__(self, assembled: Assembled, link: Link) -> None:
        self.model, self._feed = assembled
        self._link = link
        self._steps = int(self.model.steps_per_execution or 1)
        pace = Pace(self._feed.batch, self._steps, self._feed.samples)
        self._odometer = Odometer(pace, counted_samples(self.model))
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
        self._link.live()
        return logs

    def _do_first(self, took_s: float) -> None:
        assert self._first is not None
        if not self._first.call(took_s):
            return
        self._link.answer("ready", dataclasses.asdict(self._ready(self._first)))
        self._first = None
        self._link.enter("training")
        self._obey(self._link.command())

    def _ready(self, first: FirstCalls) -> Ready:
        return Ready(
            batch=self._feed.batch,
            samples=self._feed.samples,
            compile_s=self._rest_s + first.compile_s(self._feed.first_s),
            step_s=first.call_s / self._steps,
            parameters=int(self.model.count_params()),
            peak_bytes=device_peak_bytes() or memory.peak_bytes(),
            data_kind=self._feed.kind,
            is_nan=_is_nan(self._first_logs),
            own=_own(self.model, self._steps),
            **_optimizer(self.model),
            **self._known,
        )

    def _obey(self, command: dict[str, Any]) -> None:
        self._block = None
        if command["do"] == "run":
            self._block = BlockWatch(command["steps"], self._odometer)
        else:
            self._left = command
            self.model.stop_training = True


def _own(model: Any, steps: int) -> dict[str, Any]:
    """Return what a model was compiled with, by the names of `Setting`."""
    policy = getattr(getattr(model, "dtype_policy", None), "name", None)
    return {"jit": bool(model.jit_compile), "steps_per_execution": steps, "policy": policy}


def _is_nan(logs: Any) -> bool:
    """Return whether a step told a loss that is not a number."""
    try:
        return isinstance(logs, dict) and "loss" in logs and math.isnan(float(logs["loss"]))
    except (TypeError, ValueError):
        return False  # a model of its own kind may tell anything


def _optimizer(model: Any) -> dict[str, Any]:
    """Return the name and the learning rate of an optimizer of Keras, as far as they are plain."""
    import keras

    optimizer = getattr(model.optimizer, "inner_optimizer", model.optimizer)
    name = type(optimizer).__name__
    if getattr(keras.optimizers, name, None) is not type(optimizer):
        return {}
    rate = optimizer.get_config().get("learning_rate")
    return {"optimizer": name, "learning_rate": rate if isinstance(rate, float) else None}
