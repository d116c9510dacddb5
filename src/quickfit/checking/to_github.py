"""Findings as commands of GitHub Actions, which shows them beside the lines of a pull request."""

from __future__ import annotations

import os

from quickfit.checking.records import Outcome, Told, Trouble

# GitHub has another word than SARIF for the mildest one.
_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def to_github(outcome: Outcome) -> str:
    """Return one line per finding and per file that could not be checked."""
    lines = [_finding(told) for told in outcome.told]
    lines += [_trouble(trouble) for trouble in outcome.troubles]
    return "".join(f"{line}\n" for line in lines)


def _finding(told: Told) -> str:
    spotted = told.spotted
    where = spotted.where
    properties = {"file": _file(where.file), "line": told.file_lines[0]}
    if not where.cell:  # columns of a notebook's cell mean nothing in its file
        properties["col"] = where.column
        if where.end_line:
            properties["endLine"] = where.end_line
        if where.end_line == where.line:
            properties["endColumn"] = where.end_column
    properties["title"] = f"{spotted.cause}: {spotted.effect.value}"
    change = f"\nFix: {spotted.change.title}" if spotted.change else ""
    cell = f"cell {where.cell}, line {where.line}: " if where.cell else ""
    return _command(_COMMANDS[told.level], properties, f"{cell}{spotted.summary}{change}")


def _trouble(trouble: Trouble) -> str:
    properties: dict[str, object] = {"file": _file(trouble.where.file)}
    if trouble.file_line:
        properties["line"] = trouble.file_line
        if not trouble.where.cell:
            properties["col"] = trouble.where.column
    properties["title"] = "cannot be checked"
    return _command("error", properties, trouble.message)


def _command(name: str, properties: dict[str, object], message: str) -> str:
    given = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    return f"::{name} {given}::{_data(message)}"


def _data(text: str) -> str:
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _file(path: str) -> str:
    """Return a path as GitHub looks for it: from the top of the checkout."""
    base = os.environ.get("GITHUB_WORKSPACE") or os.getcwd()
    relative = os.path.relpath(path, base)
    return path if relative.startswith("..") else relative
