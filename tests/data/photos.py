"""Real photographs in the sizes a test needs, cut from those that scikit-image brings."""

import functools
import io
from pathlib import Path

import numpy as np


@functools.cache
def _originals():
    import skimage.data

    return [skimage.data.astronaut(), skimage.data.coffee(), skimage.data.chelsea()]


def photo(height=60, width=80, seed=0):
    """Return a piece of a photograph, RGB; another seed cuts another piece."""
    from PIL import Image

    draw = np.random.default_rng(seed)
    original = _originals()[draw.integers(3)]
    share = draw.uniform(0.4, 0.9)
    rows, columns = (int(side * share) for side in original.shape[:2])
    top = draw.integers(original.shape[0] - rows)
    left = draw.integers(original.shape[1] - columns)
    piece = Image.fromarray(original[top : top + rows, left : left + columns])
    return np.asarray(piece.resize((width, height), Image.Resampling.LANCZOS))


def jpeg(array, quality=90, **options):
    """Return the photograph as a JPEG file."""
    from PIL import Image

    content = io.BytesIO()
    Image.fromarray(array).save(content, "JPEG", quality=quality, **options)
    return content.getvalue()


def folder(path, classes=None, size=(60, 80)):
    """Write class folders of JPEGs, all different, and return their paths."""
    files = []
    for name, count in (classes or {"cat": 3, "dog": 2}).items():
        for _ in range(count):
            file = Path(path) / name / f"{len(files):05d}.jpg"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(jpeg(photo(*size, seed=len(files))))
            files.append(file)
    return files
