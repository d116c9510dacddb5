"""Finds the line of the user behind a call of tf.data, and who made the call for them."""

from __future__ import annotations

import os
from types import CodeType, FrameType
from typing import NamedTuple

from quickfit.probes._generated import Converted, Spot, conversion, original_line
from quickfit.probes._places import Place, absolute, is_user_file

# Lines further out that are kept: where the helper was called, and who called that.
MAX_VIA = 3


class Written(NamedTuple):
    """Where a dataset operation was written.

    Args:
        place: the nearest line of the user.
        via: the lines of the user further out, each the caller of the one before.
        call: the function that the user's line calls, unless it is a class.
        made_in: the library module that made the operation on behalf of that call, if any.
        inside: the function around it, if AutoGraph wrote that anew.
    """

    place: Place
    via: tuple[tuple[str, int], ...]
    call: str
    made_in: str
    inside: Converted | None = None


# What a file of code is.
_USER = "the user's"
_GENERATED = "written by AutoGraph from the user's"
_CONVERTING = "AutoGraph"
_TF_DATA = "tf.data"
_PASSING = "only passes a call on"
_LIBRARY = "another library"


def _parts(*names: str) -> str:
    return os.sep + os.sep.join(names)


_TF_DATA_FOLDER = _parts("tensorflow", "python", "data", "")
_CONVERTING_FOLDER = _parts("tensorflow", "python", "autograph", "")
_PASSING_FOLDERS = tuple(
    _parts("tensorflow", "python", name, "") for name in ("util", "eager", "framework", "ops")
)
_PACKAGES = (_parts("site-packages", ""), _parts("dist-packages", ""))
_kinds: dict[str, str] = {}


def written(frame: FrameType | None) -> Written | None:
    """Return where the operation that is made below a frame was written."""
    lines: list[Place] = []
    called = maker = None
    spot: Spot | None = None
    inside: Converted | None = None
    code: CodeType | None = None
    while frame is not None and len(lines) <= MAX_VIA:
        # To find the line takes longer than all the rest; who calls itself is asked once.
        before, code = code, frame.f_code
        kind = _kinds.get(code.co_filename) or _kind(code.co_filename)
        if kind is _USER:
            if code is not before:
                _add(lines, code, frame.f_lineno or code.co_firstlineno)
        elif kind is _GENERATED:
            spot = spot or Spot(code, frame.f_lasti, frame.f_lineno)
        elif kind is _CONVERTING:
            if spot is not None and code.co_name == "converted_call":
                function = conversion(frame.f_locals)
                if function is not None:
                    inside = inside or function
                    _add_original(lines, spot, function)
                    spot = None
        elif not lines and spot is None and kind is not _PASSING:
            called = frame
            if maker is None and kind is _LIBRARY:
                maker = frame
        frame = frame.f_back
    if not lines:
        return None
    call = called.f_code.co_name if called is not None else ""
    made_in = str(maker.f_globals.get("__name__", "")) if maker is not None else ""
    via = tuple((place.file, place.line) for place in lines[1:])
    return Written(lines[0], via, "" if call == "__init__" else call, made_in, inside)


def _add(lines: list[Place], code: CodeType, line: int) -> None:
    # A comprehension is a function of its own on the line of its caller.
    if not lines or lines[-1].line != line or lines[-1].file != absolute(code.co_filename):
        lines.append(Place(absolute(code.co_filename), line, code.co_name))


def _add_original(lines: list[Place], spot: Spot, function: Converted) -> None:
    if is_user_file(function.original.co_filename):
        _add(lines, function.original, original_line(spot, function))


def _kind(file: str) -> str:
    if "__autograph_generated_file" in file:
        return _GENERATED  # not kept: there is a new one for each function
    known = _kinds[file] = _lasting_kind(file)
    return known


def _lasting_kind(file: str) -> str:
    if is_user_file(file):
        return _USER
    if _CONVERTING_FOLDER in file:
        return _CONVERTING
    if _TF_DATA_FOLDER in file:
        return _TF_DATA
    is_passing = file.endswith("traceback_utils.py") or any(
        folder in file for folder in _PASSING_FOLDERS
    )
    is_library = any(folder in file for folder in _PACKAGES) and not is_passing
    return _LIBRARY if is_library else _PASSING
