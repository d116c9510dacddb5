"""Finds the place where a value that a call is given is written out as a constant."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from quickfit.fixes.change import Edit
from quickfit.fixes.lookup import (
    argument,
    assigned,
    bindings,
    called,
    imported,
    last_name,
    loads,
    may_have_more,
    only_value,
)
from quickfit.fixes.script import Project, Script

# Names and calls that are followed, one after the other.
MAX_DEPTH = 5


@dataclass(frozen=True)
class Written:
    """A constant in the text, and how many places read the name it has; 0 without a name."""

    script: Script
    node: ast.Constant
    reads: int = 0

    @property
    def value(self) -> object:
        """The constant's value."""
        return self.node.value

    def edit(self, code: str) -> Edit:
        """Return the edit that puts other code in its place."""
        return self.script.replace(self.node, code)


def written(
    script: Script, value: ast.expr | None, project: Project, depth: int = 0
) -> Written | None:
    """Return where a value is written out: in place, or as the only value of a name.

    Names of modules of the project, entries of a dict, attributes that are set once, arguments of
    a function that is called once and defaults of the command line are followed.
    """
    if isinstance(value, ast.Constant):
        return Written(script, value)
    if depth > MAX_DEPTH:
        return None
    if isinstance(value, ast.Name):
        return _named(script, value.id, project, depth)
    if isinstance(value, ast.Subscript):
        return _entry(script, value, project, depth)
    return _attribute(script, value, project) if isinstance(value, ast.Attribute) else None


def _named(script: Script, name: str, project: Project, depth: int) -> Written | None:
    other = imported(script, name, project)
    if other is not None:
        found = _named(*other, project, depth + 1) if depth <= MAX_DEPTH else None
        return found and Written(found.script, found.node, found.reads + len(loads(script, name)))
    value, reads = only_value(script, name), len(loads(script, name))
    if isinstance(value, ast.Constant):
        return Written(script, value, reads)
    place = given_to(script, name, project)
    found = written(*place, project, depth + 1) if place is not None else None
    # Without a name of its own the constant is read as often as the argument is.
    return found and Written(found.script, found.node, max(found.reads, 1) + reads - 1)


def given_to(script: Script, name: str, project: Project) -> tuple[Script, ast.expr] | None:
    """Return what the only call of a function gives for the argument of a name."""
    found = bindings(script, name)
    argument_node = found[0] if len(found) == 1 else None
    function = script.around(found[0], ast.FunctionDef) if found else None
    if not isinstance(argument_node, ast.arg) or function is None:
        return None
    calls = [
        (other, call)
        for file in project.files
        if (other := project.script(file)) is not None
        for call in other.all(ast.Call)
        if called(call) == function.name
    ]
    names = [arg.arg for arg in function.args.args]
    if len(calls) != 1 or may_have_more(calls[0][1]) or argument_node.arg not in names:
        return None
    other, call = calls[0]
    place = names.index(name) - (names[:1] == ["self"])
    value = call.args[place] if 0 <= place < len(call.args) else argument(call, name)
    return (other, value) if value is not None else None


def _entry(script: Script, value: ast.Subscript, project: Project, depth: int) -> Written | None:
    """Return where `CFG["size"]` is written in the one dict of that name."""
    if not isinstance(value.value, ast.Name) or not isinstance(value.slice, ast.Constant):
        return None
    name = value.value.id
    given = given_to(script, name, project)
    if given is not None and isinstance(given[1], ast.Name) and not _is_changed(script, name):
        there = ast.Subscript(given[1], value.slice, ast.Load())
        found = written(given[0], there, project, depth + 1)
        reads = _reads_entry(script, name, value.slice.value)
        return found and Written(found.script, found.node, max(found.reads - 1, 0) + reads)
    owner, known = imported(script, name, project) or (script, name)
    table = only_value(owner, known)
    if not isinstance(table, ast.Dict) or _is_changed(script, name) or _is_changed(owner, known):
        return None
    for key, entry in zip(table.keys, table.values, strict=True):
        if isinstance(key, ast.Constant) and key.value == value.slice.value:
            reads = sum(_reads_entry(s, n, key.value) for s, n in {(script, name), (owner, known)})
            return Written(owner, entry, reads) if isinstance(entry, ast.Constant) else None
    return None


