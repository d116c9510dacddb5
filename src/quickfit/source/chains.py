"""Says what a line of a chain of calls would be with a call added, replaced or changed."""

from __future__ import annotations

import ast
from collections.abc import Callable

from quickfit.source.calls import _edit, _lines

Edit = tuple[str, str]


def with_call_after(text: str, call: ast.Call, name: str) -> Edit | None:
    """Return the last line of a call as it is and with `.name()` behind the call."""
    return _changed(text, call, lambda head, tail: f"{head}.{name}(){tail}")


def with_call_replaced(text: str, call: ast.Call, code: str) -> Edit | None:
    """Return the line of a call such as `.cache()` as it is and with `.code` in its place.

    None where the call spans lines.
    """
    if not isinstance(call.func, ast.Attribute) or call.func.value.end_lineno != call.end_lineno:
        return None
    begin = call.func.value.end_col_offset or 0

    def replaced(head: str, tail: str) -> str:
        return f"{head.encode()[:begin].decode()}{code}{tail}"

    return _changed(text, call, replaced)


def with_first_argument(text: str, call: ast.Call, value: str) -> Edit | None:
    """Return the line of a call's first argument as it is and with another value."""
    given = [*call.args, *(k.value for k in call.keywords if k.arg == "buffer_size")]
    if not given or given[0].lineno != given[0].end_lineno:
        return None
    lines = _lines(text)
    data = lines[given[0].lineno - 1].encode()
    head = data[: given[0].col_offset].decode()
    tail = data[given[0].end_col_offset or 0 :].decode()
    return _edit(lines, given[0].lineno, f"{head}{value}{tail}")


def _changed(text: str, call: ast.Call, change: Callable[[str, str], str]) -> Edit | None:
    if call.end_lineno is None:
        return None
    lines = _lines(text)
    # `end_col_offset` counts bytes of UTF-8.
    data = lines[call.end_lineno - 1].encode()
    head, tail = data[: call.end_col_offset].decode(), data[call.end_col_offset or 0 :].decode()
    return _edit(lines, call.end_lineno, change(head, tail))
