"""The newest rows of a recording that grows, without reading the rest of it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from quickfit.errors import RecordingError
from quickfit.recording.opening import open_growing
from quickfit.recording.shapes import is_number

Row = dict[str, Any]  # a value may be text, a number or None; JSON columns hold any value
_BUSY_S = 0.2


class NewRows:
    """Asks one process's recording for what was written last.

    A question that cannot be answered, because the file is not there yet or a table is missing,
    has no rows for an answer.

    Args:
        file: the SQLite file of the process.
    """

    def __init__(self, file: Path) -> None:
        self.file = file

    def ask(self, sql: str, *values: Any) -> list[Row]:
        """Return the rows of a query."""
        try:
            with closing(open_growing(self.file, busy_s=_BUSY_S)) as db:
                db.row_factory = sqlite3.Row
                return [dict(row) for row in db.execute(sql, values)]
        except (sqlite3.Error, UnicodeDecodeError, OSError, RecordingError):
            return []

    def newest(self, table: str, count: int) -> list[Row]:
        """Return the last rows of a table in the order they were written."""
        rows = self.ask(f"SELECT * FROM {table} ORDER BY rowid DESC LIMIT ?", count)
        return rows[::-1]

    def since(self, table: str, at_s: float, count: int) -> list[Row]:
        """Return the rows of a table after a moment, of the last `count` it has."""
        rows = self.newest(table, count)
        # The script may have written to the file, too: any value may be in it.
        return [row for row in rows if is_number(row.get("at_s")) and row["at_s"] > at_s]

    def facts(self) -> Row:
        """Return the facts of the process."""
        return {row["key"]: value_of(row["value"]) for row in self.ask("SELECT * FROM meta")}


def value_of(text: str | None) -> Any:  # any JSON value
    """Return what a JSON text means; nothing for one that is cut off."""
    try:
        return json.loads(text) if text is not None else None
    except (ValueError, RecursionError):
        return None
