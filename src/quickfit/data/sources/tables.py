"""Tables and text files of paths and labels: CSV, TSV, DataFrames, plain lists."""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quickfit.data.sources.listing import is_image_name, option_name, printable_name
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
_DELIMITERS = (",", "\t", ";", "|")
_ENDS_IN_LABEL = re.compile(r"(.*\S)[ \t]+(\S+)")


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
        return f"The columns are: {printable_name(', '.join(self.columns))}."


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


def table_from_columns(where: Any) -> Table:  # Any: pandas, polars, a dictionary; none is imported
    """Return the table that a DataFrame or a dictionary of columns is."""
    columns = list(where.columns if hasattr(where, "columns") else where.keys())
    lengths = {str(column): len(where[column]) for column in columns}
    if len(set(lengths.values())) > 1:
        raise UsageError(f"the columns of the table differ in length: {lengths}.")

    def values(position: int) -> list[Any]:  # Any: as above
        return list(where[columns[position]])

    return Table("the table", [str(column) for column in columns], values, is_text=False)


def read_table(path: str) -> Table:
    """Return the columns of a CSV or TSV file.

    Raises:
        UsageError: it cannot be read, or its rows differ in length.
    """
    text = read_text(path)
    first = text.lstrip().split("\n", 1)[0]
    delimiter = "\t" if path.lower().endswith(".tsv") else _find_delimiter(first)
    rows, numbers = _table_rows(path, text, delimiter)
    if not rows:
        raise UsageError(f"{path}: this table is empty.")
    header = [cell.strip() for cell in rows[0]]
    if any(is_image_name(cell) for cell in header):
        header = [f"column {number}" for number in range(1, len(header) + 1)]
    else:
        rows, numbers = rows[1:], numbers[1:]
    _check_widths(path, header, rows, numbers)
    return Table(path, header, lambda n: [row[n].strip(" ") for row in rows], is_text=True)


def is_tabular(path: str) -> bool:
    """Return whether a text file has columns: it says so, or every line has a comma."""
    if path.lower().endswith((".csv", ".tsv")):
        return True
    lines = [line.strip() for line in read_text(path).split("\n") if line.strip()]
    return bool(lines) and all(
        not is_image_name(line) and ("," in line or ";" in line) for line in lines
    )


def read_path_lines(path: str) -> tuple[list[str], list[str] | None]:
    """Return the paths of a list, one in a line, and the labels after them if every line has one.

    Raises:
        UsageError: it cannot be read.
    """
    lines = [line.strip(" \t\r") for line in read_text(path).split("\n")]
    lines = [line for line in lines if line]
    if any(is_image_name(line) for line in lines):
        return lines, None
    matches = [_ENDS_IN_LABEL.fullmatch(line) for line in lines]
    pairs = [match.groups() for match in matches if match and is_image_name(match.group(1))]
    # A space may belong to a name: labels only where no line can be read in another way.
    if lines and len(pairs) == len(lines):
        return [name for name, _ in pairs], [label for _, label in pairs]
    return lines, None


def read_text(path: str) -> str:
    """Return the text of a file; bytes that are no UTF-8 become surrogates, as in file names.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}.") from None
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", "replace")
    return content.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")


def containing_folder(path: str) -> str:
    """Return the folder that the paths in a file begin at."""
    return os.path.dirname(path) or "."


def _find_delimiter(line: str) -> str:
    """Return what separates the columns: what a line has most of, outside of quotes."""
    outside = "".join(line.split('"')[::2])
    return max(_DELIMITERS, key=outside.count)


def _table_rows(path: str, text: str, delimiter: str) -> tuple[list[list[str]], list[int]]:
    """Return the rows that are not empty, and the line that each ends in."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows, numbers = [], []
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append(row)
                numbers.append(reader.line_num)
    except csv.Error as error:
        raise UsageError(
            f"{path}:{reader.line_num}: cannot be read as a table: {error}.\n"
            "Is a quotation mark missing?"
        ) from None
    return rows, numbers


def _check_widths(path: str, header: list[str], rows: list[list[str]], numbers: list[int]) -> None:
    names = printable_name(", ".join(header))
    for row, number in zip(rows, numbers, strict=True):
        if len(row) != len(header):
            raise UsageError(
                f"{path}:{number}: this row has {len(row)} columns, the first has {len(header)} "
                f"({names}).\nPut a text that has a comma in it into quotation marks."
            )
    if not rows:
        raise UsageError(f"{path}: this table has a header ({names}) and no rows.")
