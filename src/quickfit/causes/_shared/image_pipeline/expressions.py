"""Reads expressions of an image input that are no calls: lists, items, places, arithmetic."""

from __future__ import annotations

import abc
import ast
import copy
from collections.abc import Sequence

from quickfit.causes._shared.image_pipeline.loops import Batching
from quickfit.causes._shared.image_pipeline.pictures import Pictures, plain_node
from quickfit.causes._shared.image_pipeline.values import (
    INDEX,
    KEY,
    Empty,
    Facts,
    Group,
    Item,
    Many,
    Names,
    NotRecognisedError,
    Picture,
    Place,
    Plain,
    Start,
    Value,
    Window,
    assignment,
    code,
    item_of,
    number,
)
from quickfit.code.syntax import Def, is_docstring

Env = dict[str, Value]

# Calls whose result depends on nothing but their arguments.
_PURE = {"str", "int", "float", "len", "bool", "tuple", "os.path.join", "os.path.basename"}
_PURE |= {"os.path.splitext", "os.path.dirname", "pathlib.Path", "Path", "os.fspath", "range"}
_PURE |= {"numpy.float32", "numpy.int32", "numpy.int64", "min", "max", "numpy.eye"}
_PURE |= {"numpy.array", "numpy.asarray", "dict", "sorted"}
_PURE_METHODS = {"split", "rsplit", "strip", "lower", "upper", "replace", "startswith", "endswith"}
_PURE_METHODS |= {"index", "get", "joinpath", "removesuffix", "removeprefix", "item"}
_NODES = (ast.Name, ast.Attribute, ast.Constant, ast.Tuple, ast.List, ast.BinOp, ast.UnaryOp)
_NODES_MORE = (ast.Subscript, ast.Call, ast.Compare, ast.IfExp, ast.JoinedStr, ast.FormattedValue)
_INNER = (
    ast.operator,
    ast.unaryop,
    ast.cmpop,
    ast.expr_context,
    ast.keyword,
    ast.Slice,
    ast.BoolOp,
)
_ARRAYS = ("numpy.array", "numpy.asarray", "numpy.stack")


