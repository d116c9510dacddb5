"""Tells the user's code from library code, and finds the user's line behind a call.

User code is everything outside the standard library, site-packages and quickfit; the folder
of the script itself always counts, wherever it lies.
"""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
from types import CodeType, FrameType
from typing import Any, NamedTuple


class Place(NamedTuple):
    """A line of code."""

    file: str
    line: int
    function: str


def _working_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return "/"


# Python names the script as it was given on the command line; a later chdir must not matter.
_START_FOLDER = _working_folder()
_LIBRARIES = tuple(
    os.path.join(os.path.realpath(path), "")
    for path in {
        *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
        os.path.dirname(os.__file__),
        os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
    }
    if path
)
_PACKAGE_FOLDERS = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_known: dict[str, bool] = {}


def is_library_path(file: str) -> bool:
    """Tell from the text of a path alone, which takes no time, that it is a library's."""
    return file.startswith(_LIBRARIES) or any(part in file for part in _PACKAGE_FOLDERS)


def is_user_file(file: str) -> bool:
    """Tell whether a code object's file name belongs to the user."""
    known = _known.get(file)
    if known is None:
        known = _known[file] = _is_user_file(file)
    return known


def _is_user_file(file: str) -> bool:
    if file.startswith("<"):
        # What the user typed has no file; every other such name is generated code.
        return file.startswith(("<stdin", "<ipython", "<string"))
    if "__autograph_generated_file" in file:
        return False
    path = absolute(file)
    # Following links asks for every folder of the path, and gives up Python's lock each time.
    if is_library_path(path) and not is_library_path(os.path.join(_main_folder(), "")):
        return False
    path = os.path.realpath(path)
    if os.path.dirname(path) == _main_folder() and not _is_library_folder(os.path.dirname(path)):
        return True
    return not path.startswith(_LIBRARIES) and not any(part in path for part in _PACKAGE_FOLDERS)


def _main_folder() -> str:
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    return _real_folder(absolute(file)) if file else ""


@functools.lru_cache(maxsize=8)
def _real_folder(file: str) -> str:
    return os.path.dirname(os.path.realpath(file))


def _is_library_folder(folder: str) -> bool:
    return os.path.join(folder, "") in _LIBRARIES or folder.endswith(("site-packages", "bin"))


def absolute(file: str) -> str:
    """Return the absolute path of a code object's file name."""
    if file.startswith("<") or os.path.isabs(file):
        return file
    return os.path.normpath(os.path.join(_START_FOLDER, file))


def user_place(frame: FrameType | None) -> Place | None:
    """Return the nearest line of user code at or above a frame."""
    while frame is not None:
        code = frame.f_code
        if is_user_file(code.co_filename):
            line = frame.f_lineno or code.co_firstlineno
            return Place(absolute(code.co_filename), line, code.co_name)
        frame = frame.f_back
    return None


def place_of_code(code: CodeType) -> Place:
    """Return where a code object begins."""
    return Place(absolute(code.co_filename), code.co_firstlineno, code.co_name)


def place_of_function(function: Any) -> Place | None:  # any callable a user may hand over
    """Return where a function, lambda, method, partial or callable object is written."""
    for _ in range(20):
        wrapped = getattr(function, "__wrapped__", None) or getattr(function, "func", None)
        if wrapped is None or wrapped is function:
            break
        function = wrapped
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if code is None:
        call = type(function).__call__ if callable(function) else None
        code = getattr(call, "__code__", None)
    return place_of_code(code) if code is not None else None
