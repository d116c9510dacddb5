"""Lists of images in columns: which column holds the paths, and which the labels."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quickfit.data.sources.names import is_image_name, option_name, shown
from quickfit.errors import UsageError

_PATH_NAMES = (
    *("path", "file", "filename", "file_name", "filepath", "file_path", "fname"),
    *("image", "image_path", "image_file", "image_filename", "image_name", "img", "img_path"),
    *("img_name", "images", "files", "paths", "filenames", "picture", "photo"),
)
_LABEL_NAMES = (
    *("label", "labels", "class", "classes", "target", "category", "class_name", "label_name"),
    *("class_label", "class_id", "label_id", "category_id", "categories", "y"),
)
# Enough rows to tell a column of paths from one of other texts.
_LOOK_AT_ROWS = 50


@dataclass(frozen=True)
class Table:
    """Columns of equal length.

    Args:
        where: what messages call the table.
        columns: the names of the columns.
        values: gives the values of a column, by its position.
        is_text: whether all values are text, as in a file.
    """

    where: str
    columns: Sequence[str]
    values: Callable[[int], list[Any]]  # Any: whatever the user's table holds
    is_text: bool

    def path_column(self, wanted: str | int | None) -> int:
        """Return the position of the column that holds the paths.

        Raises:
            UsageError: there is no such column, or no one that it must be.
        """
        if wanted is not None:
            return self._position(wanted, "path_column")
        candidates = [n for n in self._named(_PATH_NAMES) if self._is_text_column(n)]
        if len(candidates) != 1:
            looking = [n for n in candidates or range(len(self.columns)) if self._has_images(n)]
            candidates = looking or candidates[:1]
        if len(candidates) != 1:
            found = "several columns hold" if candidates else "no column seems to hold"
            raise UsageError(
                f"{self.where}: {found} paths of images. {self._offer()}\n"
                "Name the column: --path-column NAME (path_column=…)"
            )
        return candidates[0]

    def label_column(self, wanted: str | int | None, path_column: int) -> int | None:
        """Return the position of the column that holds the labels; None if there is none.

        Of two columns the one beside the paths needs no name if it looks like classes.

        Raises:
            UsageError: there is no such column.
        """
        if wanted is not None:
            return self._position(wanted, "label_column")
        named = [n for n in self._named(_LABEL_NAMES) if n != path_column]
        if not named and len(self.columns) == 2 and self._has_classes(1 - path_column):
            return 1 - path_column
        return named[0] if named else None

    def _position(self, wanted: str | int, option: str) -> int:
        if wanted in self.columns:
            return list(self.columns).index(str(wanted))
        if isinstance(wanted, int) and 0 <= wanted < len(self.columns):
            return wanted
        raise UsageError(
            f"{self.where}: {option_name(option)} is {wanted!r}, and there is no such column. "
            f"{self._offer()}"
        )

    def _named(self, names: Sequence[str]) -> list[int]:
        """Return the columns of these names, in the order of the names."""
        spelled = [re.sub(r"[\s\-.]+", "_", str(column).strip().lower()) for column in self.columns]
        return [spelled.index(name) for name in names if name in spelled]

    def _is_text_column(self, column: int) -> bool:
        rows = self.values(column)[:_LOOK_AT_ROWS]
        # One path is enough: that another is missing is told by its row.
        return not rows or any(isinstance(value, str | os.PathLike) for value in rows)

    def _has_images(self, column: int) -> bool:
        rows = self.values(column)[:_LOOK_AT_ROWS]
        return bool(rows) and all(is_image_name(str(value).strip()) for value in rows)

    def _has_classes(self, column: int) -> bool:
        """Return whether the one column beside the paths holds classes: values that come again."""
        values = [str(value).strip() for value in self.values(column)]
        is_repeated = len(set(values)) < len(values)
        return is_repeated and not any(_is_no_class(value) for value in values)

    def _offer(self) -> str:
        return f"The columns are: {shown(', '.join(self.columns))}."


def _is_no_class(value: str) -> bool:
    """Return whether a value is missing, a measured number, or the path of another image."""
    try:
        return not float(value).is_integer()
    except ValueError:
        return not value or value in ("None", "<NA>", "NaT") or is_image_name(value)


def is_table(where: object) -> bool:
    """Return whether something has named columns, as a DataFrame or a dictionary of lists has."""
    if isinstance(where, Mapping):
        return True
    return hasattr(where, "columns") and hasattr(where, "__getitem__")


def from_columns(where: Any) -> Table:  # Any: pandas, polars, a dictionary; none is imported
    """Return the table that a DataFrame or a dictionary of columns is."""
    columns = list(where.columns if hasattr(where, "columns") else where.keys())
    lengths = {str(column): len(where[column]) for column in columns}
    if len(set(lengths.values())) > 1:
        raise UsageError(f"the columns of the table differ in length: {lengths}.")

    def values(position: int) -> list[Any]:  # Any: as above
        return list(where[columns[position]])

    return Table("the table", [str(column) for column in columns], values, is_text=False)
