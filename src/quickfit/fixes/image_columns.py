"""Writes the list of what all items have: their paths, their labels."""

from __future__ import annotations

import ast
import copy
import keyword
import re

from quickfit.fixes.image_names import Names
from quickfit.fixes.image_values import INDEX, KEY, Facts, Item, NotRecognisedError, code
from quickfit.fixes.script import Function


def whole(item: Item, hint: str, facts: Facts) -> str:
    """Return the list of an expression over all items, as code.

    `hint` names one item where the list is made by a comprehension.
    """
    direct = _direct(item.node)
    if direct is not None:
        return direct
    bases = _bases(item.node)
    if len(bases) != 1 or bases[0].endswith(".iloc") or _uses_number(item.node):
        return _by_number(item.node, facts)
    base = bases[0]
    by_parts = _by_parts(item.node, base, hint, facts)
    if by_parts:
        return by_parts
    names = {n.id for n in ast.walk(item.node) if isinstance(n, ast.Name)}
    variable = next((n for n in (_singular(base), hint, "item") if n not in names), "")
    text = code(_with(item.node, f"{base}[{INDEX}]", variable))
    if INDEX in text or not variable:
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
        if base.endswith(".iloc"):
            return f"{base.removesuffix('.iloc')}.tolist()"
        return base
    row, name = node.value, node.slice
    if not isinstance(row, ast.Subscript) or code(row.slice) != INDEX:
        return None
    is_text = isinstance(name, ast.Constant) and isinstance(name.value, str)
    if is_text and code(row.value).endswith(".iloc"):
        return f"{code(row.value).removesuffix('.iloc')}[{code(name)}].tolist()"
    return None


def _uses_number(node: ast.expr) -> bool:
    """Tell whether the number of an item is used for more than to take it from a list."""
    parts = [part for part in ast.walk(node) if isinstance(part, ast.Subscript)]
    taken = sum(code(part.slice) == INDEX for part in parts)
    uses = [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in (INDEX, KEY)]
    return len(uses) != taken


def _by_number(node: ast.expr, facts: Facts) -> str:
    """Return a list that is made by the numbers of the items, exactly as the user took them."""
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    known = [facts.drawn[0]] if facts.drawn else facts.lengths
    length = next((node for node in known if code(node) not in facts.lists), None)
    if length is None or "i" in names:
        raise NotRecognisedError
    made = _with(_with(node, INDEX, "i"), KEY, "i")
    return f"[{code(made)} for i in range(len({code(length)}))]"


def _bases(node: ast.expr) -> list[str]:
    parts = [part for part in ast.walk(node) if isinstance(part, ast.Subscript)]
    found = [code(part.value) for part in parts if code(part.slice) in (INDEX, KEY)]
    return list(dict.fromkeys(found))


def _with(node: ast.expr, old: str, new: str) -> ast.expr:
    """Return an expression with a part of it replaced by a name."""

    class Replacing(ast.NodeTransformer):
        def visit(self, part: ast.AST) -> ast.AST:
            if isinstance(part, ast.Subscript | ast.Name) and code(part) == old:
                return ast.Name(new, ast.Load())
            return self.generic_visit(part)

    return Replacing().visit(copy.deepcopy(node))  # type: ignore[return-value]


def _by_parts(node: ast.expr, base: str, hint: str, facts: Facts) -> str:
    """Return the list of one part of items that the user takes apart; '' where it is not that."""
    width = facts.widths.get(f"{base}[{INDEX}]", 0)
    for at in range(width):
        if code(node) == f"{base}[{INDEX}][{at}]":
            target = [hint if n == at else "_" for n in range(width)]
            return f"[{hint} for {', '.join(target)} in {base}]"
    return ""


def _singular(base: str) -> str:
    """Return a name for one item of a list."""
    name = re.sub(r"\W.*$", "", base.rsplit(".", 1)[-1]) or "item"
    known = {"indices": "index", "idx": "i", "idxs": "i", "order": "i", "entries": "entry"}
    if name in known:
        return known[name]
    if name.endswith("ies"):
        return name[:-3] + "y"
    found = name[:-1] if name.endswith("s") and len(name) > 2 else "item"
    return "item" if keyword.iskeyword(found) or found == "clas" else found
