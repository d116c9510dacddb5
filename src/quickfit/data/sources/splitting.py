"""Splits images into parts: by class, by seed, and the same file on the same side."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Sequence

from quickfit.data.entries import Entry
from quickfit.errors import UsageError

# Shares such as 1/3 are not exact.
_TOLERANCE = 1e-6


def split(
    entries: Sequence[Entry], shares: float | Sequence[float], seed: int = 0
) -> list[list[Entry]]:
    """Return the parts of a split, each in the order of the entries.

    Every class is split alike. Which part an image goes to follows from its name and the seed: it
    stays there when others are added or the order changes, as far as the exact counts allow.

    Args:
        entries: the images.
        shares: of each part, together 1; a single number is the share of the second of two.
        seed: another one gives another split.

    Raises:
        UsageError: the shares are none, or a part would be empty.
    """
    checked = _checked(shares)
    totals = _totals(checked, len(entries))
    classes = _classes(entries, seed)
    # From the last on: the first part is what the others leave.
    parts = [_taken(classes, total, seed) for total in totals[:0:-1]]
    parts.append([position for members in classes.values() for position in members])
    return [[entries[position] for position in sorted(part)] for part in reversed(parts)]


def _classes(entries: Sequence[Entry], seed: int) -> dict[int, list[int]]:
    """Return the positions of each class's images, in an order that the seed and names draw."""
    classes: dict[int, list[int]] = defaultdict(list)
    draws = []
    for position, entry in enumerate(entries):
        draws.append(_draw(seed, entry.name))
        classes[entry.label].append(position)
    for members in classes.values():
        members.sort(key=draws.__getitem__)
    return classes


def _taken(classes: dict[int, list[int]], total: int, seed: int) -> list[int]:
    """Take `total` images off the ends of the classes, from each according to its size."""
    left = sum(len(members) for members in classes.values())
    counts = {label: total * len(members) // left for label, members in classes.items()}
    rounded_off = sorted(
        classes,
        key=lambda label: (-(total * len(classes[label]) % left), _draw(seed, str(label))),
    )
    for label in rounded_off[: total - sum(counts.values())]:
        counts[label] += 1
    taken = []
    for label, members in classes.items():
        keep = len(members) - counts[label]
        taken += members[keep:]
        del members[keep:]
    return taken


def _totals(shares: list[float], count: int) -> list[int]:
    """Return how many images each part has: exact, by the largest remainders."""
    totals = [math.floor(share * count + _TOLERANCE) for share in shares]
    order = sorted(range(len(shares)), key=lambda part: (totals[part] - shares[part] * count, part))
    for part in order[: count - sum(totals)]:
        totals[part] += 1
    if not all(totals):
        raise UsageError(
            f"{count:,} images cannot be split into {', '.join(f'{share:g}' for share in shares)}: "
            f"the parts would have {', '.join(map(str, totals))}.\n"
            "Give more images, or a larger share."
        )
    return totals


def _checked(shares: float | Sequence[float]) -> list[float]:
    given = [1 - shares, shares] if isinstance(shares, int | float) else [*shares]
    if len(given) < 2 or not all(0 < share < 1 for share in given):
        raise UsageError(
            f"the split {shares!r} is none: give the share of the second part (0.2), or of all "
            "parts (0.8, 0.1, 0.1), each between 0 and 1."
        )
    if abs(math.fsum(given) - 1) > _TOLERANCE:
        raise UsageError(
            f"the shares of the split {shares!r} sum to {math.fsum(given):g}: they have to sum "
            "to 1."
        )
    return given


def _draw(seed: int, text: str) -> bytes:
    """Return a number, as bytes, that looks random and is the same everywhere."""
    key = f"{seed}/{text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(key, digest_size=8).digest()
