"""Makes the photographs that the benchmarks of `quickfit.data` read: JPEGs cut from real ones.

    python benchmarks/data/photos.py FOLDER [--count 2000] [--photos DIR …]

They are cut from the photographs of installed wallpaper packages, or, where there are none, from
those that scikit-image brings. Nothing is downloaded. The same photographs give the same files.
Debian packages with many large ones: plasma-workspace-wallpapers, lomiri-wallpapers,
mate-backgrounds, ukui-wallpapers.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WALLPAPERS = (Path("/usr/share/backgrounds"), Path("/usr/share/wallpapers"))
# All of these are inside the wheel of scikit-image; its other pictures are grey or drawn.
BUNDLED = ("astronaut.png", "chelsea.png", "coffee.png", "motorcycle_left.png", "rocket.jpg")
ENDINGS = (".jpg", ".jpeg", ".png")
# A cut of 1200 pixels at nearly its own scale needs a photograph of about this size.
MIN_PHOTO_PX = 1600 * 1200
# Wallpapers of these packages that are drawn, by a part of their path; drawn ones in PNG files
# need no list. A drawing compresses better than a photograph and would flatter every decoder.
DRAWN = (
    "2004default", "Autumn", "Elephants", "Flow/", "Fossa_", "GreenTraditional", "Honeywave",
    "Infinite-Sea", "Painting-Colors", "PastelHills", "SafeLanding", "Shell/", "Volna",
    "analogpattern", "firstgeneration", "free_by", "greentock", "rhythm", "string", "the-mouse",
    "umang_by",
)  # fmt: skip
# Most web photographs in image sets are 500 pixels wide; some come straight from a camera.
SMALL, LARGE = (500, 375), (1200, 900)
LARGE_SHARE = 0.15
QUALITY = 93
CLASSES = 8
COUNT = 2000
# The list of what was made, beside the folder: in it, a loader would take it for an image.
LIST_ENDING = ".json"
NONE_FOUND = (
    "no photographs found in {where}, and scikit-image is not installed.\n"
    "Install either of them, or name a folder of photographs:\n"
    "    pip install scikit-image\n"
    "    apt-get install plasma-workspace-wallpapers lomiri-wallpapers mate-backgrounds\n"
    "    --photos DIR"
)


@dataclass(frozen=True)
class Photos:
    """A folder of JPEGs in class folders, and what it was made from."""

    folder: Path
    files: tuple[Path, ...]
    note: str

    @property
    def classes(self) -> list[str]:
        """The names of the classes, in the order of their labels."""
        return sorted({file.parent.name for file in self.files})

    def labels(self) -> list[int]:
        """Return the label of each file."""
        number = {name: place for place, name in enumerate(self.classes)}
        return [number[file.parent.name] for file in self.files]


def photos(folder: Path, *, count: int = 0, where: Sequence[Path] = ()) -> Photos:
    """Return the photographs in `folder`, made first where they are not there yet.

    Args:
        folder: of the photographs.
        count: how many there must be; 0 takes what is there.
        where: folders to cut them from.
    """
    listed = folder.with_name(folder.name + LIST_ENDING)
    if not listed.is_file():
        make(folder, count or COUNT, where)
    made = json.loads(listed.read_text())
    files = tuple(sorted(folder / name for name in made["files"]))
    missing = [file for file in files if not file.is_file()]
    if missing or (count and len(files) != count):
        reason = (
            f"{missing[0]} is missing" if missing else f"{len(files):,} photographs, not {count:,}"
        )
        sys.exit(f"{folder}: {reason}. Delete it and {listed}, and start again.")
    return Photos(folder, files, made["note"])


def make(folder: Path, count: int, where: Sequence[Path] = ()) -> None:
    """Write `count` JPEGs into class folders below `folder`; the list of them comes last."""
    sources, note = find(where)
    chance = random.Random(8)
    kinds = [number < round(count * LARGE_SHARE) for number in range(count)]
    chance.shuffle(kinds)
    turns = [sources[number % len(sources)] for number in range(count)]
    names: dict[int, str] = {}
    for source in sources:  # one photograph in memory at a time
        numbers = [number for number in range(count) if turns[number] is source]
        names.update(_cut_all(source, [(n, kinds[n]) for n in numbers], folder))
        print(f"\r{len(names)} of {count} photographs cut", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    note = f"{count:,} JPEGs, {note}"
    files = [names[number] for number in sorted(names)]
    listed = folder.with_name(folder.name + LIST_ENDING)
    listed.write_text(json.dumps({"note": note, "files": files}))


def find(where: Sequence[Path]) -> tuple[list[Path], str]:
    """Return the photographs to cut from, and a line that says which."""
    folders = list(where) or [folder for folder in WALLPAPERS if folder.is_dir()]
    found = [file for folder in folders for file in _photographs(folder)]
    if found:
        places = ", ".join(str(folder) for folder in folders)
        return found, f"cut from {len(found)} photographs in {places}"
    spec = importlib.util.find_spec("skimage")
    if where or spec is None or not spec.submodule_search_locations:
        sys.exit(NONE_FOUND.format(where=", ".join(str(f) for f in where or WALLPAPERS)))
    data = Path(spec.submodule_search_locations[0]) / "data"
    files = [data / name for name in BUNDLED]
    return files, f"cut from {len(files)} photographs of scikit-image, large ones enlarged"


def _photographs(folder: Path) -> Iterator[Path]:
    """Yield the large photographs below a folder: links, drawings and small copies left out."""
    is_listed = folder in WALLPAPERS
    for file in sorted(folder.rglob("*")):
        if file.suffix.lower() not in ENDINGS or file.is_symlink():
            continue
        is_drawn = file.suffix == ".png" or any(part in str(file) for part in DRAWN)
        if not (is_listed and is_drawn) and _is_large(file):
            yield file


def _is_large(file: Path) -> bool:
    from PIL import Image

    with Image.open(file) as image:
        return image.width * image.height >= MIN_PHOTO_PX and image.mode == "RGB"


def _cut_all(
    source: Path, wanted: Sequence[tuple[int, bool]], folder: Path
) -> Iterator[tuple[int, str]]:
    """Write the cuts of one photograph; yield the number and the name of each."""
    from PIL import Image

    photograph = Image.open(source).convert("RGB")
    for number, is_large in wanted:
        name = f"class{number % CLASSES}/{number:05d}.jpg"
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        size = LARGE if is_large else SMALL
        _cut(photograph, size, random.Random(number)).save(folder / name, quality=QUALITY)
        yield number, name


def _cut(photograph: Any, size: tuple[int, int], chance: random.Random) -> Any:  # PIL images
    """Return a random part of a photograph, shrunk as a web photograph is; sizes vary a little."""
    from PIL import Image

    width, height = (round(side * chance.uniform(0.94, 1.06)) for side in size)
    if chance.random() < 0.2:  # held upright
        width, height = height, width
    most = min(photograph.width / width, photograph.height / height)
    # Between the photograph's own scale and all of it; enlarged only where it is too small.
    scale = min(most, chance.uniform(min(1.0, most), most))
    left = chance.uniform(0, photograph.width - width * scale)
    top = chance.uniform(0, photograph.height - height * scale)
    box = (left, top, left + width * scale, top + height * scale)
    part = photograph.resize((width, height), Image.Resampling.BICUBIC, box=box, reducing_gap=3.0)
    if chance.random() < 0.5:
        part = part.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return part


def main() -> None:
    """Make the photographs that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--photos", type=Path, nargs="*", default=[], help="folders to cut from")
    options = parser.parse_args()
    made = photos(options.folder, count=options.count, where=options.photos)
    size_bytes = sum(file.stat().st_size for file in made.files)
    print(f"{made.note}; {size_bytes / 1e6:.0f} MB in {made.folder}")


if __name__ == "__main__":
    main()
