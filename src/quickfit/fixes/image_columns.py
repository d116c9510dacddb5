"""Writes the list of what all items have: their paths, their labels."""

from __future__ import annotations

import ast
import copy
import re

from quickfit.fixes.image_names import Names
from quickfit.fixes.image_values import INDEX, Item, NotRecognisedError, code, number
from quickfit.fixes.script import Function


def whole(item: Item, hint: str) -> str:
    """Return the list of an expression over all items, as code.

    `hint` names one item where the list is made by a comprehension.
    """
    direct = _direct(item.node)
    if direct is not None:
        return direct
    bases = _bases(item.node)
    if len(bases) != 1:
        raise NotRecognisedError
    base = bases[0]
    parts = _parts(item.node, base)
    names = {at: hint if code(item.node) == f"{base}[{INDEX}][{at}]" else "_" for at in parts}
    if parts and max(parts) <= 1 and set(names.values()) != {"_"} and len(parts) == 1:
        at = next(iter(parts))
        target = [hint if n == at else "_" for n in range(2)]
        return f"[{hint} for {', '.join(target)} in {base}]"
    variable = _singular(base)
    text = code(item.node).replace(f"{base}[{INDEX}]", variable)
    if INDEX in text:
        raise NotRecognisedError
    return f"[{text} for {variable} in {base}]"


def lists(item: Item) -> list[str]:
    """Return the lists that an item is taken from."""
    return _bases(item.node)


def as_texts(column: str, names: Names, scope: Function | None) -> str:
    """Return a list of paths as texts, which TensorFlow takes; other paths it does not."""
    node = ast.parse(column, mode="eval").body
    if names.is_text(node, scope):
        return column
    if isinstance(node, ast.ListComp):
        if names.is_text(node.elt, scope):
            return column
        return f"[str({code(node.elt)}) {column[len(code(node.elt)) + 2 :]}"
    return f"[str(path) for path in {column}]"


def _direct(node: ast.expr) -> str | None:
    """Return the list that the items are taken from unchanged."""
    if not isinstance(node, ast.Subscript):
        return None
    if code(node.slice) == INDEX:
        base = code(node.value)
        return f"{base.removesuffix('.iloc')}.tolist()" if base.endswith(".iloc") else base
    row, name = node.value, node.slice
    if not isinstance(row, ast.Subscript) or code(row.slice) != INDEX:
        return None
    is_text = isinstance(name, ast.Constant) and isinstance(name.value, str)
    if is_text and code(row.value).endswith(".iloc"):
        return f"{code(row.value).removesuffix('.iloc')}[{code(name)}].tolist()"
    return None


def _bases(node: ast.expr) -> list[str]:
    parts = [part for part in ast.walk(node) if isinstance(part, ast.Subscript)]
    found = [code(part.value) for part in parts if code(part.slice) == INDEX]
    if sum(isinstance(n, ast.Name) and n.id == INDEX for n in ast.walk(node)) != len(found):
        raise NotRecognisedError  # the number itself is used
    return list(dict.fromkeys(found))


def _parts(node: ast.expr, base: str) -> set[int]:
    """Return the parts of an item that are used, where it is used by parts only."""
    node = copy.deepcopy(node)
    parts, whole_uses = set(), 0
    for part in ast.walk(node):
        if isinstance(part, ast.Subscript) and code(part.value) == f"{base}[{INDEX}]":
            at = number(part.slice)
            if at is None:
                return set()
            parts.add(int(at))
            whole_uses -= 1
        if isinstance(part, ast.Subscript) and code(part) == f"{base}[{INDEX}]":
            whole_uses += 1
    return parts if whole_uses == 0 else set()


def _singular(base: str) -> str:
    """Return a name for one item of a list."""
    name = re.sub(r"\W.*$", "", base.rsplit(".", 1)[-1]) or "item"
    known = {"indices": "index", "idx": "i", "idxs": "i", "order": "i", "entries": "entry"}
    if name in known:
        return known[name]
    if name.endswith("ies"):
        return name[:-3] + "y"
    return name[:-1] if name.endswith("s") and len(name) > 2 else "item"
