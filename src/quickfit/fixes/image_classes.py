"""Reads a PyDataset, with the classes it inherits from, as if it were one function."""

from __future__ import annotations

import ast
import copy
import re
from dataclasses import dataclass, field

from quickfit.fixes import image_prelude
from quickfit.fixes.image_names import parameters
from quickfit.fixes.image_values import (
    NotRecognisedError,
    assignment,
    code,
    parsed_expression,
)
from quickfit.fixes.script import Function, Script

_BASES = ("PyDataset", "Sequence")
# Bases that add nothing.
_EMPTY_BASES = ("ABC", "object")
_NUMBERS = r"((?:np|numpy)\.arange|list\(range)\(len\(([\w.]+)\)\)\)?"
_SIMPLE = (ast.Name, ast.Constant)


@dataclass
class Class:
    """The parts of a class, with `self.name` written as plain names.

    Args:
        methods: its methods, those it inherits among them.
        init: the `__init__` whose parameters it is made with.
        prelude: what `__init__` does that must be done by the function too.
        attributes: what attributes stand for, where that is a name or a number.
        numbers: attributes with the numbers of all items, and the list that these are of.
        chain: the class and those it inherits from.
    """

    methods: dict[str, Function]
    init: Function
    chain: list[ast.ClassDef]
    prelude: list[ast.stmt] = field(default_factory=list)
    attributes: dict[str, ast.expr] = field(default_factory=dict)
    numbers: dict[str, ast.expr] = field(default_factory=dict)

    def substituted(self, method: Function) -> list[ast.stmt]:
        """Return the statements of a method, behind its docstring, without `self`."""
        body: list[ast.stmt] = self.method(method).body
        return body[1:] if is_text(body[0]) else body

    def method(self, method: Function) -> Function:
        """Return a method with what attributes stand for."""
        changed = _Self(self.attributes, self.methods).visit(copy.deepcopy(method))
        return ast.fix_missing_locations(changed)  # type: ignore[no-any-return]


class _Self(ast.NodeTransformer):
    """Puts in the place of `self.name` what the class was given for it."""

    def __init__(self, attributes: dict[str, ast.expr], methods: dict[str, Function]) -> None:
        self.attributes = attributes
        self.methods = methods

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            if node.attr in self.methods:
                return node
            is_store = not isinstance(node.ctx, ast.Load)
            plain = ast.Name(node.attr, node.ctx)
            found = plain if is_store else self.attributes.get(node.attr, plain)
            return ast.copy_location(copy.deepcopy(found), node)
        return self.generic_visit(node)


