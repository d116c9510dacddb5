"""`[tool.quickfit]` of a pyproject.toml: read, and refused with the key that is wrong."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from quickfit.errors import UsageError

NAME = "pyproject.toml"
FORMATS = ("text", "json", "sarif", "github")


@dataclass(frozen=True)
class Settings:
    """What a project wants, as far as it says so; None where it does not.

    Args:
        file: the pyproject.toml; globs are relative to its folder. None: there is none.
        select: the causes that are told.
        ignore: the causes that are not.
        exclude: globs of files and folders that are not read.
        per_file_ignores: globs, and the causes that are not told in such files.
        hints: whether hints are told.
        format: how the findings are written.
    """

    file: Path | None = None
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    hints: bool = False
    format: str | None = None

    @property
    def base(self) -> str:
        """The folder that globs are relative to."""
        return str((self.file or Path(NAME)).absolute().parent)


def nearest_settings(folder: Path) -> Settings:
    """Return the settings of the nearest pyproject.toml that has some, from a folder upwards.

    Raises:
        UsageError: one of them cannot be read, or its settings are wrong.
    """
    for above in (folder, *folder.parents):
        file = above / NAME
        if file.is_file() and "quickfit" in _tools(file):
            return read_settings(file)
    return Settings()


def read_settings(file: Path) -> Settings:
    """Return the settings in a file.

    Raises:
        UsageError: it cannot be read, has none, or has wrong ones.
    """
    tools = _tools(file)
    if "quickfit" not in tools:
        raise UsageError(f"{file}: has no [tool.quickfit], which is where settings are looked for.")
    table = tools["quickfit"]
    if not isinstance(table, dict):
        raise UsageError(f"{file}: tool.quickfit: a table is expected, found {_kind(table)}.")
    return _Table(file, table).settings()


def _tools(file: Path) -> Mapping[str, object]:
    try:
        content = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{file}: cannot read this file ({error.strerror}).") from error
    except (ValueError, RecursionError) as error:  # no TOML, no UTF-8, a number without an end
        raise UsageError(
            f"{file}: is not TOML ({error}).\n"
            "Repair it, or check without it:\n    quickfit check --isolated"
        ) from error
    tools = content.get("tool", {})
    return tools if isinstance(tools, dict) else {}


class _Table:
    """The keys of `[tool.quickfit]`, each with the type it must have."""

    def __init__(self, file: Path, table: Mapping[str, object]) -> None:
        self._file = file
        self._table = table

    def settings(self) -> Settings:
        self._check_keys()
        return Settings(
            file=self._file,
            select=self._texts("select") if "select" in self._table else None,
            ignore=self._texts("ignore"),
            exclude=self._texts("exclude"),
            per_file_ignores=self._by_file(),
            hints=self._truth("hints"),
            format=self._format(),
        )

    def _check_keys(self) -> None:
        known = ("select", "ignore", "exclude", "per-file-ignores", "hints", "format")
        for key in self._table:
            if key not in known:
                near = difflib.get_close_matches(key.replace("_", "-"), known, n=1)
                hint = f"Did you mean: {near[0]}" if near else f"Known: {', '.join(known)}."
                raise UsageError(f"{self._where(key)}: there is no such setting.\n{hint}")

    def _texts(self, key: str) -> tuple[str, ...]:
        return self._list(key, self._table.get(key, []))

    def _by_file(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        key = "per-file-ignores"
        table = self._table.get(key, {})
        if not isinstance(table, dict):
            raise self._wrong(key, 'a table such as {"old/*.py" = ["predict-in-loop"]}', table)
        return tuple((glob, self._list(f'{key}."{glob}"', each)) for glob, each in table.items())

    def _list(self, key: str, value: object) -> tuple[str, ...]:
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return tuple(value)
        raise self._wrong(key, 'a list of texts such as ["predict-in-loop"]', value)

    def _truth(self, key: str) -> bool:
        value = self._table.get(key, False)
        if isinstance(value, bool):
            return value
        raise self._wrong(key, "true or false", value)

    def _format(self) -> str | None:
        value = self._table.get("format")
        if value is None or value in FORMATS:
            return None if value is None else str(value)
        raise self._wrong("format", f"one of {', '.join(FORMATS)}", value)

    def _wrong(self, key: str, expected: str, value: object) -> UsageError:
        return UsageError(f"{self._where(key)}: {expected} is expected, found {_kind(value)}.")

    def _where(self, key: str) -> str:
        return f"{self._file}: tool.quickfit.{key}"


def _kind(value: object) -> str:
    if isinstance(value, str):
        return f"the text {value!r}"
    if isinstance(value, list):
        strange = [each for each in value if not isinstance(each, str)]
        return f"a list with {_kind(strange[0])} in it" if strange else "a list"
    return "a table" if isinstance(value, dict) else str(value).lower()
