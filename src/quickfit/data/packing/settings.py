"""What a pack is made with: everything but the source that decides its bytes."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from quickfit.errors import UsageError

FORMS = ("original", "jpeg256", "raw")
JPEG_SHORT_SIDE = 256
RAW_SIDE = 224
QUALITY = 90
# Large enough to be read in one sweep, small enough that losing one costs little.
SHARD_BYTES = 128_000_000
_LEAST_SHARD_BYTES = 10_000
# What JPEG itself can hold.
_LONGEST_SIDE = 65_500


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """How images are stored.

    Args:
        form: `original` (files as they are), `jpeg256` (smaller JPEGs) or `raw` (pixels).
        size: height and width of raw pixels; twice the short side of a jpeg256; None of originals.
        quality: of the JPEGs of jpeg256; None otherwise.
        seed: of the order.
        shard_bytes: about how large a shard is.
        check: `quick`, or `full` where every original was decoded too.
        max_pixels: images with more are left out.
    """

    form: str
    size: tuple[int, int] | None
    quality: int | None
    seed: int
    shard_bytes: int
    check: str
    max_pixels: int

    def as_json(self) -> dict[str, Any]:  # whatever JSON holds
        """Return the settings for a manifest."""
        return dataclasses.asdict(self) | {"size": self._size_text()}

    def _size_text(self) -> int | str | None:
        if self.size is None or self.form == "jpeg256":
            return self.size[0] if self.size else None
        return f"{self.size[0]}x{self.size[1]}"

    @property
    def image_shape(self) -> tuple[int, int, int] | None:
        """The shape of every image, where all have the same."""
        return (*self.size, 3) if self.form == "raw" and self.size else None


def settings(
    form: str,
    *,
    size: int | str | tuple[int, int] | None,
    quality: int,
    seed: int,
    shard_bytes: int,
    check: str,
    max_pixels: int,
) -> Settings:
    """Return the settings that were asked for.

    Raises:
        UsageError: a value cannot be, or two do not go together.
    """
    if form not in FORMS:
        raise UsageError(f"pack: there is no form {form!r}. Forms: {', '.join(FORMS)}.")
    if check not in ("quick", "full"):
        raise UsageError(f"pack: check is {check!r}, and can be 'quick' or 'full'.")
    if quality != QUALITY and form != "jpeg256":
        raise UsageError(f"pack: quality {quality!r} is for the form jpeg256; this is {form}.")
    return Settings(
        form=form,
        size=_size(form, size),
        quality=_whole("quality", quality, 1, 100) if form == "jpeg256" else None,
        seed=_whole("seed", seed, -(2**63), 2**63),
        shard_bytes=_whole("shard_bytes", shard_bytes, _LEAST_SHARD_BYTES, 10**12),
        # The other forms decode every image anyway.
        check=check if form == "original" else "full",
        max_pixels=_whole("max_pixels", max_pixels, 1, 2**40),
    )


def _size(form: str, size: int | str | tuple[int, int] | None) -> tuple[int, int] | None:
    if form == "original":
        if size is not None:
            raise UsageError(
                f"pack: size {size!r} was given, but the form original keeps images as they are.\n"
                "Choose another form:\n    quickfit pack SRC DST --as jpeg256 --size 320"
            )
        return None
    default = JPEG_SHORT_SIDE if form == "jpeg256" else RAW_SIDE
    height, width = _sides(default if size is None else size)
    if form == "jpeg256" and height != width:
        raise UsageError(
            f"pack: size {size!r} has two sides, but jpeg256 keeps the shape of each image.\n"
            "Give the short side alone: --size 256"
        )
    return height, width


def _sides(size: int | str | tuple[int, int]) -> tuple[int, int]:
    """Return height and width of 224, "224", "224x320" or (224, 320)."""
    if isinstance(size, str):
        found = re.fullmatch(r"\s*(\d+)(?:\s*[x×,]\s*(\d+))?\s*", size)
        if found is None:
            raise UsageError(
                f"pack: size {size!r} is no size. Write 224, or 224x320 (height first)."
            )
        size = (int(found[1]), int(found[2] or found[1]))
    sides = tuple(size) if isinstance(size, list | tuple) else (size, size)
    if len(sides) != 2:
        raise UsageError(f"pack: size {size!r} has {len(sides)} sides. Give height and width.")
    return _whole("size", sides[0], 1, _LONGEST_SIDE), _whole("size", sides[1], 1, _LONGEST_SIDE)


def _whole(name: str, value: object, least: int, most: int) -> int:
    try:
        whole = value.__index__()  # type: ignore[attr-defined]
    except AttributeError:
        whole = None
    if whole is None or isinstance(value, bool) or not least <= whole <= most:
        raise UsageError(f"pack: {name} is {value!r}, and must be from {least:,} to {most:,}.")
    return int(whole)
