"""Finds names in a file that its libraries do not have any more, and how to write them now."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from quickfit.findings import Edit
from quickfit.patterns.gone import LAST_NAMES, STILL_THERE, Gone, gone
from quickfit.program import Module, Program
from quickfit.program.spelling import respelled, spelled, usual
from quickfit.program.together import imported_names

_TF_KERAS = "tensorflow.keras"
_FROM = re.compile(r"from\s+([\w.]+)\s+import\b")


@dataclass(frozen=True)
class GoneName:
    """A place with a name that is gone, and the edits that write it as it is now, if any."""

    node: ast.AST
    gone: Gone
    edits: tuple[Edit, ...]


def gone_names(program: Program, module: Module) -> Iterator[GoneName]:
    """Yield imports and attributes that raise an error where they are run."""
    roots = {name.split(".")[0] for name in imported_names(module)} & {"keras", "tensorflow"}
    # A folder of the program by that name is no library.
    libraries = {root for root in roots if not program.files.path_of(module.path, root)}
    if not libraries:
        return
    for node in module.all(ast.ImportFrom):
        if not node.level and (node.module or "").split(".")[0] in libraries:
            yield from _from(module, node)
    for plain in module.all(ast.Import):
        for alias in plain.names:
            found = gone(usual(alias.name)) if alias.name.split(".")[0] in libraries else None
            if found is not None:
                yield GoneName(alias, found, _plain_edit(module, alias, found))
    yield from _attributes(program, module, _bound(module, libraries))


def _bound(module: Module, libraries: set[str]) -> set[str]:
    """Return the names that may stand for something of the libraries."""
    found: set[str] = set()
    for node in module.all(ast.ImportFrom):
        if not node.level and (node.module or "").split(".")[0] in libraries:
            found |= {alias.asname or alias.name for alias in node.names}
    for plain in module.all(ast.Import):
        names = [a for a in plain.names if a.name.split(".")[0] in libraries]
        found |= {alias.asname or alias.name.split(".")[0] for alias in names}
    for given in module.all(ast.Assign):
        target = given.targets[0]
        if isinstance(target, ast.Name) and _root(given.value) in found:
            found.add(target.id)
    return found


def _root(node: ast.expr) -> str:
    """Return the first name of `name.a.b`; empty for anything else."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


# -- imports --------------------------------------------------------------------------------


def _from(module: Module, node: ast.ImportFrom) -> Iterator[GoneName]:
    source = usual(node.module or "")
    whole = gone(source)
    if whole is not None:
        yield GoneName(node, whole, _whole_edit(module, node, source, whole))
        return
    for alias in node.names:
        full = f"{source}.{alias.name}"
        found = gone(full)
        if found is not None and found.name == full:
            yield GoneName(alias, found, _alias_edit(module, node, alias, found))


def _whole_edit(module: Module, node: ast.ImportFrom, source: str, whole: Gone) -> tuple[Edit, ...]:
    names = {alias.name for alias in node.names}
    if whole.name == source and _has(whole.instead, names):
        return module_edit(module, node, whole.instead)
    alias = node.names[0]
    inner = gone(f"{source}.{alias.name}")
    is_inner = inner is not None and inner.name == f"{source}.{alias.name}" and len(names) == 1
    return _alias_edit(module, node, alias, inner) if is_inner and inner is not None else ()


def _has(target: str, names: set[str]) -> bool:
    """Tell whether a module has all these names, as far as the tables say."""
    if not target:
        return False
    known = STILL_THERE.get("keras" + target.removeprefix(_TF_KERAS).removeprefix("keras"))
    return known is None or names <= known


def module_edit(module: Module, node: ast.ImportFrom, target: str) -> tuple[Edit, ...]:
    """Return the edit that imports from another module."""
    line, column = module.begin(node)
    written = _FROM.match(module.lines[line - 1], column)
    if written is None:
        return ()
    return (Edit(module.path, (line, written.start(1)), (line, written.end(1)), target),)


