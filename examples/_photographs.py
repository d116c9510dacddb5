"""Draws a few small images, for whoever has no folder of photographs at hand."""

import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image


def folder_of_images() -> Path:
    """Return the folder given on the command line, or one with images that were just drawn."""
    if len(sys.argv) > 1:
        return Path(sys.argv[1])
    folder = Path(tempfile.mkdtemp(prefix="quickfit-example-"))
    rng = np.random.default_rng(0)
    for name, colour in (("red", (200, 60, 60)), ("blue", (60, 60, 200))):
        (folder / name).mkdir()
        for number in range(60):
            noise = rng.normal(0, 40, (96, 128, 3))
            pixels = np.clip(noise + colour, 0, 255).astype("uint8")
            Image.fromarray(pixels).save(folder / name / f"{number}.jpg")
    return folder
