"""Reads JPEGs and yields batches; imported by the script that trains."""
# ruff: noqa: TID253

import random
from pathlib import Path

import numpy as np
from PIL import Image

SIZE = (160, 160)
BATCH = 32


def stream(folder):
    """Return endless batches, the number of classes and the batches per epoch."""
    paths = sorted(Path(folder).glob("*/*.jpg"))
    names = sorted({path.parent.name for path in paths})
    return _batches(paths, names), len(names), len(paths) // BATCH


def _read(path):
    with Image.open(path) as image:
        return np.array(image.convert("RGB").resize(SIZE, Image.BILINEAR)) / 255.0


def _batches(paths, names):
    while True:
        random.shuffle(paths)
        for start in range(0, len(paths) - BATCH + 1, BATCH):
            chosen = paths[start : start + BATCH]
            images = np.array([_read(path) for path in chosen])
            yield images, np.array([names.index(path.parent.name) for path in chosen])
