"""Lists that an object keeps: `self.paths` is shuffled between epochs, `self.labels` is not."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from quickfit.patterns.label_names import is_label, is_mixed, words
from quickfit.patterns.lineage import Tracer, place
from quickfit.patterns.partings import Parting, draws_differ

Slices = dict[str, list[ast.Subscript]]


def class_partings(tracer: Tracer) -> Iterator[Parting]:
    """Yield what parts the lists of the classes of a file."""
    shuffled: dict[ast.ClassDef, list[ast.Call]] = defaultdict(list)
    for call in tracer.module.calls("shuffle"):
        owner = tracer.module.around(call, ast.ClassDef)
        if owner is not None and _member(call.args[0] if call.args else None):
            shuffled[owner].append(call)
    for owner, calls in shuffled.items():
        calls = [call for call in calls if tracer.is_shuffle(call)]
        yield from _partings(tracer, owner, sorted(calls, key=place))


def _partings(tracer: Tracer, owner: ast.ClassDef, calls: list[ast.Call]) -> Iterator[Parting]:
    names = [_member(call.args[0]) for call in calls]
    for call, name in zip(calls, names, strict=True):
        method = tracer.module.function(call)
        if getattr(method, "name", "__init__") == "__init__" or names.count(name) > 1:
            continue
        for label, used in _partners(owner, name):
            if label not in names and not _is_touched(owner, label):
                text = f"`self.{name}` is shuffled and `self.{label}` is not: examples get the"
                yield Parting(call, used, f"{text} labels of others")
                break
            other = calls[names.index(label)] if names.count(label) == 1 else None
            if other is not None and place(call) < place(other):
                if draws_differ(tracer.module, call, other):
                    both = f"`self.{name}` and `self.{label}` are shuffled one after the other"
                    yield Parting(other, used, f"{both}, each in its own order")
                break


def _partners(owner: ast.ClassDef, name: str) -> Iterator[tuple[str, ast.Subscript]]:
    """Yield the labels of which a method takes the same items as of a list."""
    for method in owner.body:
        if not isinstance(method, ast.FunctionDef) or method.name == "__init__":
            continue
        taken: Slices = defaultdict(list)
        for node in ast.walk(method):
            if isinstance(node, ast.Subscript) and _member(node.value):
                taken[_member(node.value)].append(node)
        wanted = {ast.unparse(node.slice) for node in taken.get(name, ())}
        for other, nodes in taken.items():
            if other != name and _is_label_of(other, name):
                yield from ((other, n) for n in nodes if ast.unparse(n.slice) in wanted)


def _is_label_of(other: str, name: str) -> bool:
    is_one = is_label(words(other)) and not is_label(words(name))
    return is_one and not is_mixed(words(other)) and not is_mixed(words(name))


def _is_touched(owner: ast.ClassDef, name: str) -> bool:
    """Tell whether a list gets another value, or goes to another function, outside `__init__`."""
    for method in owner.body:
        if not isinstance(method, ast.FunctionDef) or method.name == "__init__":
            continue
        if any(_touches(node, name) for node in ast.walk(method)):
            return True
    return False


def _touches(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return _member(node) == name
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        return _member(node.value) == name
    if not isinstance(node, ast.Call) or getattr(node.func, "id", "") == "len":
        return False
    return any(_member(given) == name for given in node.args)


def _member(node: ast.AST | None) -> str:
    """Return the name of `self.name`; empty for anything else."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return ""
    return node.attr if node.value.id == "self" else ""