def _is_changed(script: Script, name: str) -> bool:
    """Tell whether an entry of a dict is set, or the dict is handed to code that may set one."""
    for node in loads(script, name):
        parent = script.parent(node)
        if isinstance(parent, ast.Subscript) and not isinstance(parent.ctx, ast.Load):
            return True
        if isinstance(parent, ast.Attribute) and parent.attr in ("update", "pop", "setdefault"):
            return True
    return False


def _reads_entry(script: Script, name: str, key: object) -> int:
    parents = [script.parent(node) for node in loads(script, name)]
    whole = sum(not isinstance(parent, ast.Subscript) for parent in parents)
    slices = [p.slice for p in parents if isinstance(p, ast.Subscript)]
    return whole + sum(isinstance(s, ast.Constant) and s.value == key for s in slices)


def _attribute(script: Script, value: ast.Attribute, project: Project) -> Written | None:
    """Return where `args.size` or `self.size` gets its only value."""
    if not isinstance(value.value, ast.Name):
        return None
    stores = [
        node
        for file in project.files
        if (other := project.script(file)) is not None
        for node in other.all(ast.Attribute)
        if node.attr == value.attr and not isinstance(node.ctx, ast.Load)
    ]
    reads = sum(node.attr == value.attr for node in script.all(ast.Attribute)) - len(stores)
    if value.value.id == "self":
        found = _of_class(script, value, stores)
    else:
        made = only_value(script, value.value.id) if not stores else None
        found = _default(script, value.attr) if _is_parsed(made) else _of_made(script, made, value)
    return Written(script, found, reads) if found is not None else None


def _of_class(
    script: Script, value: ast.Attribute, stores: list[ast.Attribute]
) -> ast.Constant | None:
    """Return the constant that a class, or one assignment to `self`, gives to an attribute."""
    owner = script.around(value, ast.ClassDef)
    if owner is None:
        return None
    names = [n for s in owner.body if isinstance(s, ast.Assign) for n in s.targets]
    given: list[ast.AST] = [*stores, *(n for n in names if last_name(n) == value.attr)]
    found = assigned(script, given[0]) if len(given) == 1 else None
    return found if isinstance(found, ast.Constant) else None


def _of_made(script: Script, made: ast.expr | None, value: ast.Attribute) -> ast.Constant | None:
    """Return the default of an attribute of `Config()`, which is made without arguments."""
    if not isinstance(made, ast.Call) or made.args or made.keywords:
        return None
    owners = [owner for owner in script.all(ast.ClassDef) if owner.name == called(made)]
    body = owners[0].body if len(owners) == 1 and not owners[0].bases else []
    found = [s.value for s in body if isinstance(s, ast.AnnAssign) and _sets(s, value.attr)]
    return found[0] if len(found) == 1 and isinstance(found[0], ast.Constant) else None


def _sets(statement: ast.AnnAssign, name: str) -> bool:
    return last_name(statement.target) == name


def _is_parsed(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Call) and called(value) in ("parse_args", "get_args", "parse")


def _default(script: Script, name: str) -> ast.Constant | None:
    """Return the default of the option of the command line that has a name."""
    found = [call for call in _options(script) if _option(call) == name]
    default = argument(found[0], "default") if len(found) == 1 else None
    return default if isinstance(default, ast.Constant) else None


def _options(script: Script) -> Iterator[ast.Call]:
    return (call for call in script.all(ast.Call) if called(call) == "add_argument" and call.args)


def _option(call: ast.Call) -> str:
    dest = argument(call, "dest")
    if isinstance(dest, ast.Constant):
        return str(dest.value)
    texts = [str(arg.value) for arg in call.args if isinstance(arg, ast.Constant)]
    long = [text for text in texts if text.startswith("--")] or texts[-1:]
    return long[0].lstrip("-").replace("-", "_") if long else ""
