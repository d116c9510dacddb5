"""Numbers for chance that depend on the item alone, not on the worker that handles it."""

from __future__ import annotations

import random
import secrets
from collections.abc import Sequence

import numpy as np

_WORD = (1 << 64) - 1


def drawn() -> int:
    """Return a seed for those who gave none."""
    return secrets.randbits(63)


def mixed(seed: int, epoch: int, index: int) -> int:
    """Return 64 bits that differ for every item of every epoch, and are the same again each run."""
    value = seed & _WORD
    for part in (epoch, index):
        # The step and the two multipliers of SplitMix64 (Steele, Lea and Flood 2014).
        value = (value + (part + 1) * 0x9E3779B97F4A7C15) & _WORD
        value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
        value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _WORD
        value ^= value >> 31
    return value


def order(count: int, *, seed: int, epoch: int, shuffle: bool) -> Sequence[int]:
    """Return the items of an epoch in their order, each exactly once."""
    if not shuffle:
        return range(count)
    drawer = np.random.default_rng(mixed(seed, epoch, count))
    permuted: list[int] = drawer.permutation(count).tolist()
    return permuted


def seed_all(value: int) -> None:
    """Seed Python's and NumPy's shared sources of chance in this process."""
    random.seed(value)
    np.random.seed(value & 0xFFFFFFFF)
