"""Whether a case delivers what it should: every image recognised, its label and its pixels.

Without this, a loader would win by doing less. A delivered image is recognised by its thumbnail
among those of all photographs, made with PIL; so shuffling does not matter.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from data.photos import Photos, photos

SIDE, BATCH = 224, 32
# Thumbnails have this many blocks a side.
BLOCKS = 8
CHECKED_BATCHES = 8
# Images whose pixels are compared one by one.
COMPARED = 48
# Plain bilinear shrinking differs from PIL's in places, but hardly in the mean of 28×28 pixels.
MAX_LEVELS = 5.0
# A few photographs are cut so alike that their thumbnails are.
MIN_RIGHT_SHARE = 0.97
# Pixels that are all the same count as this far apart: 99 dB.
LEAST_ERROR = 255**2 / 10**9.9
THUMBNAILS_ENDING = ".thumbnails.npy"


def check(batches: Iterator[Any], folder: Path, *, bicubic: bool = False) -> dict[str, Any]:
    """Look at the first batches and return what was seen.

    Args:
        batches: of images and labels.
        folder: of the photographs.
        bicubic: whether the pixels are to be near those of PIL's default, not its bilinear.

    Raises:
        ValueError: shape, pixels or labels are wrong.
    """
    taken = photos(folder)
    found, labels = _first(batches)
    distances, places = _recognised(_thumbnails(found), thumbnails(taken))
    if distances.max() > MAX_LEVELS:
        raise ValueError(f"an image is {distances.max():.1f} levels away from every photograph")
    right_share = float(np.mean(np.asarray(taken.labels())[places] == labels))
    distinct_share = len(set(places.tolist())) / len(places)
    if min(right_share, distinct_share) < MIN_RIGHT_SHARE:
        raise ValueError(f"labels right {right_share:.2f}, images distinct {distinct_share:.2f}")
    files = [taken.files[place] for place in places]
    return {"dtype": str(found.dtype), "psnr_db": _psnr_db(found, files, bicubic=bicubic)}


def thumbnails(taken: Photos) -> np.ndarray:
    """Return the thumbnails of all photographs, made at the first use."""
    kept = taken.folder.with_name(taken.folder.name + THUMBNAILS_ENDING)
    if not kept.is_file():
        print("making thumbnails of all photographs", file=sys.stderr)
        with ThreadPoolExecutor(2) as pool:
            made = list(pool.map(lambda file: _thumbnails(pil(file)[None])[0], taken.files))
        np.save(kept, np.stack(made))
    found: np.ndarray = np.load(kept)
    return found[: len(taken.files)]


def pil(file: Path, *, bicubic: bool = False) -> np.ndarray:
    """Return a photograph as PIL decodes and shrinks it."""
    from PIL import Image

    kind = Image.Resampling.BICUBIC if bicubic else Image.Resampling.BILINEAR
    with Image.open(file) as image:
        return np.asarray(image.convert("RGB").resize((SIDE, SIDE), kind))


def _first(batches: Iterator[Any]) -> tuple[np.ndarray, np.ndarray]:
    images, labels = [], []
    for _ in range(CHECKED_BATCHES):
        batch = next(batches)
        images.append(np.asarray(batch[0]))
        labels.append(np.asarray(batch[1]).reshape(-1))
        if images[-1].shape != (BATCH, SIDE, SIDE, 3) or len(labels[-1]) != BATCH:
            raise ValueError(f"a batch has the shape {images[-1].shape}")
    return np.concatenate(images), np.concatenate(labels)


def _thumbnails(images: np.ndarray) -> np.ndarray:
    cell = SIDE // BLOCKS
    cells = images.reshape(-1, BLOCKS, cell, BLOCKS, cell, 3)
    return cells.mean(axis=(2, 4), dtype=np.float32)


def _recognised(found: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distance of each image to the photograph most like it, and which that is."""
    flat = known.reshape(len(known), -1)
    away = [np.abs(flat - one.reshape(-1)).mean(axis=1) for one in found]
    return np.asarray([a.min() for a in away]), np.asarray([a.argmin() for a in away])


def _psnr_db(found: np.ndarray, files: Sequence[Path], *, bicubic: bool) -> float:
    """Return the median nearness of images to what PIL makes of the same files."""
    each = []
    for image, file in list(zip(found, files, strict=True))[:COMPARED]:
        wanted = pil(file, bicubic=bicubic).astype(np.float32)
        error = float(np.mean((image.astype(np.float32) - wanted) ** 2))
        each.append(10 * np.log10(255**2 / max(error, LEAST_ERROR)))
    return round(float(np.median(each)), 1)
