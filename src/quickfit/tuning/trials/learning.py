"""How far a training comes: the loss on fixed samples before and after it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from quickfit.tuning.numerics.own_steps import has_own_step, heard, optimizers_of
from quickfit.tuning.numerics.replay import unchanged
from quickfit.tuning.trials import batch_elements
from quickfit.tuning.trials.answers import Learned
from quickfit.tuning.trials.assembling import Assembled
from quickfit.tuning.trials.link import Link
from quickfit.tuning.trials.seeds import begin_anew

# The loss is evaluated on no more than this: enough to compare, and soon done.
JUDGED_SAMPLES = 1024
_JUDGED_BYTES = 1 << 28
# A step of the user's own is asked eagerly, which takes longer.
ASKED_SAMPLES = 256
# How models refuse what they are not made for.
_REFUSALS = (ValueError, TypeError, AttributeError, NotImplementedError)


def learn(samples: int, fresh: Assembled, trained: Any, link: Link) -> Learned:
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
    before = _judged(model, judged)
    begin_anew()
    model.make_train_function()
    told = _Told(model.train_function, link)
    model.train_function = told
    model.fit(**fresh.feed.exactly(steps), epochs=1, verbose=0)
    after = _judged(model, judged)
    if math.isnan(before):
        before, after = told.losses()
    return Learned(steps * fresh.feed.batch, before, after)


def take_state(source: Any, target: Any) -> bool:
    """Give a model the weights and the optimizer's state of another; False if they differ."""
    if not (source.built and target.built):
        return False
    _build_optimizers(source)
    pairs = list(zip(_variables(source), _variables(target), strict=False))
    if len(_variables(source)) != len(_variables(target)):
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
    with unchanged(model, model.optimizer), heard(optimizers_of(model, model.optimizer), []):
        for batch in judged:
            model.reset_metrics()
            try:
                loss = _loss_in(type(model).train_step(model, batch))
            except (*_REFUSALS, tf.errors.OpError):
                return float("nan")  # a step may need a graph around it
            count = batch_elements.rows(batch)
            total, rows = total + loss * count, rows + count
            if rows >= ASKED_SAMPLES:
                break
    return total / rows if rows else float("nan")


def _judged(model: Any, judged: Any) -> float:
    evaluated = loss_of(model, judged)
    return own_loss(model, judged) if math.isnan(evaluated) else evaluated


def _build_optimizers(model: Any) -> None:
    optimizer = model.optimizer
    if optimizer is not None and not optimizer.built:
        optimizer.build(model.trainable_variables)


def _variables(model: Any) -> list[Any]:
    kept = [variable for one in optimizers_of(model, model.optimizer) for variable in one.variables]
    return [*model.variables, *kept]


class _Told:
    """A train function that keeps what its first and its last call told."""

    def __init__(self, function: Callable[[Any], Any], link: Link) -> None:
        self._function = function
        self._link = link
        self._first: Any = None
        self._last: Any = None

    def __call__(self, iterator: Any) -> Any:
        self._last = self._function(iterator)
        self._first = self._first or self._last
        self._link.live()
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
