"""What the user asked of `images`, checked: every mistake is told before a file is read."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from quickfit.data.imaging.resizing import RESIZES, Resize
from quickfit.errors import UsageError

DTYPES = ("uint8", "float32", "float16", "bfloat16")
ON_BAD = ("error", "skip")

# A function of a batch, with or without its labels, or a Keras layer.
Augment = Callable[..., Any]


@dataclass(frozen=True)
class Choices:
    """How images become batches; `images` explains each."""

    size: tuple[int, int]
    batch: int
    shuffle: bool
    seed: int | None
    augment: Augment | None
    dtype: str
    scale: tuple[float, float] | None
    resize: Resize
    on_bad: str
    one_hot: bool
    drop_remainder: bool
    shard: tuple[int, int] | None
    repeat: bool

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Height, width and channels of an image."""
        return (*self.size, 3)

    @property
    def image_bytes(self) -> int:
        """The size of a decoded image."""
        return math.prod(self.image_shape)


def checked(options: dict[str, Any]) -> Choices:  # Any: whatever the user gave
    """Return the options of `images` as choices.

    Raises:
        UsageError: one of them makes no sense.
    """
    dtype = _one_of("dtype", _dtype_name(options["dtype"]), DTYPES)
    return Choices(
        size=_size(options["size"]),
        batch=_whole("batch", options["batch"], least=1),
        shuffle=_flag("shuffle", options["shuffle"]),
        seed=None if options["seed"] is None else _whole("seed", options["seed"], least=0),
        augment=_augment(options["augment"]),
        dtype=dtype,
        scale=_scale(options["scale"], dtype),
        resize=cast(Resize, _one_of("resize", options["resize"], RESIZES)),
        on_bad=_one_of("on_bad", options["on_bad"], ON_BAD),
        one_hot=_flag("one_hot", options["one_hot"]),
        drop_remainder=_flag("drop_remainder", options["drop_remainder"]),
        shard=_shard(options["shard"]),
        repeat=_flag("repeat", options["repeat"]),
    )


def checked_split(split: object) -> tuple[float, ...] | None:
    """Return the share of each part; None for one dataset of everything.

    Raises:
        UsageError: they are no shares, or their sum is not 1.
    """
    if split is None:
        return None
    if _is_number(split):
        share = float(cast(float, split))
        shares: tuple[float, ...] = (1 - share, share)
    elif _is_sequence(split) and all(_is_number(share) for share in cast(Sequence[Any], split)):
        shares = tuple(float(share) for share in cast(Sequence[Any], split))
    else:
        raise UsageError(
            f"images(split={split!r}): give the share of the validation part (split=0.2), or the "
            "shares of all parts (split=(0.8, 0.1, 0.1))"
        )
    if len(shares) < 2 or not all(0 < share < 1 for share in shares):
        raise UsageError(
            f"images(split={split!r}): every share must lie between 0 and 1, and two parts at "
            "least are needed, as in split=0.2 or split=(0.8, 0.1, 0.1)"
        )
    if abs(sum(shares) - 1) > 1e-6:
        raise UsageError(f"images(split={split!r}): the shares add up to {sum(shares):g}, not to 1")
    return shares


def check_source(source: object) -> None:
    """Notice images that are no files any more.

    Raises:
        UsageError: the source holds pixels.
    """
    is_list = isinstance(source, list | tuple) and len(source) > 0
    array = cast(Sequence[Any], source)[0] if is_list else source
    shape = getattr(array, "shape", ())
    # One column of paths has one side, a table two; a gray image in a list has two.
    if not hasattr(array, "dtype") or len(shape) < (2 if is_list else 3):
        return
    sides = f"a list of arrays {tuple(shape)}" if is_list else f"an array {tuple(shape)}"
    raise UsageError(
        f"images(): {sides} was given. These are pixels, and images() reads files; use "
        "tf.data.Dataset.from_tensor_slices((pixels, labels)).shuffle(len(pixels)).batch(32)"
    )


def _size(size: object) -> tuple[int, int]:
    pair = (size, size) if _is_whole(size) else size
    if not _is_sequence(pair) or len(cast(Sequence[Any], pair)) != 2:
        raise UsageError(
            f"images(size={size!r}): give height and width in pixels, as size=(224, 224). Every "
            "image of a batch has the same size"
        )
    height, width = cast(Sequence[Any], pair)
    return _whole("size", height, least=1), _whole("size", width, least=1)


def _scale(scale: object, dtype: str) -> tuple[float, float] | None:
    if scale is None:
        return None if dtype == "uint8" else (0.0, 1.0)
    if dtype == "uint8":
        raise UsageError(
            f"images(scale={scale!r}): uint8 holds 0 to 255. Give dtype='float32' with it, or "
            "scale in the model: keras.layers.Rescaling(1 / 255)"
        )
    is_pair = _is_sequence(scale) and len(cast(Sequence[Any], scale)) == 2
    if not is_pair or not all(_is_number(end) for end in cast(Sequence[Any], scale)):
        raise UsageError(
            f"images(scale={scale!r}): give what black and white become, as scale=(-1, 1)"
        )
    low, high = cast(Sequence[Any], scale)
    return float(low), float(high)


def _shard(shard: object) -> tuple[int, int] | None:
    if shard is None:
        return None
    if not _is_sequence(shard) or len(cast(Sequence[Any], shard)) != 2:
        raise UsageError(f"images(shard={shard!r}): give (index, count), as shard=(0, 4)")
    index, count = (_whole("shard", part, least=0) for part in cast(Sequence[Any], shard))
    if index >= count:
        raise UsageError(
            f"images(shard={shard!r}): of {count} workers the index goes from 0 to {count - 1}"
        )
    return index, count


def _augment(augment: object) -> Augment | None:
    if augment is None or callable(augment):
        return augment
    raise UsageError(
        f"images(augment={augment!r}): give a function of a batch of images, or a Keras layer"
    )


def _dtype_name(dtype: object) -> object:
    """Return the name of a dtype given as `tf.float32` or `np.float32`."""
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None)
    return name if isinstance(name, str) else dtype


def _one_of(name: str, value: object, known: Sequence[str]) -> str:
    if isinstance(value, str) and value in known:
        return value
    choices = ", ".join(repr(choice) for choice in known)
    raise UsageError(f"images({name}={value!r}): it can be one of {choices}")


def _whole(name: str, value: object, *, least: int) -> int:
    if _is_whole(value) and int(cast(int, value)) >= least:
        return int(cast(int, value))
    raise UsageError(f"images({name}={value!r}): it must be a whole number, {least} or more")


def _flag(name: str, value: object) -> bool:
    # NumPy's own, which `isinstance(value, bool)` does not know.
    if type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    raise UsageError(f"images({name}={value!r}): it must be True or False")


def _is_whole(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    is_real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return is_real and math.isfinite(float(cast(float, value)))


def _is_sequence(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)