class Expressions(abc.ABC):
    """Says what an expression stands for.

    Args:
        names: the names of the script.
        pictures: the operations on pictures.
        facts: what is learnt on the way.
        methods: the methods of the class around, by name.
    """

    def __init__(
        self, names: Names, pictures: Pictures, facts: Facts, methods: dict[str, Def]
    ) -> None:
        self.names = names
        self.pictures = pictures
        self.facts = facts
        self.methods = methods
        self.batching = Batching(names, facts)
        # Names of arrays with the numbers of all items.
        self.all_numbers: set[str] = set()
        # Names of the function that the new code will stand in.
        self.taken: set[str] = set()
        # Whether the code that is read belongs to one item, and whether to a function.
        self.in_item = False
        self._depth = 0

    def value(self, node: ast.expr, env: Env) -> Value:
        """Return what an expression stands for."""
        key = code(node) if isinstance(node, ast.Name | ast.Attribute) else ""
        if key in env:
            return env[key]
        read = {
            ast.Call: self._call,
            ast.Subscript: self._subscript,
            ast.BinOp: self._operation,
            ast.ListComp: self._comprehension,
            ast.Tuple: self._group,
            ast.List: self._group,
            ast.IfExp: self._either,
        }.get(type(node))
        found = read(node, env) if read else None  # type: ignore[operator]
        return found if found is not None else self._simple(node, env)

    @property
    def is_in_function(self) -> bool:
        """Tell whether the code that is read is that of a function which is called."""
        return self._depth > 0

    def many(self, value: Value) -> Many:
        """Return a list as what each item of it is."""
        if isinstance(value, Many):
            return value
        node = plain_node(value)
        if isinstance(node, ast.Name | ast.Attribute) and code(node) in self.all_numbers:
            return Many(Item(ast.Name(INDEX, ast.Load())), is_array=True)
        tag = self.facts.shuffled.get(code(node))
        return Many(item_of(node, frozenset({tag} if tag else ())))

    # -- expressions without pictures -------------------------------------------------------

    def _simple(self, node: ast.expr, env: Env) -> Value:
        """Return a plain value, or one of an item, of an expression without side effects."""
        orders: set[str] = set()
        is_item = False
        for part in ast.walk(node):
            if not isinstance(part, (*_NODES, *_NODES_MORE, *_INNER)):
                raise NotRecognisedError
            if isinstance(part, ast.Call) and not self._is_pure(part, env):
                raise NotRecognisedError
            found = env.get(code(part)) if isinstance(part, ast.Name | ast.Attribute) else None
            if isinstance(found, Item):
                is_item = True
                orders |= found.orders
            elif found is not None and not isinstance(found, Plain):
                raise NotRecognisedError
        made = self.substituted(node, env)
        return Item(made, frozenset(orders)) if is_item else Plain(made)

    def _is_pure(self, call: ast.Call, env: Env) -> bool:
        name = self.names.qualified(call.func)
        if name in _PURE and name not in env:
            return True
        return isinstance(call.func, ast.Attribute) and call.func.attr in _PURE_METHODS

    def substituted(self, node: ast.expr, env: Env) -> ast.expr:
        """Return an expression with what names stand for in their place."""

        class Substitution(ast.NodeTransformer):
            def visit_Name(self, name: ast.Name) -> ast.AST:
                found = env.get(name.id)
                return copy.deepcopy(found.node) if isinstance(found, Plain | Item) else name

        return Substitution().visit(copy.deepcopy(node))  # type: ignore[no-any-return]

    def plain_call(self, node: ast.Call, env: Env) -> ast.Call:
        """Return a call with the values of names that are the same for all items."""
        plain: Env = {k: v for k, v in env.items() if isinstance(v, Plain)}
        call = copy.deepcopy(node)
        call.args = [self.substituted(a, plain) for a in node.args]
        for keyword, given in zip(call.keywords, node.keywords, strict=True):
            keyword.value = self.substituted(given.value, plain)
        return call

    def _group(self, node: ast.Tuple | ast.List, env: Env) -> Value | None:
        if isinstance(node, ast.List) and not node.elts:
            return Empty()
        if any(isinstance(element, ast.Starred) for element in node.elts):
            raise NotRecognisedError
        values = tuple(self.value(element, env) for element in node.elts)
        if all(isinstance(value, Plain) for value in values):
            return None
        return Group(values)

    # -- parts of lists ---------------------------------------------------------------------

    def _subscript(self, node: ast.Subscript, env: Env) -> Value | None:
        base = self.value(node.value, env)
        if isinstance(base, Picture):
            return self._part_of_picture(base, node)
        if isinstance(base, Group):
            at = number(node.slice)
            if at is None or not -len(base.values) <= at < len(base.values):
                raise NotRecognisedError
            return base.values[int(at)]
        if isinstance(node.slice, ast.Slice):
            return self._slice(base, node.slice, env)
        index = self.value(node.slice, env) if not isinstance(node.slice, ast.Tuple) else None
        if isinstance(index, Window):
            return self._batch(base)
        if isinstance(index, Place) and isinstance(base, Many) and base.is_batch:
            return base.item
        if isinstance(index, Item):
            if isinstance(base, Plain) and self.names.may_be_table(base.node, self.batching.scope):
                index = Item(_with_key(index.node), index.orders)
            return self._at(self.many(base), index) if isinstance(base, Many | Plain) else None
        if isinstance(index, Many) and isinstance(index.item, Item):  # an array of numbers
            found = self._at(self.many(base), index.item)
            if index.wraps:
                table = f"{code(plain_node(base))}[{{}}]"
                return Many(index.item, index.is_batch, (*index.wraps, table), is_array=True)
            return Many(found, index.is_batch, is_array=True)
        return None

    def _at(self, many: Many, index: Item) -> Item:
        """Return the item of a list that has the number that an item holds."""
        if many.is_batch or many.wraps or not isinstance(many.item, Item):
            raise NotRecognisedError

        class AtIndex(ast.NodeTransformer):
            def visit_Name(self, name: ast.Name) -> ast.AST:
                return copy.deepcopy(index.node) if name.id == INDEX else name

        node = AtIndex().visit(copy.deepcopy(many.item.node))
        return Item(node, many.item.orders | index.orders)

    def _slice(self, base: Value, part: ast.Slice, env: Env) -> Value | None:
        if part.step is not None or part.lower is None or part.upper is None:
            return None
        lower, upper = self._start(part.lower, env), self._start(part.upper, env)
        if lower is None and upper is None:
            return None
        if lower != Start(0) or upper != Start(1):
            raise NotRecognisedError
        return self._batch(base)

    def _batch(self, base: Value) -> Many:
        many = self.many(base)
        if many.is_batch:
            raise NotRecognisedError
        return Many(many.item, is_batch=True, wraps=many.wraps, is_array=True)

    def _start(self, node: ast.expr, env: Env) -> Start | None:
        found = self.value(node, env)
        if isinstance(found, Start) and not found.counts_batches:
            return found
        return None

    def _part_of_picture(self, picture: Picture, node: ast.Subscript) -> Picture:
        text = code(node.slice).replace("(", "").replace(")", "").replace(" ", "")
        if text in ("...,::-1", ":,:,::-1"):
            return self.pictures.turned(picture)
        if text in (":,::-1", ":,::-1,:", ":,::-1,...", "...,::-1,:"):
            return self.pictures.flipped(picture, "left_right", node.lineno)
        if text in ("::-1", "::-1,:", "::-1,:,:", "::-1,..."):
            return self.pictures.flipped(picture, "up_down", node.lineno)
        if text in ("...,None", "...,np.newaxis", ":,:,None", ":,:,np.newaxis"):
            return self.pictures.with_channel(picture)
        raise NotRecognisedError

    # -- operations -------------------------------------------------------------------------

    def _operation(self, node: ast.BinOp, env: Env) -> Value | None:
        left, right = self.value(node.left, env), self.value(node.right, env)
        if isinstance(right, Picture | Many) and isinstance(node.op, ast.Mult | ast.Add):
            left, right = right, left
        if isinstance(left, Picture) and isinstance(right, Plain):
            return self.pictures.computed(left, node.op, right.node, node.lineno)
        if isinstance(left, Many) and isinstance(right, Plain):
            if isinstance(left.item, Picture) and left.is_array:
                made = self.pictures.computed(left.item, node.op, right.node, node.lineno)
                return Many(made, left.is_batch, is_array=True)
            raise NotRecognisedError
        if {left, right} == {Start(0), Place()} and isinstance(node.op, ast.Add):
            return Item(ast.Name(INDEX, ast.Load()))
        if isinstance(left, Start) or isinstance(right, Start):
            return self.batching.moved(left, node.op, right)
        return None

    def _comprehension(self, node: ast.ListComp, env: Env) -> Value:
        if len(node.generators) != 1 or node.generators[0].ifs or node.generators[0].is_async:
            raise NotRecognisedError
        loop = node.generators[0]
        source = self.looped(loop.iter, env)
        inner = dict(env)
        self.bind(loop.target, source.item, inner)
        before, self.in_item = self.in_item, True
        made = self.value(node.elt, inner)
        self.in_item = before
        return Many(made, source.is_batch)

    def looped(self, node: ast.expr, env: Env) -> Many:
        """Return what a loop runs over: all items, or those of a batch."""
        return self.many(self.value(node, env))

    def bind(self, target: ast.expr, value: Value, env: Env) -> None:
        """Give the names of a target their values."""
        if isinstance(target, ast.Name):
            env[target.id] = value
            return
        if not isinstance(target, ast.Tuple | ast.List):
            raise NotRecognisedError
        if isinstance(value, Item | Plain):
            self.facts.widths[code(value.node)] = len(target.elts)
            nodes = [
                ast.Subscript(value.node, ast.Constant(at), ast.Load())
                for at in range(len(target.elts))
            ]
            orders = value.orders if isinstance(value, Item) else None
            parts: Sequence[Value] = [
                Plain(n) if orders is None else Item(n, orders) for n in nodes
            ]
        elif isinstance(value, Group):
            parts = value.values
        else:
            raise NotRecognisedError
        if len(parts) != len(target.elts):
            raise NotRecognisedError
        for element, part in zip(target.elts, parts, strict=True):
            self.bind(element, part, env)

    @abc.abstractmethod
    def _call(self, node: ast.Call, env: Env) -> Value | None:
        """Return what a call gives."""

    @abc.abstractmethod
    def _either(self, node: ast.IfExp, env: Env) -> Value | None:
        """Return what one of two expressions gives."""

    @abc.abstractmethod
    def choose(self, statement: ast.If, env: Env) -> None:
        """Follow a change that is made under a condition."""

    def run(self, body: list[ast.stmt], env: Env) -> None:
        """Follow assignments."""
        for statement in body:
            given = assignment(statement)
            if given is not None:
                self.bind(given[0], self.value(given[1], env), env)
            elif isinstance(statement, ast.If):
                self.choose(statement, env)
            elif isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
                left = ast.Name(statement.target.id, ast.Load())
                made = ast.BinOp(left, statement.op, statement.value)
                env[statement.target.id] = self.value(ast.copy_location(made, statement), env)
            elif not is_docstring(statement):
                raise NotRecognisedError


def _with_key(node: ast.expr) -> ast.expr:
    """Return the number of an item as a key; other expressions as they are."""
    is_number = isinstance(node, ast.Name) and node.id == INDEX
    return ast.Name(KEY, ast.Load()) if is_number else node
