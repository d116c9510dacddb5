"""Puts a line right behind the import of a module: before anything has used it."""

from __future__ import annotations

import ast

from quickfit.fixes.change import Edit
from quickfit.fixes.lookup import bindings
from quickfit.fixes.places import said
from quickfit.fixes.script import Script

Import = ast.Import | ast.ImportFrom


def behind_import(script: Script, module: str, alias: str, code: str) -> tuple[Edit, ...] | str:
    """Return the edits that put a line behind the import of a module; or why that is not certain.

    Args:
        script: the file that is run.
        module: such as `tensorflow`.
        alias: the name it gets where the file does not import it by itself.
        code: one line, in which `{name}` stands for the module.
    """
    parts = _imports(script, module)
    for node in parts:
        name = _name_in(node, module)
        if name is not None:
            return _behind(script, node, code.format(name=name))
    if bindings(script, alias):
        return f"`{alias}` in {said(script, 1)} is not imported at the top of the file"
    code = code.format(name=alias)
    if not parts:
        return (_with_import(script, module, alias, code),)
    # `from tensorflow.keras import layers`: the module itself has no name yet.
    return _behind(script, parts[0], f"{_statement(module, alias)}\n{code}")


def _imports(script: Script, module: str) -> list[Import]:
    """Return the statements at the top of a file that import a module or a part of it."""
    found: list[Import] = []
    for node in script.tree.body:
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        if isinstance(node, Import) and any(_is_part(name, module) for name in names):
            found.append(node)
    return found


def _is_part(name: str, module: str) -> bool:
    return name == module or name.startswith(f"{module}.")


def _name_in(node: Import, module: str) -> str | None:
    """Return the name that a statement gives to the module itself."""
    for alias in node.names if isinstance(node, ast.Import) else ():
        if alias.name == module:
            return alias.asname or module
        if _is_part(alias.name, module) and alias.asname is None:
            return module  # `import tensorflow.keras` binds `tensorflow`
    return None


def _behind(script: Script, node: Import, code: str) -> tuple[Edit, ...] | str:
    edit = script.insert_after(node, code)
    if edit is None:
        return f"{said(script, node.lineno)} has other code in the line of the import"
    return (edit,)


def _statement(module: str, alias: str) -> str:
    return f"import {module}" if alias == module else f"import {module} as {alias}"


def _with_import(script: Script, module: str, alias: str, code: str) -> Edit:
    """Return the edit for a file that imports nothing of the module at its top."""
    _, (added,) = script.import_of(module, "" if alias == module else alias)
    text = f"{added.text}\n{code}" if added.text.startswith("\n") else f"{added.text}{code}\n"
    return Edit(added.file, added.begin, added.end, text)
