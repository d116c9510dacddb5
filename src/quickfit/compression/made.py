"""What a transformation of a model gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import keras


@dataclass(frozen=True)
class Skipped:
    """A layer that was left as it is."""

    layer: str
    reason: str


@dataclass(frozen=True)
class Made:
    """A new model; the one it was made from is untouched.

    Args:
        model: the new one, not compiled unless it says so.
        notes: what a person should know about it.
        skipped: layers that were left as they are.
    """

    model: keras.Model
    notes: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