def _alias_edit(
    module: Module, node: ast.ImportFrom, alias: ast.alias, found: Gone
) -> tuple[Edit, ...]:
    if not found.instead:
        return ()
    parent, last = found.instead.rsplit(".", 1)
    bound = alias.asname or alias.name
    if found.instead in (f"tensorflow.{found.name}",):
        # All that `keras` has there `tf.keras` has as well.
        return module_edit(module, node, parent)
    if not _has(found.instead, _used(module, bound)) and _is_moved(found):
        return ()
    code = last if last == bound else f"{last} as {bound}"
    edit = module.replace(alias, code)
    if parent == usual(node.module or ""):
        return (edit,)
    return (*module_edit(module, node, parent), edit) if len(node.names) == 1 else ()


def _is_moved(found: Gone) -> bool:
    """Tell whether a module is gone, and not a function or class."""
    return found.instead.rsplit(".", 1)[1].islower() and found.instead.count(".") <= 2


def _used(module: Module, name: str) -> set[str]:
    """Return the attributes of a name that a file asks for."""
    return {
        n.attr
        for n in module.all(ast.Attribute)
        if isinstance(n.value, ast.Name) and n.value.id == name
    }


def _plain_edit(module: Module, alias: ast.alias, found: Gone) -> tuple[Edit, ...]:
    is_whole = found.name == usual(alias.name) and alias.asname is not None
    if not is_whole or not _has(found.instead, _used(module, alias.asname or "")):
        return ()
    return (module.replace(alias, f"{found.instead} as {alias.asname}"),)


# -- attributes -----------------------------------------------------------------------------


def _attributes(program: Program, module: Module, roots: set[str]) -> Iterator[GoneName]:
    for node in module.all(ast.Attribute) if roots else ():
        if node.attr not in LAST_NAMES or not isinstance(node.ctx, ast.Load):
            continue
        if _root(node) not in roots:
            continue
        full = spelled(program, module, node)
        found = gone(full) if full else None
        if found is None or found.name != full or _is_told(program, module, node, full):
            continue
        yield GoneName(node, found, _attribute_edit(program, module, node, found))


def _is_told(program: Program, module: Module, node: ast.Attribute, full: str) -> bool:
    """Tell whether a name is told of elsewhere: by its import, or as a part of a longer one."""
    above = module.parent(node)
    if isinstance(above, ast.Attribute):
        longer = f"{full}.{above.attr}"
        found = gone(longer)
        if found is not None and found.name == longer:
            return True
    part: ast.expr = node
    while isinstance(part, ast.Attribute):
        part = part.value
    return gone(spelled(program, module, part)) is not None


def _attribute_edit(
    program: Program, module: Module, node: ast.Attribute, found: Gone
) -> tuple[Edit, ...]:
    if not found.instead:
        return ()
    above = module.parent(node)
    if isinstance(above, ast.Attribute) and not _has(found.instead, {above.attr}):
        return ()
    code = respelled(program, module, node, found.instead)
    if code:
        return (module.replace(node, code),)
    if found.instead == f"tensorflow.{found.name}":
        return _import_edit(program, module, node)
    return ()


def _import_edit(program: Program, module: Module, node: ast.Attribute) -> tuple[Edit, ...]:
    """Return the edit that imports from `tf.keras` what an attribute is taken of."""
    if not isinstance(node.value, ast.Name):
        return ()
    bindings = program.files.bindings(module).reaching(node.value, node.value.id)
    nodes = [b.node for b in bindings]
    if len(nodes) != 1 or not isinstance(nodes[0], ast.Import | ast.ImportFrom):
        return ()
    statement = nodes[0]
    if len(statement.names) != 1:
        return ()
    if isinstance(statement, ast.ImportFrom):
        return module_edit(module, statement, f"tensorflow.{statement.module}")
    alias = statement.names[0]
    code = f"tensorflow.{alias.name} as {alias.asname}"
    return (module.replace(alias, code),) if alias.asname else ()
