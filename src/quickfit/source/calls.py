"""Finds a call in a text by its line, and says what the line would be with a keyword added."""

from __future__ import annotations

import ast


def call_at(text: str, line: int, method: str) -> ast.Call | None:
    """Return the call of `.method(...)` or `method(...)` whose name stands on a line."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    named = [call for call in calls if _name(call) == method]
    # A chain is one expression over many lines; the name's own line is the end of its function.
    on_line = [call for call in named if (call.func.end_lineno or 0) == line]
    within = [c for c in named if c.lineno <= line <= (c.end_lineno or c.lineno)]
    found = on_line or (within if len(within) == 1 else [])
    return found[0] if len(found) == 1 else None


def _name(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def with_keyword(text: str, call: ast.Call, keyword: str, value: str) -> tuple[str, str] | None:
    """Return the last line of a call as it is and with `keyword=value` added.

    None when the call has that keyword already, or its end cannot be edited safely.
    """
    if any(k.arg in (keyword, None) for k in call.keywords) or call.end_lineno is None:
        return None
    lines = text.splitlines()
    before = lines[call.end_lineno - 1]
    # `end_col_offset` counts bytes of UTF-8.
    end = len(before.encode()[: call.end_col_offset].decode()) - 1
    head, tail = before[:end], before[end:]
    if not tail.startswith(")"):
        return None
    stripped = head.rstrip()
    if not stripped:
        return None  # the bracket stands alone on its line: show the example instead
    joint = " " if stripped.endswith(",") else "" if stripped.endswith("(") else ", "
    after = f"{stripped}{joint}{keyword}={value}{tail}"
    return before.strip(), after.strip()


def without_keyword(text: str, call: ast.Call, keyword: str) -> tuple[str, str] | None:
    """Return the line of a call's keyword as it is and without that keyword.

    None when the call does not have it, or it does not stand on one line.
    """
    found = next((k for k in call.keywords if k.arg == keyword), None)
    if found is None or found.lineno != found.end_lineno or found.end_col_offset is None:
        return None
    before = text.splitlines()[found.lineno - 1]
    data = before.encode()
    head = data[: found.col_offset].decode().rstrip()
    tail = data[found.end_col_offset :].decode().lstrip()
    if tail.startswith(","):
        tail = tail[1:].lstrip()
        after = f"{head} {tail}" if head.endswith(",") else head + tail
    else:
        after = head.removesuffix(",") + tail
    return before.strip(), after.strip()


def module_alias(text: str, module: str, default: str) -> str:
    """Return the name under which a text imports a module, such as `tf` for tensorflow."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return default
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == module:
                    return alias.asname or alias.name
    return default
