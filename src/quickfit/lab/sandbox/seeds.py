"""Makes the random numbers of a run the same each time, as far as the script leaves them open."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable
from types import ModuleType
from typing import Any

Patch = Callable[[ModuleType], None]


def start(seed: int) -> None:
    """Seed Python's own random numbers; Keras takes the seeds it is not given from them."""
    random.seed(seed)


def patches(seed: int) -> dict[str, Patch]:
    """Return what to seed after which import."""
    return {
        "numpy.random": functools.partial(_seed_numpy, seed),
        "tensorflow.python.framework.random_seed": functools.partial(_seed_tensorflow, seed),
    }


def _seed_numpy(seed: int, module: ModuleType) -> None:
    module.seed(seed)
    original, numbers = module.default_rng, itertools.count(seed)

    @functools.wraps(original)
    def default_rng(seed: Any = None) -> Any:
        return original(next(numbers) if seed is None else seed)

    module.default_rng = default_rng  # type: ignore[attr-defined]


def _seed_tensorflow(seed: int, module: ModuleType) -> None:
    # TensorFlow is still being imported; the seed is asked for when the first number is drawn.
    original = module.get_seed
    is_set: list[bool] = []

    @functools.wraps(original)
    def get_seed(op_seed: Any) -> Any:
        if not is_set:
            is_set.append(True)
            if _is_unset(module):
                module.set_seed(seed)
        return original(op_seed)

    module.get_seed = get_seed  # type: ignore[attr-defined]


def _is_unset(module: ModuleType) -> bool:
    context = module.context
    is_eager = context.executing_eagerly() or context.context_safe() is not None
    return not is_eager or context.global_seed() is None
