"""Makes the demo's image folder: JPEGs cut from the photographs that scikit-image brings."""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from quickfit.errors import UsageError

# One class per photograph. All of these are inside the wheel of scikit-image, so nothing
# is downloaded; its other photographs are grey, or textures without a subject.
SOURCES = {
    "astronaut": "astronaut.png",
    "cat": "chelsea.png",
    "coffee": "coffee.png",
    "motorcycle": "motorcycle_left.png",
    "rocket": "rocket.jpg",
}
# The usual size of web photographs in image sets: about 500 pixels, high JPEG quality.
SIDES_PX = (400, 600)
QUALITY = 92
# A cut keeps at least this share of each side, so that the subject stays in the picture.
SMALLEST_CUT = 0.5

INSTALL = "Install what the demo needs:\n    pip install 'quickfit[demo]'"


def make_photographs(
    folder: Path,
    count: int,
    *,
    seed: int = 0,
    tell: Callable[[int], None] = lambda done: None,
) -> list[Path]:
    """Write `count` JPEGs below `folder`, one subfolder per class, and return their paths.

    The same seed gives the same files. `tell` is called with the number made so far.

    Raises:
        UsageError: scikit-image or Pillow is not installed, or its photographs are not there.
    """
    photographs = _open_sources()
    chance = random.Random(seed)
    names = list(photographs)
    paths = []
    for number in range(count):
        name = names[number % len(names)]
        path = folder / name / f"{name}-{number // len(names):04d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        _cut(photographs[name], chance).save(path, quality=QUALITY)
        paths.append(path)
        tell(number + 1)
    return paths


def _open_sources() -> dict[str, Any]:  # Any: PIL images, and Pillow may be missing
    try:
        from PIL import Image
    except ImportError as error:
        raise UsageError(f"quickfit demo: Pillow is not installed.\n{INSTALL}") from error
    data = _data_folder()
    missing = [file for file in SOURCES.values() if not (data / file).is_file()]
    if missing:
        raise UsageError(
            f"quickfit demo: {data} lacks the photographs {', '.join(missing)}.\n{INSTALL}"
        )
    return {name: Image.open(data / file).convert("RGB") for name, file in SOURCES.items()}


def _data_folder() -> Path:
    # Looked up, not imported: the files are all we want, and the import takes a second.
    spec = importlib.util.find_spec("skimage")
    if spec is None or not spec.submodule_search_locations:
        raise UsageError(f"quickfit demo: scikit-image is not installed.\n{INSTALL}")
    return Path(spec.submodule_search_locations[0]) / "data"


def _cut(photograph: Any, chance: random.Random) -> Any:  # Any: PIL images
    """Return a random part of a photograph, in a random size and perhaps mirrored."""
    from PIL import Image

    width, height = photograph.size
    cut_width = round(width * chance.uniform(SMALLEST_CUT, 1))
    cut_height = round(height * chance.uniform(SMALLEST_CUT, 1))
    left = chance.randint(0, width - cut_width)
    top = chance.randint(0, height - cut_height)
    size = (chance.randint(*SIDES_PX), chance.randint(*SIDES_PX))
    box = (left, top, left + cut_width, top + cut_height)
    part = photograph.resize(size, Image.Resampling.BICUBIC, box=box)
    if chance.random() < 0.5:
        part = part.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return part
