"""Notes the exception that ended the script, when there was one."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from quickfit.probes._caught import message_of
from quickfit.probes._places import absolute, is_user_file
from quickfit.probes._state import State

MAX_MESSAGE, MAX_HEAD = 800, 100
# A recursion that never ended leaves a traceback of a thousand frames.
MAX_FRAMES = 5_000
MAX_USER_LINES = 20


def note(state: State) -> None:
    """Record the exception that ended the script; Python has told it by now."""
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    if not isinstance(error, BaseException):
        return
    frames = list(_frames(error.__traceback__))
    # A library may have an error printed without the script ending from it.
    if not isinstance(error, SyntaxError) and not any(map(_is_of_script, frames)):
        return
    file, line = _place(error, frames)
    facts: dict[str, Any] = {
        "type": type(error).__name__,
        "message": _message(error),
        "file": file,
        "line": line,
    }
    facts["frames"] = _user_lines(frames)
    state.writer.add("meta", ("ended_by", json.dumps(facts)))


def _frames(trace: TracebackType | None) -> Iterator[TracebackType]:
    for _ in range(MAX_FRAMES):
        if trace is None:
            return
        yield trace
        trace = trace.tb_next


def _is_of_script(trace: TracebackType) -> bool:
    script = vars(sys.modules["__main__"]) if "__main__" in sys.modules else None
    frame = trace.tb_frame
    return frame.f_globals is script and frame.f_code.co_name == "<module>"


def _place(error: BaseException, frames: list[TracebackType]) -> tuple[str | None, int | None]:
    """Return the innermost line of the user's."""
    for trace in reversed(frames):
        file = trace.tb_frame.f_code.co_filename
        if is_user_file(file):
            return absolute(file), trace.tb_lineno
    if isinstance(error, SyntaxError) and isinstance(error.filename, str):
        return absolute(error.filename), error.lineno
    return None, None


def _user_lines(frames: list[TracebackType]) -> list[tuple[str, int]]:
    """Return the user's lines that the error came through, the innermost last."""
    files = [(trace.tb_frame.f_code.co_filename, trace.tb_lineno) for trace in frames]
    lines = [(absolute(file), line) for file, line in files if is_user_file(file)]
    return lines[-MAX_USER_LINES:]


def _message(error: Any) -> str:
    try:
        # Python has just asked for the same text, to print it.
        return _shortened(str(error))
    except Exception:  # anything: the script may do as it likes there
        return message_of(error, MAX_MESSAGE)


def _shortened(text: str) -> str:
    """Return the begin and the end: TensorFlow tells the reason after a traceback of its own."""
    if len(text) <= MAX_MESSAGE:
        return text
    return f"{text[:MAX_HEAD]} … {text[-(MAX_MESSAGE - MAX_HEAD - 3) :]}"
