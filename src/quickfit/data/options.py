"""The options of `images`, `records` and `accelerate`: checked before anything is read."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from quickfit.errors import UsageError

DTYPES = ("uint8", "float32", "float16", "bfloat16")
ON_BAD = ("error", "skip")
Resize = Literal["bilinear", "antialias", "crop", "pil"]
RESIZES: tuple[Resize, ...] = ("bilinear", "antialias", "crop", "pil")

# A function of a batch, with or without its labels, or a Keras layer.
Augment = Callable[..., Any]
_SIZE_REMEDY = (
    "give height and width in pixels, as size=(224, 224), or one number for both. Every image of "
    "a batch has the same size"
)


@dataclass(frozen=True, kw_only=True)
class PipelineOptions:
    """How images and records become batches; `images` and `records` explain each option.

    Args:
        function: "images" or "records": the function that the user called, for messages.
        size: None where images keep the size they are stored in.
        shuffle: a number says how many records are mixed with each other.
        one_hot: a number is that of the classes.
        shard: (0, 1) where there are no other workers.
    """

    function: str
    batch: int
    shuffle: bool | int
    seed: int | None
    size: tuple[int, int] | None
    resize: Resize
    shard: tuple[int, int]
    cache: object
    dtype: str
    scale: tuple[float, float] | None
    augment: Augment | None
    on_bad: str
    drop_remainder: bool
    one_hot: bool | int
    repeat: bool

    @property
    def skips(self) -> bool:
        """Whether what is damaged is left out."""
        return self.on_bad == "skip"

    @property
    def is_reproducible(self) -> bool:
        """Whether batches must come in one order."""
        return not self.shuffle or self.seed is not None

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Height, width and channels of an image; only where a size is asked for."""
        assert self.size is not None
        return (*self.size, 3)

    def steps(self, count: int) -> int:
        """Return the batches of an epoch of so many images or records."""
        return count // self.batch if self.drop_remainder else -(-count // self.batch)


def check_image_options(given: Mapping[str, Any]) -> PipelineOptions:  # whatever the user gave
    """Return the options of `images`.

    Raises:
        UsageError: one of them makes no sense.
    """
    check = OptionChecks("images")
    if given["size"] is None:
        raise check.wrong("size", None, _SIZE_REMEDY)
    shuffle = check.flag("shuffle", given["shuffle"])
    one_hot = check.flag("one_hot", given["one_hot"])
    return check.options(given, shuffle=shuffle, one_hot=one_hot)


def check_record_options(given: Mapping[str, Any]) -> PipelineOptions:  # whatever the user gave
    """Return the options of `records`.

    Raises:
        UsageError: one of them makes no sense.
    """
    check = OptionChecks("records")
    shuffle = check.flag_or_whole("shuffle", given["shuffle"], least=1)
    one_hot = check.flag_or_whole("one_hot", given["one_hot"], least=2)
    return check.options(given, shuffle=shuffle, one_hot=one_hot)


def check_split(split: object) -> tuple[float, ...] | None:
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


class OptionChecks:
    """Checks values that a user gave; each error names the function, the option and the value."""

    def __init__(self, function: str) -> None:
        self._function = function

    def wrong(self, name: str, value: object, remedy: str) -> UsageError:
        """Return the error of a value."""
        return UsageError(f"{self._function}({name}={value!r}): {remedy}")

    def options(
        self, given: Mapping[str, Any], *, shuffle: bool | int, one_hot: bool | int
    ) -> PipelineOptions:
        """Return all options, those that both functions take checked here."""
        dtype = self.choice("dtype", _dtype_name(given["dtype"]), DTYPES)
        return PipelineOptions(
            function=self._function,
            batch=self.whole("batch", given["batch"], least=1),
            shuffle=shuffle,
            seed=None if given["seed"] is None else self.whole("seed", given["seed"], least=0),
            size=None if given["size"] is None else self.size(given["size"]),
            resize=cast(Resize, self.choice("resize", given["resize"], RESIZES)),
            shard=(0, 1) if given["shard"] is None else self.shard(given["shard"]),
            cache=given["cache"],
            dtype=dtype,
            scale=self.scale(given["scale"], dtype),
            augment=self.augment(given["augment"]),
            on_bad=self.choice("on_bad", given["on_bad"], ON_BAD),
            drop_remainder=self.flag("drop_remainder", given["drop_remainder"]),
            one_hot=one_hot,
            repeat=self.flag("repeat", given["repeat"]),
        )

    def size(self, size: object) -> tuple[int, int]:
        pair = (size, size) if _is_whole(size) else size
        if not _is_sequence(pair) or len(cast(Sequence[Any], pair)) != 2:
            raise self.wrong("size", size, _SIZE_REMEDY)
        height, width = cast(Sequence[Any], pair)
        return self.whole("size", height, least=1), self.whole("size", width, least=1)

    def scale(self, scale: object, dtype: str) -> tuple[float, float] | None:
        if scale is None:
            return None if dtype == "uint8" else (0.0, 1.0)
        if dtype == "uint8":
            raise self.wrong(
                "scale",
                scale,
                "uint8 holds 0 to 255. Give dtype='float32' with it, or scale in the model: "
                "keras.layers.Rescaling(1 / 255)",
            )
        is_pair = _is_sequence(scale) and len(cast(Sequence[Any], scale)) == 2
        if not is_pair or not all(_is_number(end) for end in cast(Sequence[Any], scale)):
            raise self.wrong("scale", scale, "give what black and white become, as scale=(-1, 1)")
        low, high = cast(Sequence[Any], scale)
        return float(low), float(high)

    def shard(self, shard: object) -> tuple[int, int]:
        if not _is_sequence(shard) or len(cast(Sequence[Any], shard)) != 2:
            raise self.wrong(
                "shard",
                shard,
                "give the index of this worker, from 0, and the number of workers, as shard=(0, 4)",
            )
        index, count = (self.whole("shard", part, least=0) for part in cast(Sequence[Any], shard))
        if index >= count:
            remedy = f"of {count} workers the index goes from 0 to {count - 1}"
            raise self.wrong("shard", shard, remedy)
        return index, count

    def augment(self, augment: object) -> Augment | None:
        if augment is None or callable(augment):
            return augment
        raise self.wrong(
            "augment", augment, "give a function of a batch of images, or a Keras layer"
        )

    def choice(self, name: str, value: object, known: Sequence[str]) -> str:
        if isinstance(value, str) and value in known:
            return value
        raise self.wrong(name, value, f"it can be one of {', '.join(map(repr, known))}")

    def whole(self, name: str, value: object, *, least: int) -> int:
        if _is_whole(value) and int(cast(int, value)) >= least:
            return int(cast(int, value))
        raise self.wrong(name, value, f"it must be a whole number, {least} or more")

    def flag(self, name: str, value: object) -> bool:
        # NumPy's own, which `isinstance(value, bool)` does not know.
        if type(value).__name__ in ("bool", "bool_"):
            return bool(value)
        raise self.wrong(name, value, "it must be True or False")

    def flag_or_whole(self, name: str, value: object, *, least: int) -> bool | int:
        if type(value).__name__ in ("bool", "bool_"):
            return bool(value)
        if _is_whole(value) and int(cast(int, value)) >= least:
            return int(cast(int, value))
        raise self.wrong(name, value, f"it must be True, False, or a whole number, {least} or more")


def _dtype_name(dtype: object) -> object:
    """Return the name of a dtype given as `tf.float32` or `np.float32`."""
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None)
    return name if isinstance(name, str) else dtype


def _is_whole(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    is_real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return is_real and math.isfinite(float(cast(float, value)))


def _is_sequence(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)
