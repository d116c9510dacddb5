"""Functions compiled by TensorFlow, and what it says when XLA cannot compile one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from quickfit.errors import UsageError


def compiled(function: Callable[..., Any], *, jit: bool = False) -> Any:
    """Return a function as a graph that is traced once per kind of input, not per size.

    AutoGraph is off, as in `fit`: layers and losses use `keras.ops.cond` for their branches.
    """
    import tensorflow as tf

    return tf.function(
        # TensorFlow warns of retracing by the function's code, which all steps share.
        partial(function),
        autograph=False,
        reduce_retracing=True,
        jit_compile=True if jit else None,
    )


@contextmanager
def explained(*, jit: bool) -> Iterator[None]:
    """Say what to do where XLA refuses an operation of the model."""
    import tensorflow as tf

    try:
        yield
    except (tf.errors.InvalidArgumentError, tf.errors.UnimplementedError) as error:
        if not jit or not _is_refusal(str(error)):
            raise
        first = str(error).strip().splitlines()[0]
        raise UsageError(
            f"XLA cannot compile this model's step: {first[:400]}\nMake the step with jit=False."
        ) from error


def _is_refusal(message: str) -> bool:
    return "XLA" in message or "compilation device" in message
