"""Which files of a folder this process holds open, whatever else comes and goes meanwhile."""

import os
from pathlib import Path


def open_below(folder: Path) -> list[str]:
    return [link for link in _links() if link.startswith(f"{folder}/")]


def _links():
    for number in os.listdir("/proc/self/fd"):
        try:
            yield os.readlink(f"/proc/self/fd/{number}")
        except FileNotFoundError:  # closed since it was listed, as the listing itself is
            continue
