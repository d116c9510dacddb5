"""The options of `records`, checked: every wrong value is an error that says what is right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from quickfit.data.reading.rows import RESIZES, Resize
from quickfit.errors import UsageError

DTYPES = ("uint8", "float32", "float16", "bfloat16")


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the user asked of `records`; the meaning of each is told there."""

    batch: int
    shuffle: bool | int
    seed: int | None
    size: tuple[int, int] | None
    resize: Resize
    shard: tuple[int, int]
    cache: object
    dtype: str
    scale: tuple[float, float] | None
    augment: Callable[..., Any] | None  # the user's function, or a layer
    on_bad: str
    drop_remainder: bool
    one_hot: bool | int
    repeat: bool

    @property
    def skips(self) -> bool:
        """Whether damaged records are left out."""
        return self.on_bad == "skip"

    @property
    def is_reproducible(self) -> bool:
        """Whether batches must come in one order."""
        return not self.shuffle or self.seed is not None


def checked(**given: Any) -> Options:  # whatever the user gave
    """Return the options.

    Raises:
        UsageError: a value cannot be.
    """
    _one_of("resize", given["resize"], RESIZES)
    _one_of("dtype", given["dtype"], DTYPES)
    _one_of("on_bad", given["on_bad"], ("error", "skip"))
    _whole("batch", given["batch"], 1)
    if given["seed"] is not None:
        _whole("seed", given["seed"], 0)
    if not isinstance(given["shuffle"], bool):
        _whole("shuffle", given["shuffle"], 1)
    if not isinstance(given["one_hot"], bool):
        _whole("one_hot", given["one_hot"], 2)
    if given["augment"] is not None and not callable(given["augment"]):
        raise UsageError(
            f"records(augment={given['augment']!r}): it must be a function of a batch of images, "
            "or a Keras layer."
        )
    values = given | {"size": _size(given["size"]), "shard": _shard(given["shard"])}
    return Options(**values | {"scale": _scale(given["scale"], given["dtype"])})


def _one_of(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise UsageError(
            f"records({name}={value!r}): choose one of {', '.join(map(repr, choices))}."
        )


def _whole(name: str, value: object, least: int) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or value.__index__() < least:
        raise UsageError(f"records({name}={value!r}): it must be a whole number from {least:,} on.")
    return int(value.__index__())


def _size(size: object) -> tuple[int, int] | None:
    if size is None:
        return None
    sides = size if isinstance(size, tuple | list) else (size, size)
    if len(sides) != 2:
        raise UsageError(
            f"records(size={size!r}): give height and width, size=(224, 224), or one number."
        )
    return _whole("size", sides[0], 1), _whole("size", sides[1], 1)


def _shard(shard: object) -> tuple[int, int]:
    if shard is None:
        return 0, 1
    if not isinstance(shard, tuple | list) or len(shard) != 2:
        raise UsageError(
            f"records(shard={shard!r}): give the number of this worker, from 0, and how many "
            "there are: shard=(0, 4)."
        )
    index, count = _whole("shard", shard[0], 0), _whole("shard", shard[1], 1)
    if index >= count:
        raise UsageError(
            f"records(shard={shard!r}): the last of {count} workers is "
            f"shard=({count - 1}, {count})."
        )
    return index, count


def _scale(scale: object, dtype: object) -> tuple[float, float] | None:
    if scale is None:
        return None
    if dtype == "uint8":
        raise UsageError(
            f"records(scale={scale!r}): uint8 has no room for it. Ask for floats with "
            "dtype='float32', or scale on the device: keras.layers.Rescaling(1 / 255)."
        )
    numbers = scale if isinstance(scale, tuple | list) else ()
    if len(numbers) != 2 or not all(isinstance(number, int | float) for number in numbers):
        raise UsageError(
            f"records(scale={scale!r}): give the values of black and white, scale=(-1, 1)."
        )
    return float(numbers[0]), float(numbers[1])
