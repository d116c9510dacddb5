"""The options that all benchmarks of `quickfit.data` share."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from data.cases import Case, versions
from data.outputs import thumbnails
from data.photos import COUNT, Photos, photos
from data.turns import Plan


def parser(description: str, *, rounds: int = 8, block_s: float = 1.5) -> argparse.ArgumentParser:
    """Return a parser with the shared options; a benchmark adds its own."""
    made = argparse.ArgumentParser(description=description.split("\n")[0])
    made.add_argument(
        "--only", nargs="*", default=[], metavar="TEXT", help="cases with it in their name"
    )
    made.add_argument("--rounds", type=_two_or_more, default=rounds)
    made.add_argument("--block", type=float, default=block_s, metavar="SECONDS")
    made.add_argument("--warm", type=float, default=4.0, metavar="SECONDS")
    made.add_argument("--json", type=Path, metavar="FILE")
    made.add_argument(
        "--scratch", type=Path, default=Path(tempfile.gettempdir()) / "quickfit-bench"
    )
    made.add_argument("--count", type=int, default=COUNT, help="photographs")
    made.add_argument("--photos", type=Path, nargs="*", default=[], help="folders to cut them from")
    return made


def plan(options: argparse.Namespace) -> Plan:
    """Return how long and how often to measure."""
    return Plan(options.rounds, options.block, options.warm)


def ready_photos(options: argparse.Namespace) -> Photos:
    """Return the photographs, made where they are not there, and all of them in the page cache."""
    taken = photos(options.scratch / "photos", count=options.count, where=options.photos)
    thumbnails(taken)
    for file in taken.files:
        file.read_bytes()
    print(f"{taken.note}\n{', '.join(f'{name} {value}' for name, value in versions().items())}")
    return taken


def chosen(cases: Sequence[Case], only: Sequence[str]) -> list[Case]:
    """Return the cases that were asked for; all of them by default."""
    return [case for case in cases if not only or any(text in case.name for text in only)]


def _two_or_more(text: str) -> int:
    number = int(text)
    if number < 2:  # one round has no interval
        raise argparse.ArgumentTypeError(f"{number} rounds; at least 2 are needed")
    return number
