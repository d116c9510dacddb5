"""The memory of a pack of very many images, while it grows: of all its processes together."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

LOOK_S = 0.1
# Files in one folder of the generated images.
FOLDER_IMAGES = 2000
SIDE = 32
PACK = (
    "import json, sys; from quickfit import data; "
    "data.pack(sys.argv[1], sys.argv[2], progress=False, **json.loads(sys.argv[3]))"
)


@dataclass(frozen=True)
class Look:
    """A moment of a pack: bytes written, and memory of all its processes (PSS)."""

    written_bytes: int
    memory_bytes: int


def small_images(folder: Path, count: int) -> None:
    """Write so many small JPEGs of noise into class folders."""
    import numpy as np
    import simplejpeg

    chance = np.random.default_rng(0)
    for number in range(count):
        path = folder / f"class{number // FOLDER_IMAGES:03d}" / f"{number:06d}.jpg"
        if number % FOLDER_IMAGES == 0:
            path.parent.mkdir(parents=True, exist_ok=True)
        pixels = chance.integers(0, 256, (SIDE, SIDE, 3), np.uint8)
        path.write_bytes(simplejpeg.encode_jpeg(pixels, quality=50))


def watch_pack(source: Path, destination: Path, options: dict[str, Any]) -> list[Look]:
    """Pack in a process of its own and look at it, from the first record on, until it ends."""
    command = [sys.executable, "-c", PACK, str(source), str(destination), json.dumps(options)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        looks = list(_looks(process, destination))
    if process.returncode:
        raise RuntimeError(f"the pack ended with code {process.returncode}")
    return [look for look in looks if look.written_bytes and look.memory_bytes]


def growth(looks: list[Look]) -> float:
    """Return how many times as much memory there is at the worst moment as in the first tenth.

    The worst moment, because that is when a machine runs out of it. The listing of all images is
    in memory before the first record, and so in both.
    """
    tenths = deciles(looks)
    return max(look.memory_bytes for look in tenths) / tenths[0].memory_bytes


def deciles(looks: list[Look]) -> list[Look]:
    """Return the largest memory of each tenth of the work."""
    end = max(look.written_bytes for look in looks)
    parts: list[list[Look]] = [[] for _ in range(10)]
    for look in looks:
        parts[min(9, look.written_bytes * 10 // end)].append(look)
    return [max(part, key=lambda look: look.memory_bytes) for part in parts if part]


def _looks(process: subprocess.Popen[bytes], destination: Path) -> Iterator[Look]:
    while process.poll() is None:
        yield Look(_written_bytes(destination), _memory_bytes(process.pid))
        time.sleep(LOOK_S)


def _written_bytes(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            if ".tfrecord" in name:
                total += _size(os.path.join(parent, name))
    return total


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:  # renamed in between
        return 0


def _memory_bytes(pid: int) -> int:
    """Return the memory of a process and its descendants, shared pages divided among them."""
    try:
        tree = [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    except psutil.NoSuchProcess:
        return 0
    return sum(_pss_bytes(each) for each in tree)


def _pss_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # it ended
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)
