"""Keeps the text of every module of the user's, so that a report can point into any of them.

A callback or a model is often made in a file of which no line is ever seen on a stack.
"""

from __future__ import annotations

import sys
from types import ModuleType

from quickfit.probes._places import absolute, is_library_path, is_user_file
from quickfit.probes._state import State

# A project has some dozens of files; more than this is somebody's copy of a library.
MAX_FILES = 100


def keep_sources(state: State) -> None:
    """Keep the text of the user's modules, once, when a loop has begun."""
    if not state.loops or "user modules" in state.kept:
        return
    files = user_files()
    state.kept["user modules"] = len(files)
    for file in files:
        state.writer.add_source(file)


def user_files() -> list[str]:
    """Return the files of the user's modules that were imported."""
    return [file for file, _ in user_modules()]


def user_modules() -> list[tuple[str, str]]:
    """Return the user's modules that were imported: the file and the name of each.

    With some thousands of modules it takes 5 ms.
    """
    libraries: set[str] = set()
    found = []
    for name, module in sys.modules.copy().items():
        package = name.partition(".")[0]
        file = _file(module)
        if package in libraries or not isinstance(file, str) or not file.endswith(".py"):
            continue
        # What a library's first module is, all are: looking at thousands of paths takes time.
        if not is_library_path(file) and is_user_file(file):
            found.append((absolute(file), name))
        elif name == package:
            libraries.add(package)
    return found[:MAX_FILES]


def _file(module: ModuleType) -> object:
    """Return a module's file without asking it: a lazy module would begin to load."""
    if not isinstance(module, ModuleType):
        return None
    return ModuleType.__getattribute__(module, "__dict__").get("__file__")
