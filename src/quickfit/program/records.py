"""The fields of records: dataclasses and named tuples, as a call of the class fills them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from quickfit.program.module import Module, argument, is_open, keyword, name_of
from quickfit.program.values import UNKNOWN, Class, External, Instance, Values

if TYPE_CHECKING:
    from quickfit.program.resolver import Resolver

_MAKERS = ("dataclasses.dataclass", "attr.s", "attr.dataclass", "attrs.define", "attrs.frozen")
_TUPLES = ("typing.NamedTuple", "typing_extensions.NamedTuple")


def is_record(resolver: Resolver, owner: Class) -> bool:
    """Tell whether a class is one whose calls fill its fields."""
    for decorator in owner.node.decorator_list:
        made = decorator.func if isinstance(decorator, ast.Call) else decorator
        names = [v.name for v in resolver.meaning(owner.module, made) if isinstance(v, External)]
        if any(name in _MAKERS for name in names):
            return True
    return bool(resolver.ancestors(owner) & set(_TUPLES))


def field(resolver: Resolver, record: Instance, name: str) -> Values:
    """Return what a field of a record may be; empty where its class has no such field."""
    names = [field_name for field_name, _ in _fields(record.made)]
    if name not in names or not is_record(resolver, record.made):
        return ()
    if any(_is_assigned(module, name) for module in (record.module, record.made.module)):
        return (UNKNOWN,)
    given = argument(record.call, name, names.index(name))
    if given is not None:
        return resolver.meaning(record.module, given)
    if is_open(record.call):
        return (UNKNOWN,)
    default = dict(_fields(record.made))[name]
    return _default(resolver, record.made, default) if default is not None else (UNKNOWN,)


def _is_assigned(module: Module, name: str) -> bool:
    """Tell whether a file gives some object's attribute of this name another value."""
    stores = (n for n in module.all(ast.Attribute) if isinstance(n.ctx, ast.Store))
    return any(node.attr == name for node in stores)


def _fields(owner: Class) -> list[tuple[str, ast.expr | None]]:
    body = [s for s in owner.node.body if isinstance(s, ast.AnnAssign)]
    return [(s.target.id, s.value) for s in body if isinstance(s.target, ast.Name)]


def _default(resolver: Resolver, owner: Class, default: ast.expr) -> Values:
    if not isinstance(default, ast.Call) or name_of(default.func) not in ("field", "ib"):
        return resolver.meaning(owner.module, default)
    value = keyword(default, "default")
    if value is not None:
        return resolver.meaning(owner.module, value)
    factory = keyword(default, "default_factory") or keyword(default, "factory")
    if factory is None:
        return (UNKNOWN,)
    made = ast.Call(func=factory, args=[], keywords=[])
    return tuple(
        Instance(v, made, owner.module) if isinstance(v, Class) else UNKNOWN
        for v in resolver.meaning(owner.module, factory)
    )
