"""What the classes of a project are: which ones they come from, and which ones come from them."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from quickfit.fixes.bindings import dotted, imported
from quickfit.fixes.script import Script

# Bases that bring no methods that anything but the project calls.
_PLAIN = {"object", "abc.ABC", "typing.Generic", "typing.Protocol", "tensorflow.Module"}


def is_plain_class(scripts: Sequence[Script], owner: ast.ClassDef) -> bool:
    """Tell whether a class, and all that come from it, have nothing but the project's methods."""
    return all(_has_plain_bases(scripts, one, []) for one in [owner, *derived(scripts, owner)])


def derived(scripts: Sequence[Script], owner: ast.ClassDef) -> list[ast.ClassDef]:
    """Return the classes of a project that come from a class, directly or through others."""
    classes = [c for script in scripts for c in script.all(ast.ClassDef)]
    found = [owner]
    for one in found:
        found += [c for c in classes if c not in found and one.name in map(_last, c.bases)]
    return found[1:]


def _has_plain_bases(
    scripts: Sequence[Script], owner: ast.ClassDef, seen: list[ast.ClassDef]
) -> bool:
    if owner in seen:
        return False
    words = [k.arg for k in owner.keywords]
    metaclasses = [k.value for k in owner.keywords if _last(k.value) == "ABCMeta"]
    if len(words) != len(metaclasses):
        return False
    return all(_is_plain_base(scripts, owner, base, [*seen, owner]) for base in owner.bases)


def _is_plain_base(
    scripts: Sequence[Script], owner: ast.ClassDef, base: ast.expr, seen: list[ast.ClassDef]
) -> bool:
    base = base.value if isinstance(base, ast.Subscript) else base
    script = next(s for s in scripts if owner in s.all(ast.ClassDef))
    own = [c for s in scripts for c in s.all(ast.ClassDef) if c.name == _last(base)]
    if own:
        return len(own) == 1 and _has_plain_bases(scripts, own[0], seen)
    name = dotted(base)
    return (imported(script, name) or name) in _PLAIN


def _last(node: ast.expr) -> str:
    node = node.value if isinstance(node, ast.Subscript) else node
    return dotted(node).rpartition(".")[2]
