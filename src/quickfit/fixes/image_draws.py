"""Reads how items are drawn by chance, each draw independent of the ones before it."""

from __future__ import annotations

import ast

from quickfit.fixes.image_expressions import Env, Expressions
from quickfit.fixes.image_values import (
    INDEX,
    Item,
    Many,
    NotRecognisedError,
    Plain,
    Value,
    code,
    item_of,
    number,
)

_NAMES = {
    "numpy.random.choice": ("a", "size", "replace"),
    "random.choice": ("a",),
    "random.choices": ("a", "size"),
    "numpy.random.randint": ("low", "high", "size"),
    "random.randrange": ("low", "high"),
    "random.randint": ("low", "last"),
}
_NUMBERS = ("numpy.random.randint", "random.randrange", "random.randint")


def drawn(reading: Expressions, node: ast.Call, name: str, env: Env) -> Value | None:
    """Return what a call draws: one item, or a batch of them; None for other calls."""
    if isinstance(node.func, ast.Attribute) and code(node.func.value).endswith("rng"):
        known = {"choice": "numpy.random.choice", "integers": "numpy.random.randint"}
        name = known.get(node.func.attr, name)
    if name not in _NAMES:
        return None
    given = _arguments(node, _NAMES[name])
    size = given.pop("size", None)
    item, source = _number(reading, given) if name in _NUMBERS else _choice(reading, given, env)
    tag = f"draw {node.lineno}:{node.col_offset}"
    if reading.facts.drawn is not None and reading.facts.drawn[2] != tag:
        raise NotRecognisedError  # two draws that need not be of the same item
    reading.facts.drawn = source, node.lineno, tag
    reading.facts.lengths.append(source)
    found = Item(item.node, frozenset({tag}))
    if size is None:
        if not reading.in_item or reading.is_in_function:
            raise NotRecognisedError  # one draw for several items, or a draw that is made twice
        return found
    if reading.in_item or not isinstance(reading.value(size, env), Plain):
        raise NotRecognisedError
    if isinstance(size, ast.Tuple) or reading.facts.batch_size not in (None, size):
        raise NotRecognisedError
    reading.facts.batch_size = size
    return Many(found, is_batch=True, is_array=name != "random.choices")


def _arguments(node: ast.Call, names: tuple[str, ...]) -> dict[str, ast.expr]:
    if len(node.args) > len(names):
        raise NotRecognisedError
    given: dict[str, ast.expr] = dict(zip(names, node.args, strict=False))
    for keyword in node.keywords:
        name = "size" if keyword.arg == "k" else keyword.arg
        if name not in names:
            raise NotRecognisedError
        given[name] = keyword.value
    if "replace" in given and code(given.pop("replace")) != "True":
        raise NotRecognisedError
    return given


def _choice(reading: Expressions, given: dict[str, ast.expr], env: Env) -> tuple[Item, ast.expr]:
    """Return an item of a list, or its number where the length is given; and the list."""
    if set(given) != {"a"}:
        raise NotRecognisedError
    length = reading.batching.length(given["a"])
    if length is not None:
        return Item(ast.Name(INDEX, ast.Load())), length
    value = reading.value(given["a"], env)
    if not isinstance(value, Plain) or not isinstance(value.node, ast.Name | ast.Attribute):
        raise NotRecognisedError
    if code(value.node) in reading.all_numbers:
        raise NotRecognisedError
    return item_of(value.node), value.node


def _number(reading: Expressions, given: dict[str, ast.expr]) -> tuple[Item, ast.expr]:
    """Return the number of an item, and the list whose length is the end."""
    if "low" not in given:
        raise NotRecognisedError
    end = given.get("high")
    if end is None and "last" in given:
        last = given["last"]
        is_before = isinstance(last, ast.BinOp) and isinstance(last.op, ast.Sub)
        if not is_before or not isinstance(last, ast.BinOp) or number(last.right) != 1:
            raise NotRecognisedError
        end = last.left
    if end is not None and number(given["low"]) != 0:
        raise NotRecognisedError
    length = reading.batching.length(end if end is not None else given["low"])
    if length is None:
        raise NotRecognisedError
    return Item(ast.Name(INDEX, ast.Load())), length
