"""Imports: which files run together, how a file names a library's things, code behind imports."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from weakref import WeakKeyDictionary

from quickfit.code.module import Module
from quickfit.code.names import Binding
from quickfit.code.program import Program
from quickfit.code.scopes import binders_in_file
from quickfit.errors import SourceError
from quickfit.findings import Edit

Edges = dict[str, set[str]]
_IMPORT = re.compile(r"^[ \t]*import[ \t]+([^\n#;]+)", re.MULTILINE)
_FROM = re.compile(
    r"^[ \t]*from[ \t]+([.\w]+)[ \t]+import[ \t]*(\([^)]*\)|(?:[^\n#;\\]|\\\n)+)", re.MULTILINE
)
# Files that Python or pytest loads for those in and below their folder.
_FOR_THE_FOLDER = ("__init__.py", "conftest.py")

_graphs: WeakKeyDictionary[Program, tuple[Edges, Edges]] = WeakKeyDictionary()


def files_run_together(program: Program, path: str) -> set[str]:
    """Return the files that may run in one process with a file, itself among them."""
    if program not in _graphs:
        _graphs[program] = _import_graph(program)
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


def _import_graph(program: Program) -> tuple[Edges, Edges]:
    paths = set(program.files.paths)
    known: dict[tuple[Path, str], str] = {}
    imports = {path: _paths_imported(program, path, paths, known) for path in paths}
    importers: Edges = {}
    for path, others in imports.items():
        for other in others:
            importers.setdefault(other, set()).add(path)
    return imports, importers


def _paths_imported(
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


MAX_SPELLING_DEPTH = 6
_SAME = (
    ("tensorflow.compat.v2.", "tensorflow."),
    ("keras.api.", "keras."),
    *(
        (f"tensorflow.{part}.", f"tensorflow.keras.{part}.")
        for part in ("losses", "metrics", "optimizers", "initializers")
    ),
)


def spelled_name(program: Program, module: Module, node: ast.expr, depth: int = 0) -> str:
    """Return the full name of what an expression surely is in a library; else empty."""
    if isinstance(node, ast.Attribute):
        base = spelled_name(program, module, node.value, depth)
        return usual_name(f"{base}.{node.attr}") if base else ""
    if not isinstance(node, ast.Name) or depth > MAX_SPELLING_DEPTH:
        return ""
    bindings = program.files.bindings(module).reaching(node, node.id)
    found = {_name_of_binding(program, module, binding, depth) for binding in bindings}
    return found.pop() if len(found) == 1 else ""


def usual_name(name: str) -> str:
    """Return a full name without the ways around that mean nothing."""
    for long, short in _SAME:
        if name.startswith(long):
            return short + name.removeprefix(long)
    return name


def _name_of_binding(program: Program, module: Module, binding: Binding, depth: int) -> str:
    if binding.kind == "value" and binding.value is not None and not binding.path:
        return spelled_name(program, module, binding.value, depth + 1)
    if binding.kind not in ("import", "from") or binding.module.startswith("."):
        return ""
    if program.files.imported(module.path, binding.module) is not None:
        return ""  # a file of the program by that name
    full = binding.module if binding.kind == "import" else f"{binding.module}.{binding.name}"
    return usual_name(full)


def respell_name(program: Program, module: Module, node: ast.expr, name: str) -> str:
    """Return how a file would write a full name in the place of an expression; else empty.

    What the two names begin with alike stays as it is written: `tf` of `tf.log`.
    """
    part = node
    while isinstance(part, ast.Attribute):
        part = part.value
        base = spelled_name(program, module, part)
        if base and name.startswith(f"{base}."):
            return f"{module.code(part)}.{name.removeprefix(f'{base}.')}"
    return ""


Import = ast.Import | ast.ImportFrom


def behind_import(module: Module, library: str, alias: str, code: str) -> tuple[Edit, ...] | str:
    """Return the edits that put a line behind the import of a module; or why that is not certain.

    Args:
        script: the file that is run.
        library: such as `tensorflow`.
        alias: the name it gets where the file does not import it by itself.
        code: one line, in which `{name}` stands for the module.
    """
    parts = _imports(module, library)
    for node in parts:
        name = _name_in(node, library)
        if name is not None:
            return _behind(module, node, code.format(name=name))
    if binders_in_file(module, alias):
        return f"`{alias}` in {module.place(1)} is not imported at the top of the file"
    code = code.format(name=alias)
    if not parts:
        return (_with_import(module, library, alias, code),)
    # `from tensorflow.keras import layers`: the module itself has no name yet.
    return _behind(module, parts[0], f"{_statement(library, alias)}\n{code}")


def _imports(module: Module, library: str) -> list[Import]:
    """Return the statements at the top of a file that import a module or a part of it."""
    found: list[Import] = []
    for node in module.tree.body:
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        if isinstance(node, Import) and any(_is_part(name, library) for name in names):
            found.append(node)
    return found


def _is_part(name: str, library: str) -> bool:
    return name == library or name.startswith(f"{library}.")


def _name_in(node: Import, library: str) -> str | None:
    """Return the name that a statement gives to the module itself."""
    for alias in node.names if isinstance(node, ast.Import) else ():
        if alias.name == library:
            return alias.asname or library
        if _is_part(alias.name, library) and alias.asname is None:
            return library  # `import tensorflow.keras` binds `tensorflow`
    return None


def _behind(module: Module, node: Import, code: str) -> tuple[Edit, ...] | str:
    edit = module.insert_after(node, code)
    if edit is None:
        return f"{module.place(node.lineno)} has other code in the line of the import"
    return (edit,)


def _statement(library: str, alias: str) -> str:
    return f"import {library}" if alias == library else f"import {library} as {alias}"


def _with_import(module: Module, library: str, alias: str, code: str) -> Edit:
    """Return the edit for a file that imports nothing of the module at its top."""
    _, (added,) = module.import_of(library, "" if alias == library else alias)
    text = f"{added.text}\n{code}" if added.text.startswith("\n") else f"{added.text}{code}\n"
    return Edit(added.file, added.begin, added.end, text)
