"""Findings as SARIF 2.1.0, the format that code scanning services read (an OASIS standard)."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from pathlib import Path
from urllib.parse import quote

from quickfit import __version__
from quickfit.causes import Cause, catalogue
from quickfit.checking.records import Outcome, Told, Trouble
from quickfit.checking.to_json import MAX_LINE, clean
from quickfit.findings import Span
from quickfit.report.text import clip

ROOT = "SRCROOT"
FINGERPRINT = "quickfitFinding/v1"
# Brackets that a viewer would take for a link.
_LINK = re.compile(r"\[([^\[\]]*)\](?=\()")

Node = dict[str, object]


def dumps(outcome: Outcome) -> str:
    """Return everything that was found as one SARIF run, with a line end."""
    causes = sorted(outcome.by_cause)
    run: Node = {
        "tool": {"driver": _driver(causes, outcome)},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"uri": f"{Path.cwd().as_uri().rstrip('/')}/"}},
        "invocations": [_invocation(outcome)],
        "results": _results(outcome, causes),
    }
    log: Node = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    }
    return f"{json.dumps(log, indent=2, allow_nan=False)}\n"


def _driver(causes: list[str], outcome: Outcome) -> Node:
    levels = {told.spotted.cause: told.level for told in outcome.told}
    rules = [_rule(catalogue().get(name), name, levels[name]) for name in causes]
    return {"name": "quickfit", "version": __version__, "rules": rules}


def _rule(cause: Cause | None, name: str, level: str) -> Node:
    rule: Node = {"id": name, "name": _pascal(name), "defaultConfiguration": {"level": level}}
    if cause is not None:
        page = clean(cause.page)
        rule["shortDescription"] = {"text": clean(cause.title)}
        rule["fullDescription"] = {"text": " ".join(page.split("\n\n")[0].split())}
        rule["help"] = {"text": page, "markdown": _markdown(page)}
        rule["properties"] = {"tags": [str(cause.symptom)]}
    return rule


def _pascal(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("-"))


def _markdown(page: str) -> str:
    """Return a cause's page with its headings bold; its code is indented, as Markdown has it."""
    headed = re.sub(r"^([A-Z][\w ]+):", r"**\1:**", page, flags=re.MULTILINE)
    return re.sub(r"(\*\*\n)(?=    )", r"\1\n", headed)


def _invocation(outcome: Outcome) -> Node:
    notes = [_notification(trouble) for trouble in outcome.troubles]
    call: Node = {"executionSuccessful": not notes, "exitCode": outcome.exit_code}
    return {**call, "toolExecutionNotifications": notes} if notes else call


def _notification(trouble: Trouble) -> Node:
    where = trouble.where
    region: Node = {}
    if trouble.file_line:
        region["startLine"] = trouble.file_line
        if not where.cell:
            region["startColumn"] = where.column
    physical: Node = {"artifactLocation": _artifact(where.file)}
    if region:
        physical["region"] = region
    return {
        "level": "error",
        "message": {"text": _message(trouble.message)},
        "locations": [{"physicalLocation": physical}],
    }


def _results(outcome: Outcome, causes: list[str]) -> list[Node]:
    seen: Counter[str] = Counter()
    results = []
    for told in outcome.told:
        mark = _mark(told)
        seen[mark] += 1
        results.append(_result(told, causes, f"{mark}:{seen[mark]}"))
    return results


def _mark(told: Told) -> str:
    """Return what stays the same when lines are moved: the cause, the file and the line's text."""
    where = told.spotted.where
    parts = (told.spotted.cause, str(_artifact(where.file)["uri"]), told.line.strip())
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _result(told: Told, causes: list[str], fingerprint: str) -> Node:
    spotted = told.spotted
    result: Node = {
        "ruleId": spotted.cause,
        "ruleIndex": causes.index(spotted.cause),
        "level": told.level,
        "message": {"text": _message(spotted.summary)},
        "locations": [_location(spotted.where, told.file_lines[0], told.line)],
        "partialFingerprints": {FINGERPRINT: fingerprint},
        "properties": {"effect": spotted.effect.value, "isHint": spotted.is_hint},
    }
    if spotted.related:
        result["relatedLocations"] = [
            {"id": number, **_location(where, line), "message": {"text": _message(words)}}
            for number, ((where, words), line) in enumerate(
                zip(spotted.related, told.file_lines[1:], strict=True), 1
            )
        ]
    fix = _fix(told)
    return {**result, "fixes": [fix]} if fix else result


def _location(where: Span, line: int, snippet: str = "") -> Node:
    region: Node = {"startLine": max(line, 1)}
    if not where.cell:  # columns of a notebook's cell mean nothing in its file
        region |= _columns(where)
    if snippet:
        region["snippet"] = {"text": clean(clip(snippet, MAX_LINE))}
    location: Node = {
        "physicalLocation": {"artifactLocation": _artifact(where.file), "region": region}
    }
    if where.cell:
        cell = {"name": f"cell {where.cell}", "kind": "module"}
        return {**location, "logicalLocations": [cell]}
    return location


def _columns(where: Span) -> Node:
    columns: Node = {"startColumn": where.column}
    if where.end_line:
        columns |= {"endLine": where.end_line, "endColumn": where.end_column}
    return columns


def _fix(told: Told) -> Node | None:
    """Return the change; none in a notebook, whose file is not the text that is edited."""
    change = told.spotted.change
    if change is None or not told.edits or any(where.cell for where, _ in told.edits):
        return None
    changes = []
    for file in change.files:
        replacements = [
            {
                "deletedRegion": {"startLine": where.line, **_columns(where)},
                "insertedContent": {"text": clean(text)},
            }
            for where, text in told.edits
            if where.file == file
        ]
        changes.append({"artifactLocation": _artifact(file), "replacements": replacements})
    return {"description": {"text": _message(change.title)}, "artifactChanges": changes}


def _artifact(file: str) -> Node:
    relative = os.path.relpath(file)
    if relative.startswith(".."):
        return {"uri": f"file://{quote(os.fsencode(file))}"}
    return {"uri": quote(os.fsencode(Path(relative).as_posix())), "uriBaseId": ROOT}


def _message(text: str) -> str:
    return _LINK.sub(r"\\[\1\\]", clean(text))
