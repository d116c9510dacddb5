"""A dataset is wrapped in further operations again and again, in every epoch or round.

Why it is slow: `ds = ds.map(...)` in a loop does not replace the pipeline, it puts another stage on
top of all the earlier ones. Every element goes through all of them, and every new iterator has more
stages to build before its first batch.

How it shows: each new iterator of the loop has more operations behind it than the one before, the
same line several times; and steps, or the first step of an epoch, take longer and longer, while
callbacks and the script's own code do not.

Example:
    for epoch in range(50):
        ds = ds.map(augment).shuffle(1000)
        model.fit(ds, epochs=1)

Use instead:
    train = ds.map(augment).shuffle(1000)
    for epoch in range(50):
        model.fit(train, epochs=1)

Fix class: repairs. With every round the same function is applied once more, so the model also
trains on data that nobody meant. `map` and `shuffle` draw anew in every epoch by themselves.

When it is wrong: a dataset that is meant to get longer (files that are added in every round) has
more operations, too; what grows then is the data, and the line is the one that adds it. A dataset
that is built anew, but not larger, is `dataset-rebuilt-per-epoch`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quickfit.causes._cause import Cause
from quickfit.findings import Evidence, Finding, Fix, FixClass, Location, Symptom
from quickfit.signals import Signals
from quickfit.signals.drift_places import certain, cost_share, gain, guilty, ruled_out, slower
from quickfit.signals.drift_series import chain

if TYPE_CHECKING:
    from quickfit.signals._facade import Signals


# The line must be there this often: twice may be a helper that is called for two purposes.
MIN_TIMES = 3


def detect(signals: Signals) -> Finding | None:
    """Report the line that wraps the dataset once more in every round."""
    found, grown = guilty(signals), wrapped(signals)
    if found is None or found.kind != "pipeline" or grown is None or grown.times < MIN_TIMES:
        return None
    slow = found.slow
    return Finding(
        summary=f"the dataset is wrapped in one more `{grown.kind.lower()}` again and again",
        where=grown.location or signals.loop.location,
        evidence=(
            Evidence(
                "operations behind the last iterator",
                grown.last,
                "count",
                f"{grown.first} behind the first; {grown.times} of them from this line",
                grown.location,
            ),
            Evidence(f"for one {slow.unit} at the end", slow.last_s, "s", slower(slow)),
            Evidence("of the growth is in the input", slow.share, "share", certain(slow)),
        ),
        gain=gain(slow, signals),
        cost_share=cost_share(slow, signals),
        claims=("input_wait", "epoch_start", "step"),
        not_found=ruled_out(slow),
        is_of_whole=slow.unit == "epoch",
    )


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


CAUSE = Cause(
    title="A dataset is wrapped again and again",
    symptom=Symptom.SLOWING_DOWN,
    detect=detect,
    advice=Fix(
        title="Build the pipeline once, before the loop, under a name of its own",
        kind=FixClass.REPAIRS,
        note="The data was changed once more in every round; what the model learns changes.",
    ),
)
