"""Finds the functions and classes that an edit leaves without any use."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable

from quickfit.fixes.change import Edit, patched
from quickfit.fixes.script import Project, Script

_Definition = ast.FunctionDef | ast.ClassDef


def removals(project: Project, script: Script, edits: Iterable[Edit]) -> list[Edit]:
    """Return the edits that remove what nothing names any more, and something named before.

    What carries a comment stays: comments are not lost.
    """
    own = [edit for edit in edits if edit.file == script.file]
    before = _named(script.tree)
    found: list[Edit] = []
    while True:
        tree = ast.parse(patched(script.text, [*own, *found]))
        left = _named(tree)
        more = [
            edit
            for node in script.tree.body
            if isinstance(node, _Definition) and before[node.name] > 0 and left[node.name] <= 0
            if _is_defined(tree, node.name) and not _is_named_elsewhere(project, script, node.name)
            if (edit := _removed(script, node)) is not None
        ]
        if not more:
            return found
        found += more


def _named(tree: ast.AST) -> Counter[str]:
    """Return how often names are named, as names, attributes or texts, but not in themselves."""
    counts: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            counts[node.id] += 1
        elif isinstance(node, ast.Attribute):
            counts[node.attr] += 1
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            counts[node.value] += 1
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, _Definition):
            inside = [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]
            counts[node.name] -= inside.count(node.name)
    for node in (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)):
        own = {s.name for s in node.body if isinstance(s, ast.FunctionDef)}
        inside = [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]
        counts.subtract(name for name in inside if name in own)  # they mean the inner one
    return counts


def _is_defined(tree: ast.Module, name: str) -> bool:
    return any(isinstance(node, _Definition) and node.name == name for node in tree.body)


def _is_named_elsewhere(project: Project, script: Script, name: str) -> bool:
    others = [other for file in project.files if (other := project.script(file)) is not None]
    return any(name in other.text for other in others if other is not script)


def _removed(script: Script, node: _Definition) -> Edit | None:
    """Return the edit that removes a definition and the empty lines behind it."""
    first, last = script.begin(node)[0], script.end(node)[0]
    above = script.lines[first - 2].lstrip() if first > 1 else ""
    if node.decorator_list or above.startswith("#") or not script.is_alone(node):
        return None
    if script.has_comment(node, node):
        return None
    line = last + 1
    while line < len(script.lines) and not script.lines[line - 1].strip():
        line += 1
    return Edit(script.file, (first, 0), (line, 0), "")
