"""The constraint of magnitude pruning: it runs in the training step itself, after each update.

A model saved in the middle of pruning needs this module imported before it is loaded.
"""

from __future__ import annotations

import math
from typing import Any

# A subclass needs its base. Nothing imports this module but functions that have a model already.
import keras  # noqa: TID253

# Sorting the weights in every step would cost more than the step; between two sorts the same
# weights stay zero.
EVERY = 10


@keras.saving.register_keras_serializable(package="quickfit")
class SmallestToZero(keras.constraints.Constraint):  # type: ignore[misc]
    """Keeps the smallest weights of a kernel at zero, more and more of them.

    Args:
        sparsity: the share of zeros at the end, 0 to 1.
        begin: the step at which the first weights go.
        end: the step from which on it is this share and these weights.
        shape: of the kernel.
        step: how many updates there were already.
        first: another constraint that is applied before.
    """

    def __init__(
        self,
        sparsity: float,
        begin: int,
        end: int,
        shape: Any,
        step: int = 0,
        first: Any = None,
    ) -> None:
        self.sparsity, self.begin, self.end = float(sparsity), int(begin), int(end)
        self.shape = tuple(int(size) for size in shape)
        self.first = keras.constraints.get(first)
        self.step = keras.Variable(step, dtype="int64", trainable=False, name="step")
        self.kept = keras.Variable(
            "ones", shape=self.shape, dtype="bool", trainable=False, name="kept"
        )
        # A model that was loaded has its zeros, but not this variable.
        self.is_known = keras.Variable(False, dtype="bool", trainable=False, name="is_known")

    def __call__(self, w: Any) -> Any:
        """Return the weights with the smallest ones at zero, as many as this step asks for."""
        weights = keras.ops.convert_to_tensor(w if self.first is None else self.first(w))
        step = keras.ops.convert_to_tensor(self.step)
        kept = keras.ops.cond(
            self._is_due(step),
            lambda: self._largest(weights, step),
            lambda: keras.ops.convert_to_tensor(self.kept),
        )
        self.kept.assign(kept)
        self.is_known.assign(True)
        self.step.assign_add(1)
        return keras.ops.where(kept, weights, keras.ops.zeros_like(weights))

    def share_at(self, step: Any) -> Any:
        """Return the share of zeros of a step: it grows fast at first, then ever more slowly."""
        length = max(1, self.end - self.begin)
        done = keras.ops.cast(step - self.begin, "float32") / length
        left = 1.0 - keras.ops.clip(done, 0.0, 1.0)
        return self.sparsity * (1.0 - left**3)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make another one that goes on from here."""
        return {
            "sparsity": self.sparsity,
            "begin": self.begin,
            "end": self.end,
            "shape": self.shape,
            "step": int(self.step.numpy()),
            "first": keras.constraints.serialize(self.first) if self.first else None,
        }

    def _is_due(self, step: Any) -> Any:
        is_between = keras.ops.logical_and(step >= self.begin, step <= self.end)
        is_turn = keras.ops.logical_or((step - self.begin) % EVERY == 0, step == self.end)
        is_lost = keras.ops.logical_and(
            step >= self.begin, keras.ops.logical_not(keras.ops.convert_to_tensor(self.is_known))
        )
        return keras.ops.logical_or(keras.ops.logical_and(is_between, is_turn), is_lost)

    def _largest(self, weights: Any, step: Any) -> Any:
        """Return which weights stay. By rank, so that equal weights do not all go at once."""
        count = math.prod(self.shape)
        zeros = keras.ops.cast(keras.ops.round(self.share_at(step) * count), "int32")
        order = keras.ops.argsort(keras.ops.reshape(keras.ops.abs(weights), (-1,)))
        rank = keras.ops.cast(keras.ops.argsort(order), "int32")
        return keras.ops.reshape(rank >= zeros, self.shape)
