"""Changes to the rows of a built run that the causes about whole pipelines are tested with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from quickfit.recording.reader import Recording
from quickfit.signals import Signals

from builders import recording

MEMORY = {"memory_bytes": 16_000_000_000}


def changed(*changes: Callable[[Recording], None], **given: Any) -> Signals:
    """Return the signals of a built run with its rows changed."""
    given.setdefault("facts", MEMORY)
    built = recording(**given)
    for change in changes:
        change(built)
    return Signals(built)


def facts(kind: str, **given: Any) -> Callable[[Recording], None]:
    """Add facts to the dataset operations of a kind."""

    def change(built: Recording) -> None:
        for row in built.main.tables["datasets"]:
            if row["kind"] == kind:
                row["facts"] = {**row["facts"], **given}

    return change


def of_loop(**given: Any) -> Callable[[Recording], None]:
    """Add facts to the loop."""

    def change(built: Recording) -> None:
        built.main.tables["loops"][0]["facts"].update(given)

    return change


def one_iterator_per_epoch(built: Recording) -> None:
    """Let every epoch have an iterator of its own over the same dataset, as Keras does."""
    tables = built.main.tables
    first = tables["iterators"][0]
    begins = [row["begin_s"] for row in tables["epochs"]]
    tables["iterators"] = [
        {**first, "id": n, "created_s": at_s} for n, at_s in enumerate(begins, start=1)
    ]
    for row in tables["pipelines"]:
        row["iterator"] = sum(at_s < row["at_s"] for at_s in begins)


def cache_is_read(built: Recording) -> None:
    """Let the cache of later epochs be read: what is before it is gone."""
    for row in built.main.tables["pipelines"]:
        if row["iterator"] > 1:
            place = next(n for n, node in enumerate(row["nodes"]) if "CacheImpl" in node[1])
            row["nodes"][place][-1] = []
            row["nodes"] = row["nodes"][: place + 1]


def after(operation: dict[str, Any], above: str) -> Callable[[Recording], None]:
    """Put one more operation behind the one of a kind."""

    def change(built: Recording) -> None:
        rows = built.main.tables["datasets"]
        number = next(row["id"] for row in rows if row["kind"] == above)
        for row in rows:
            row["inputs"] = [90 if n == number else n for n in row["inputs"]]
        rows.append({"id": 90, "file": rows[0]["file"], "inputs": [number], **operation})

    return change


def rebuilt_each_epoch(built: Recording) -> None:
    """Let every epoch build its own datasets at the same lines."""
    one_iterator_per_epoch(built)
    tables = built.main.tables
    rows, copies = tables["datasets"], []
    for number, iterator in enumerate(tables["iterators"]):
        iterator["dataset"] += 100 * number
        for row in rows:
            inputs = [n + 100 * number for n in row["inputs"]]
            copies.append({**row, "id": row["id"] + 100 * number, "inputs": inputs})
    tables["datasets"] = copies
