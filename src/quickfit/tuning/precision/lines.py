"""The lines that put a dtype policy into a script."""

from __future__ import annotations

_HEAD = 'keras.layers.Dense(classes, activation="softmax", dtype="float32")  # the last layer'
_SCALED = (
    "# fit scales the loss by itself then. In a loop of your own:\n"
    "optimizer = keras.optimizers.LossScaleOptimizer(optimizer)  # and optimizer.scale_loss(loss)"
)


def lines_for(policy: str) -> list[str]:
    """Return the lines to paste for a policy."""
    first = f'keras.config.set_dtype_policy("{policy}")  # before the model is built'
    if policy == "float32":
        return [f"{first}; and no dtype= on layers"]
    return [first, _HEAD, *(_SCALED.splitlines() if policy == "mixed_float16" else [])]
