"""Images from a folder or a pack, in the size and the scale that a model takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from quickfit.compression.calibrating.inputs import Wanted
from quickfit.errors import UsageError

# Arrays and datasets are `Any`: they have no types of their own.

# What black and white become. Nobody can see in a model file which of them it was trained with.
SCALES = {"0 to 255": (0.0, 255.0), "0 to 1": (0.0, 1.0), "-1 to 1": (-1.0, 1.0)}
# Brightness as television has it, and as Pillow and TensorFlow compute it.
_GREY = np.array([0.299, 0.587, 0.114], np.float32)
_BATCH = 64


def dataset_of(path: Path, wanted: list[Wanted], *, seed: int) -> Any:
    """Return a dataset of (images, labels) in the size that the model takes, mixed.

    Raises:
        UsageError: the model takes no images, or none of a certain size.
        PipelineError: there are no images, or one cannot be used.
    """
    from quickfit import data

    size = image_size(wanted, path)
    options: dict[str, Any] = {"size": size, "batch": _BATCH, "seed": seed, "cache": None}
    if is_pack(path):
        return data.records(path, **options)
    return data.images(path, **options)


def is_pack(path: Path) -> bool:
    """Tell whether a path is a record file, or a folder that has some."""
    files = [path] if path.is_file() else path.iterdir() if path.is_dir() else []
    return any(".tfrecord" in file.name for file in files)


def image_size(wanted: list[Wanted], path: Path) -> tuple[int, int]:
    """Return height and width of the images that a model takes."""
    takes = ", ".join(f"'{one.keys[0]}' {one.shape}" for one in wanted)
    if len(wanted) != 1 or len(wanted[0].shape) != 4 or wanted[0].shape[3] not in (1, 3):
        raise UsageError(
            f"{path}: these are images, and the model takes something else: {takes}.\n"
            "Give a .npz file, or a function that returns what it takes: --data train.py:samples"
        )
    height, width = wanted[0].shape[1:3]
    if height is None or width is None:
        raise UsageError(
            f"{path}: the model takes images of any size ({takes}), so somebody has to say which.\n"
            "Give a function that returns them: --data train.py:samples"
        )
    return height, width


def in_channels(images: Any, channels: int | None) -> Any:
    """Return RGB images with the number of channels that a model takes."""
    if channels != 1 or images.shape[-1] == 1:
        return images
    return np.round(images.astype(np.float32) @ _GREY)[..., None].astype(images.dtype)


def scaled(images: Any, scale: tuple[float, float]) -> Any:
    """Return images with black and white as given instead of 0 and 255."""
    low, high = scale
    if (low, high) == (0.0, 255.0):
        return images.astype(np.float32)
    return images.astype(np.float32) * np.float32((high - low) / 255) + np.float32(low)


def best_scale(images: Any, accuracy: Callable[[Any], float]) -> tuple[str, dict[str, float]]:
    """Return the scale with which the model is right most often, and how often with each.

    Args:
        images: some of them, with values from 0 to 255.
        accuracy: of the model on images of a scale.
    """
    found = {name: accuracy(scaled(images, scale)) for name, scale in SCALES.items()}
    return max(found, key=lambda name: found[name]), found
