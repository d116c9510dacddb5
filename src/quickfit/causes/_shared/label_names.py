"""Which names are those of labels, by the words they are made of."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

_LABELS = frozenset(
    (
        *("label", "labels", "lbl", "lbls", "mask", "masks", "annotation", "annotations"),
        *("targets", "y", "ys", "classes", "groundtruth", "gt"),
    )
)
# Names of what is meant to be in another order.
_MIXED = frozenset(
    (
        *("random", "randomized", "randomised", "shuffled", "shuffle", "permuted", "perm"),
        *("permutation", "negative", "negatives", "neg", "noise", "fake", "null"),
    )
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def words(name: str) -> set[str]:
    """Return the words of a name or of a path, in small letters."""
    return {word.lower() for word in _WORD.findall(name)}


def names_in(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the words of all names and texts in some code."""
    found: set[str] = set()
    for node in (n for each in nodes for n in ast.walk(each)):
        if isinstance(node, ast.Name):
            found |= words(node.id)
        elif isinstance(node, ast.Attribute):
            found |= words(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= words(node.value)
    return found


def is_label(found: set[str]) -> bool:
    """Tell whether words name labels."""
    return bool(found & _LABELS)


def is_mixed(found: set[str]) -> bool:
    """Tell whether words say that another order is meant."""
    return bool(found & _MIXED)
