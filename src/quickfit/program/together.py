"""Which files of a program run in one process: those that some script imports together."""

from __future__ import annotations

import re
from pathlib import Path
from weakref import WeakKeyDictionary

from quickfit.errors import SourceError
from quickfit.program import Module, Program

Edges = dict[str, set[str]]
_IMPORT = re.compile(r"^[ \t]*import[ \t]+([^\n#;]+)", re.MULTILINE)
_FROM = re.compile(
    r"^[ \t]*from[ \t]+([.\w]+)[ \t]+import[ \t]*(\([^)]*\)|(?:[^\n#;\\]|\\\n)+)", re.MULTILINE
)
# Files that Python or pytest loads for those in and below their folder.
_FOR_THE_FOLDER = ("__init__.py", "conftest.py")

_graphs: WeakKeyDictionary[Program, tuple[Edges, Edges]] = WeakKeyDictionary()


def together(program: Program, path: str) -> set[str]:
    """Return the files that may run in one process with a file, itself among them."""
    if program not in _graphs:
        _graphs[program] = _graph(program)
    imports, importers = _graphs[program]
    return _reached(_reached({path}, importers), imports)


def imported_names(module: Module) -> set[str]:
    """Return the full names of what a file imports, with its dots in front where it is relative."""
    return _names_in(module.text)


def _names_in(text: str) -> set[str]:
    """Return what a text imports, read without a parser: all files of a program are asked."""
    found: set[str] = set()
    for match in _IMPORT.finditer(text):
        found |= {_first(part) for part in match[1].split(",")} - {""}
    for match in _FROM.finditer(text):
        source, names = match[1], match[2].strip("()")
        joint = "" if source.endswith(".") else "."
        lines = [line.split("#")[0] for line in names.split("\n")]
        parts = [_first(part) for line in lines for part in line.split(",")]
        found |= {source, *(f"{source}{joint}{part}" for part in parts if part)}
    return found


def _first(part: str) -> str:
    """Return the name of `name as other`."""
    words = part.replace("\\", " ").split()
    return words[0] if words else ""


def _graph(program: Program) -> tuple[Edges, Edges]:
    paths = set(program.files.paths)
    known: dict[tuple[Path, str], str] = {}
    imports = {path: _imported(program, path, paths, known) for path in paths}
    importers: Edges = {}
    for path, others in imports.items():
        for other in others:
            importers.setdefault(other, set()).add(path)
    return imports, importers


def _imported(
    program: Program, path: str, paths: set[str], known: dict[tuple[Path, str], str]
) -> set[str]:
    try:
        names = _names_in(program.files.text(path))
    except SourceError:
        return set()
    folder = Path(path).parent
    found = {str(f / name) for f in Path(path).parents for name in _FOR_THE_FOLDER} & paths
    for name in names:
        if (folder, name) not in known:
            known[folder, name] = program.files.path_of(path, name)
        found.add(known[folder, name])
    return found - {path, ""}


def _reached(paths: set[str], edges: Edges) -> set[str]:
    found, waiting = set(paths), list(paths)
    while waiting:
        new = edges.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found
