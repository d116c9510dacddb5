"""A dataset that is wrapped again and again: how many operations lie behind each new iterator."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from quickfit.findings import Location
from quickfit.signals._facade import Signals
from quickfit.signals.drift_inputs import chain


@dataclass(frozen=True)
class Wrapped:
    """The operations behind the first and the last iterator, and the line that adds more.

    Args:
        times: how often the line is in the last chain.
    """

    first: int
    last: int
    location: Location | None
    kind: str
    times: int


def wrapped(signals: Signals) -> Wrapped | None:
    """Return how a pipeline grew from its first to its last iterator; None where it did not."""
    rows = {row["id"]: row for row in signals.process.rows("datasets")}
    inputs = {number: row["inputs"] for number, row in rows.items()}
    tops = [
        row["dataset"]
        for row in signals.process.rows("iterators")
        if row["loop"] == signals.loop.id and row["phase"] == "train"
    ]
    if len(tops) < 2:
        return None
    first, last = (chain(inputs, top) for top in (tops[0], tops[-1]))
    if len(last) <= len(first):
        return None
    before, after = (
        Counter((rows[n]["file"], rows[n]["line"], rows[n]["kind"]) for n in one)
        for one in (first, last)
    )
    more = Counter({key: count - before[key] for key, count in after.items() if key[1] is not None})
    key = more.most_common(1)[0][0] if more else (None, None, "")
    return Wrapped(len(first), len(last), signals.location(*key[:2]), key[2], after[key])
