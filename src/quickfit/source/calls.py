"""Finds a call in a text by its line, and says what the line would be with a keyword added."""

from __future__ import annotations

import ast
import warnings


def call_at(text: str, line: int, method: str) -> ast.Call | None:
    """Return the call of `.method(...)` or `method(...)` whose name stands on a line."""
    tree = parsed(text)
    if tree is None:
        return None
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    named = [call for call in calls if _name(call) == method]
    # A chain is one expression over many lines; the name's own line is the end of its function.
    on_line = [call for call in named if call.func.end_lineno == line]
    within = [c for c in named if (c.func.end_lineno or 0) <= line <= (c.end_lineno or 0)]
    found = on_line or (within if len(within) == 1 else [])
    return found[0] if len(found) == 1 else None


def with_keyword(text: str, call: ast.Call, keyword: str, value: str) -> tuple[str, str] | None:
    """Return the last line of a call as it is and with `keyword=value` added.

    None when the call has that keyword already or may have it (by position, by `*` or `**`), or
    its end cannot be edited safely.
    """
    if any(k.arg in (keyword, None) for k in call.keywords) or call.end_lineno is None:
        return None
    if len(call.args) > 1 or any(isinstance(arg, ast.Starred) for arg in call.args):
        return None
    lines = _lines(text)
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
    return _edit(lines, call.end_lineno, f"{stripped}{joint}{keyword}={value}{tail}")


def without_keyword(text: str, call: ast.Call, keyword: str) -> tuple[str, str] | None:
    """Return the line of a call's keyword as it is and without that keyword.

    None when the call does not have it, or it does not stand on one line.
    """
    found = next((k for k in call.keywords if k.arg == keyword), None)
    if found is None or found.lineno != found.end_lineno or found.end_col_offset is None:
        return None
    lines = _lines(text)
    data = lines[found.lineno - 1].encode()
    head = data[: found.col_offset].decode().rstrip()
    tail = data[found.end_col_offset :].decode().lstrip()
    if tail.startswith(","):
        tail = tail[1:].lstrip()
        after = f"{head} {tail}" if head.endswith(",") else head + tail
    elif tail.startswith("#"):
        after = f"{head}  {tail}"
    else:
        after = head.removesuffix(",") + tail
    return _edit(lines, found.lineno, after)


def module_alias(text: str, module: str, default: str) -> str:
    """Return the name under which a text imports a module, such as `tf` for tensorflow."""
    tree = parsed(text)
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import)] if tree else []
    names = [alias for node in imports for alias in node.names]
    for alias in names:
        if alias.name == module:
            return alias.asname or alias.name
    # `import tensorflow.keras` binds `tensorflow` too.
    is_bound = any(a.asname is None and a.name.startswith(f"{module}.") for a in names)
    return module if is_bound else default


def parsed(text: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            # Odd escapes in the user's strings are not for our reader to hear about.
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # the last two: brackets nested beyond what the parser takes


def _lines(text: str) -> list[str]:
    """Return the lines as the parser counts them, for which a form feed ends none."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _name(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _edit(lines: list[str], line: int, after: str) -> tuple[str, str] | None:
    """Return a line before and after an edit, unless the text would no longer be Python."""
    before = lines[line - 1]
    if parsed("\n".join([*lines[: line - 1], after, *lines[line:]])) is None:
        return None
    return before.strip(), after.strip()
