"""Reads CSV and TSV files, with a header or without, and plain lists of paths."""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
from pathlib import Path

from quickfit.data.sources.names import is_image_name, shown
from quickfit.data.sources.table import Table
from quickfit.errors import UsageError

_DELIMITERS = (",", "\t", ";", "|")
_ENDS_IN_LABEL = re.compile(r"(.*\S)[ \t]+(\S+)")


def read_table(path: str) -> Table:
    """Return the columns of a CSV or TSV file.

    Raises:
        UsageError: it cannot be read, or its rows differ in length.
    """
    text = text_of(path)
    first = text.lstrip().split("\n", 1)[0]
    delimiter = "\t" if path.lower().endswith(".tsv") else _delimiter(first)
    rows, numbers = _rows(path, text, delimiter)
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
    lines = [line.strip() for line in text_of(path).split("\n") if line.strip()]
    return bool(lines) and all(
        not is_image_name(line) and ("," in line or ";" in line) for line in lines
    )


def read_lines(path: str) -> tuple[list[str], list[str] | None]:
    """Return the paths of a list, one in a line, and the labels after them if every line has one.

    Raises:
        UsageError: it cannot be read.
    """
    lines = [line.strip(" \t\r") for line in text_of(path).split("\n")]
    lines = [line for line in lines if line]
    if any(is_image_name(line) for line in lines):
        return lines, None
    matches = [_ENDS_IN_LABEL.fullmatch(line) for line in lines]
    pairs = [match.groups() for match in matches if match and is_image_name(match.group(1))]
    # A space may belong to a name: labels only where no line can be read in another way.
    if lines and len(pairs) == len(lines):
        return [name for name, _ in pairs], [label for _, label in pairs]
    return lines, None


def text_of(path: str) -> str:
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


def folder_of(path: str) -> str:
    """Return the folder that the paths in a file begin at."""
    return os.path.dirname(path) or "."


def _delimiter(line: str) -> str:
    """Return what separates the columns: what a line has most of, outside of quotes."""
    outside = "".join(line.split('"')[::2])
    return max(_DELIMITERS, key=outside.count)


def _rows(path: str, text: str, delimiter: str) -> tuple[list[list[str]], list[int]]:
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
    names = shown(", ".join(header))
    for row, number in zip(rows, numbers, strict=True):
        if len(row) != len(header):
            raise UsageError(
                f"{path}:{number}: this row has {len(row)} columns, the first has {len(header)} "
                f"({names}).\nPut a text that has a comma in it into quotation marks."
            )
    if not rows:
        raise UsageError(f"{path}: this table has a header ({names}) and no rows.")