class _Given(ast.NodeTransformer):
    """Puts in the place of parameters what they are given."""

    def __init__(self, values: dict[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return copy.deepcopy(self.values.get(node.id, node))


def chain_of(script: Script, node: ast.ClassDef) -> list[ast.ClassDef]:
    """Return a class and those it inherits from; none where it is no PyDataset."""
    names = [code(b).rsplit(".", 1)[-1] for b in node.bases]
    names = [name for name in names if name not in _EMPTY_BASES]
    if len(names) != 1:
        return []
    own = [c for c in script.all(ast.ClassDef) if c.name == names[0] and c is not node]
    if not own:
        return [node] if names[0] in _BASES else []
    above = chain_of(script, own[0]) if len(own) == 1 and own[0].lineno < node.lineno else []
    return [node, *above] if above else []


def read(script: Script, node: ast.ClassDef) -> Class:
    """Return the parts of a class."""
    chain = chain_of(script, node)
    if not chain or any(c.decorator_list or c.keywords for c in chain):
        raise NotRecognisedError
    methods: dict[str, Function] = {}
    for one in reversed(chain):
        methods |= {f.name: f for f in one.body if isinstance(f, ast.FunctionDef)}
    if not {"__init__", "__len__", "__getitem__"} <= set(methods):
        raise NotRecognisedError
    if any(code(d) != "staticmethod" for f in methods.values() for d in f.decorator_list):
        raise NotRecognisedError
    found = Class(methods, methods["__init__"], chain)
    for name, method in methods.items():
        if name not in ("__init__", "on_epoch_end") and _stores(method):
            raise NotRecognisedError
    for one in reversed(chain):
        _of_body(one, found)
    inits = [f for c in chain for f in c.body if getattr(f, "name", "") == "__init__"]
    _of_init([f for f in inits if isinstance(f, ast.FunctionDef)], {}, found)
    return found


def _of_body(node: ast.ClassDef, found: Class) -> None:
    """Take the attributes that a class has by itself."""
    for statement in node.body:
        given = assignment(statement)
        if isinstance(statement, ast.FunctionDef | ast.Pass) or is_text(statement):
            continue
        if isinstance(statement, ast.AnnAssign) and statement.value is None:
            continue
        if given is None or not isinstance(given[0], ast.Name):
            raise NotRecognisedError
        found.prelude = [s for s in found.prelude if code(_target(s)) != given[0].id]
        found.attributes.pop(given[0].id, None)
        _attribute(given[0].id, given[1], statement, found)


def _target(statement: ast.stmt) -> ast.AST:
    given = assignment(statement)
    return given[0] if given is not None else statement


def _stores(method: Function) -> bool:
    nodes = [n for n in ast.walk(method) if isinstance(n, ast.Attribute)]
    return any(isinstance(n.ctx, ast.Store) and code(n.value) == "self" for n in nodes)


def is_text(statement: ast.stmt) -> bool:
    """Tell whether a statement is a docstring."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


# -- what `__init__` does ----------------------------------------------------------------------


def _of_init(inits: list[Function], given: dict[str, ast.expr], found: Class) -> None:
    """Take the statements of `__init__`, and of those that it calls with `super()`."""
    init, *above = inits
    for statement in init.body:
        made = _Given(given).visit(copy.deepcopy(statement)) if given else statement
        call = made.value if isinstance(made, ast.Expr) else None
        if isinstance(call, ast.Call) and re.match(r"super\(.*?\)\.__init__$", code(call.func)):
            if above:
                _of_init(above, _arguments(above[0], call), found)
        elif not is_text(made):
            if image_prelude.stored([statement]) & set(given):
                raise NotRecognisedError
            _of_statement(made, found)


def _arguments(function: Function, call: ast.Call) -> dict[str, ast.expr]:
    """Return what the parameters of a method are given; they must be names or written out."""
    given = function.args
    names = parameters(function)[1:]
    if given.vararg or len(call.args) > len(names):
        raise NotRecognisedError
    places = [a.arg for a in (*given.posonlyargs, *given.args)]
    found = dict(zip(reversed(places), reversed(given.defaults), strict=False))
    pairs = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    found |= {a.arg: d for a, d in pairs if d is not None}
    found |= dict(zip(names, call.args, strict=False))
    found |= {k.arg: k.value for k in call.keywords if k.arg in names}
    if set(names) - set(found) or any(not isinstance(v, _SIMPLE) for v in found.values()):
        raise NotRecognisedError
    return {name: found[name] for name in names}


def _of_statement(statement: ast.stmt, found: Class) -> None:
    """Take a statement of `__init__`: an attribute, or one that stays as it is."""
    if _calls_epoch_end(statement):
        return
    given = assignment(statement)
    if given is not None and isinstance(given[0], ast.Attribute):
        _attribute(_attribute_name(given[0]), given[1], statement, found)
        return
    if given is not None and isinstance(given[0], ast.Tuple) and isinstance(given[1], ast.Tuple):
        targets, values = given[0].elts, given[1].elts
        if len(targets) != len(values) or not all(isinstance(v, _SIMPLE) for v in values):
            raise NotRecognisedError
        for one, value in zip(targets, values, strict=True):
            _attribute(_attribute_name(one), value, statement, found)
        return
    image_prelude.check_kept(statement)
    names = image_prelude.stored([statement])
    if names & {*parameters(found.init), *_attributes_of(found)}:
        raise NotRecognisedError  # a name that an attribute will have
    found.prelude.append(_plain(statement, found))


def _calls_epoch_end(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.If) and not statement.orelse and len(statement.body) == 1:
        return _calls_epoch_end(statement.body[0])
    return code(statement) == "self.on_epoch_end()"


def _attributes_of(found: Class) -> set[str]:
    """Return the names of all attributes that a class stores or asks itself for."""
    nodes = [n for f in found.methods.values() for n in ast.walk(f)]
    return {n.attr for n in nodes if isinstance(n, ast.Attribute) and code(n.value) == "self"}


def _attribute_name(target: ast.expr) -> str:
    if not isinstance(target, ast.Attribute) or code(target.value) != "self":
        raise NotRecognisedError
    return target.attr


def _plain(statement: ast.stmt, found: Class) -> ast.stmt:
    """Return a statement without `self`."""
    made: ast.stmt = _Self(found.attributes, {}).visit(copy.deepcopy(statement))
    if any(isinstance(n, ast.Name) and n.id == "self" for n in ast.walk(made)):
        raise NotRecognisedError
    calls = [n for n in ast.walk(statement) if isinstance(n, ast.Call)]
    if any(code(c.func).removeprefix("self.") in found.methods for c in calls):
        raise NotRecognisedError
    return ast.fix_missing_locations(ast.copy_location(made, statement))


def _attribute(name: str, given: ast.expr, statement: ast.stmt, found: Class) -> None:
    """Take `self.name = value`."""
    value = _Self(found.attributes, {}).visit(copy.deepcopy(given))
    calls = [code(n.func) for n in ast.walk(given) if isinstance(n, ast.Call)]
    if any(call.removeprefix("self.") in found.methods for call in calls):
        raise NotRecognisedError
    if any(isinstance(n, ast.Name) and n.id == "self" for n in ast.walk(value)):
        raise NotRecognisedError
    found.numbers.pop(name, None)
    if isinstance(value, _SIMPLE) or re.fullmatch(r"len\([\w.]+\)", code(value)):
        found.attributes[name] = value
        return
    numbered = re.fullmatch(_NUMBERS, code(value))
    if numbered:
        found.numbers[name] = parsed_expression(numbered.group(2))
        return
    found.attributes.pop(name, None)
    if name in parameters(found.init):
        if any(code(v) == name for v in found.attributes.values()):
            raise NotRecognisedError
        found.attributes[name] = ast.Name(name, ast.Load())
    assign = ast.Assign([ast.Name(name, ast.Store())], value)
    found.prelude.append(ast.fix_missing_locations(ast.copy_location(assign, statement)))
