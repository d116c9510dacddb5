"""Makes a case small while it still shows the same fault."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress

from fuzz.judging import Case

MAX_TRIES = 600


class _Budget(Exception):  # noqa: N818 - not a failure: as small as it gets
    """No more tries."""


def shrink(case: Case, shows: Callable[[Case], bool]) -> Case:
    """Return a smaller case that shows the fault: fewer files, rows, values, then bytes.

    Args:
        case: one that shows it.
        shows: whether another one does, too.
    """
    tries = iter(range(MAX_TRIES))
    best = case

    def keep(candidate: Case) -> bool:
        nonlocal best
        if next(tries, None) is None:
            raise _Budget
        if not shows(candidate):
            return False
        best = candidate
        return True

    with suppress(_Budget):
        for name in list(case):
            keep({other: data for other, data in best.items() if other != name})
        for name in list(best):
            if best[name].startswith(b"SQLite"):
                _drop_rows(name, lambda: best, keep)
            elif name.endswith((".json", ".ipynb")):
                _drop_values(name, lambda: best, keep)
            _drop_bytes(name, lambda: best, keep)
    return best


def _drop_rows(name: str, now: Callable[[], Case], keep: Callable[[Case], bool]) -> None:
    """Empty tables, or halve them."""
    with closing(sqlite3.connect(":memory:")) as db:
        try:
            db.deserialize(now()[name])
            tables = [r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        except sqlite3.Error:
            return
    for table in tables:
        for question in (
            f"DELETE FROM {table}",
            *[f"DELETE FROM {table} WHERE rowid % 2 = {{}}"] * 4,
        ):
            for rest in (0, 1):
                with closing(sqlite3.connect(":memory:")) as db, suppress(sqlite3.Error):
                    db.deserialize(now()[name])
                    db.execute(question.format(rest))
                    db.commit()
                    db.execute("VACUUM")
                    keep({**now(), name: db.serialize()})


def _drop_values(name: str, now: Callable[[], Case], keep: Callable[[Case], bool]) -> None:
    """Leave out keys and items of JSON, the outer ones first."""
    try:
        value = json.loads(now()[name])
        if not keep({**now(), name: json.dumps(value).encode()}):
            return
    except (ValueError, RecursionError):
        return
    left = [value]
    while left:
        holder = left.pop(0)
        if not isinstance(holder, (dict, list)):
            continue
        keys = list(holder) if isinstance(holder, dict) else range(len(holder) - 1, -1, -1)
        for key in keys:
            taken = holder.pop(key)
            if not keep({**now(), name: json.dumps(value).encode()}):
                holder.insert(key, taken) if isinstance(holder, list) else holder.update(
                    {key: taken}
                )
        left += holder.values() if isinstance(holder, dict) else holder


def _drop_bytes(name: str, now: Callable[[], Case], keep: Callable[[Case], bool]) -> None:
    """Leave out pieces: halves first, then smaller ones; whole lines where there are some."""
    is_text = b"\0" not in now()[name]
    parts = now()[name].splitlines(keepends=True) if is_text else [now()[name]]
    if len(parts) < 4:
        data = now()[name]
        parts = [data[at : at + 1] for at in range(len(data))]
    size = len(parts) // 2
    while size:
        at = 0
        while at < len(parts):
            fewer = parts[:at] + parts[at + size :]
            if keep({**now(), name: b"".join(fewer)}):
                parts = fewer
            else:
                at += size
        size //= 2
