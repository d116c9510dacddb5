"""JSON files whose bytes depend on nothing but what they say, written so that they are whole.

Names with bytes that are no UTF-8 appear as escapes of surrogates (`\\udcff`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

# Made once: `json.dumps` would make one for every line.
_encode = json.JSONEncoder(separators=(",", ":")).encode


def line(values: Mapping[str, Any]) -> str:  # whatever JSON holds
    """Return one line of a file of JSON objects."""
    return _encode(values) + "\n"


def read_lines(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file.

    Raises:
        ValueError: a line is no JSON object.
    """
    with file.open(encoding="utf-8") as opened:
        for number, text in enumerate(opened, 1):
            values = _value_of(text)
            if not isinstance(values, dict):
                raise ValueError(f"line {number} is no JSON object")
            yield values


def _value_of(text: str) -> Any:  # whatever JSON holds
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def write_lines(file: Path, aside: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    """Write a file of JSON objects; it is there when it is whole."""
    _write(file, aside, map(line, lines))


def write(file: Path, aside: Path, values: Mapping[str, Any]) -> None:
    """Write a file of one JSON object; it is there when it is whole."""
    _write(file, aside, (json.dumps(values, indent=1), "\n"))


def _write(file: Path, aside: Path, texts: Iterable[str]) -> None:
    with aside.open("w", encoding="ascii", newline="\n") as opened:
        opened.writelines(texts)
    aside.replace(file)


def read(file: Path) -> dict[str, Any]:
    """Return the JSON object of a file.

    Raises:
        ValueError: it is none.
    """
    values = _value_of(file.read_text(encoding="utf-8"))
    if not isinstance(values, dict):
        raise ValueError("it is no JSON object")
    return values
