"""Follows the shapes of data through the expressions, functions and loops of a program."""

from __future__ import annotations

import ast
from collections.abc import Callable

from quickfit.code.module import Module
from quickfit.code.names import Binding, bindings_that_last
from quickfit.code.program import Program
from quickfit.code.shapes.calls import (
    Env,
    Question,
    argument_shape,
    argument_shapes,
    is_first_of_method,
    run_routine,
)
from quickfit.code.shapes.functions import function_shape, method_shape
from quickfit.code.shapes.layers import is_layer, shape_after_model
from quickfit.code.shapes.shape import (
    SCALAR,
    Array,
    Parts,
    Stream,
    Thing,
    as_array,
    attribute_shape,
    broadcast_shape,
    item_shape,
    merge_shapes,
    operator_shape,
    picked_part,
    row_shape,
)
from quickfit.code.shapes.shape import Named as NamedThings
from quickfit.code.shapes.streams import instance_shape, source_shape, stage_shape
from quickfit.code.syntax import FUNCTIONS
from quickfit.code.values import (
    Class,
    Computed,
    External,
    Group,
    Instance,
    Item,
    Literal,
    Made,
    Member,
    Routine,
    Value,
)

MAX_DEPTH, MAX_WORK, MAX_CALLS, MAX_TURNS = 60, 3_000, 6, 3
Key = tuple[ast.expr, int]


class Shaping:
    """Answers which shape an expression has.

    Args:
        program: the files.
        is_grey: take pictures whose kind the text does not tell for grey ones, without a side
            for colours.
    """

    def __init__(self, program: Program, *, is_grey: bool = False) -> None:
        self.program = program
        self.is_grey = is_grey
        self.is_assumed = False
        self._memo: dict[ast.expr, Thing | None] = {}
        self._open: set[Key] = set()
        self._depth = 0
        self._guesses: dict[Key, Thing] = {}
        self._work = 0

    def of(self, module: Module, node: ast.expr | None, env: Env | None = None) -> Thing | None:
        """Return what is known of an expression's shape; None for nothing.

        `env` says what the parameters of the functions around it are.
        """
        if node is None:
            return None
        if not env and node in self._memo:
            return self._memo[node]
        key = (node, id(env) if env else 0)
        # A name that is asked for while it is being followed is one that a loop binds again.
        if isinstance(node, ast.Name) and key in self._open:
            return self._guesses.get(key)
        self._work = self._work + 1 if self._depth else 0
        if self._depth > MAX_DEPTH or self._work > MAX_WORK:
            return None
        self._depth += 1
        self._open.add(key)
        try:
            found = self._evaluated(module, node, env if env else {})
        finally:
            self._depth -= 1
            self._open.discard(key)
        # What was cut short because of where it was asked from is not remembered, nor is a guess.
        if not env and not self._guesses and (not self._depth or found is not None):
            self._memo[node] = found
        return found

    def _evaluated(self, module: Module, node: ast.expr, env: Env) -> Thing | None:
        if isinstance(node, ast.Constant):
            return SCALAR if node.value is not None else None
        if isinstance(node, ast.Name):
            return self._name(module, node, env)
        if isinstance(node, ast.Call):
            return self._call(module, node, env)
        if isinstance(node, ast.Attribute):
            return self._attribute(module, node, env)
        if isinstance(node, ast.Subscript):
            return picked_part(Question(self, module, node, env))
        if isinstance(node, ast.IfExp):
            return merge_shapes(self.of(module, n, env) for n in (node.body, node.orelse))
        if isinstance(node, ast.Tuple | ast.List):
            return self._written(module, node, env)
        if isinstance(node, ast.Dict):
            return self._dictionary(module, node, env)
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            return self._comprehension(module, node, env)
        return self._arithmetic(module, node, env)

    def _written(self, module: Module, node: ast.Tuple | ast.List, env: Env) -> Thing | None:
        if any(isinstance(part, ast.Starred) for part in node.elts):
            return None
        is_list = isinstance(node, ast.List)
        if is_list and node.elts and all(isinstance(p, ast.Constant) for p in node.elts):
            return Array((len(node.elts),), is_list=True, place=(module, node))
        return Parts(tuple(self.of(module, part, env) for part in node.elts), is_list=is_list)

    def _dictionary(self, module: Module, node: ast.Dict, env: Env) -> Thing | None:
        if not all(isinstance(key, ast.Constant) for key in node.keys):
            return None
        keys = [key.value for key in node.keys if isinstance(key, ast.Constant)]
        things = [self.of(module, value, env) for value in node.values]
        return NamedThings(tuple(zip(keys, things, strict=True)))

    def _comprehension(
        self, module: Module, node: ast.ListComp | ast.GeneratorExp, env: Env
    ) -> Thing | None:
        element = self.of(module, node.elt, env)
        if isinstance(node, ast.GeneratorExp):
            return Stream(element)
        inner = as_array(element)
        if inner is None or len(node.generators) != 1:
            return None
        return Array((None, *inner.sides), is_list=True, place=(module, node))

    def _arithmetic(self, module: Module, node: ast.expr, env: Env) -> Thing | None:
        if isinstance(node, ast.UnaryOp):
            return self.of(module, node.operand, env)
        if isinstance(node, ast.BinOp):
            return self._operation(module, node, env)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            if isinstance(node.ops[0], ast.In | ast.NotIn | ast.Is | ast.IsNot):
                return SCALAR
            sides = [self.of(module, n, env) for n in (node.left, node.comparators[0])]
            return broadcast_shape(as_array(sides[0]), as_array(sides[1]))
        return SCALAR if isinstance(node, ast.JoinedStr) else None

    def _operation(self, module: Module, node: ast.BinOp, env: Env) -> Thing | None:
        things = self.of(module, node.left, env), self.of(module, node.right, env)
        return operator_shape(node, things, (module, node))

    # -- names ------------------------------------------------------------------------------

    def _name(self, module: Module, node: ast.Name, env: Env) -> Thing | None:
        bindings = self.program.resolver.files.bindings(module).reaching(node, node.id)
        last = bindings_that_last(module, bindings)
        key = (node, id(env) if env else 0)
        found = self._agreed(key, lambda: [self._bound(module, b, node, env) for b in last])
        return found or self._told(module, node, last, env)

    def _agreed(self, key: Key, ask: Callable[[], list[Thing | None]]) -> Thing | None:
        """Return what a name is, whatever binds it; in a loop, from what it is at first.

        What is known of the first turn holds for all of them if the body of the loop keeps it.
        """
        found = ask()
        guess = merge_shapes(thing for thing in found if thing is not None)
        if guess is None or None not in found or key in self._guesses:
            return merge_shapes(found)
        for _ in range(MAX_TURNS):
            self._guesses[key] = guess
            try:
                again = merge_shapes(ask())
            finally:
                del self._guesses[key]
            if again is None or again == guess:
                return again
            guess = again
        return None

    def _told(self, module: Module, node: ast.Name, last: list[Binding], env: Env) -> Thing | None:
        """Return the shape that `x.set_shape(...)` gives something that nobody knows."""
        home = module.function(node)
        since = max((getattr(bound.node, "lineno", 0) for bound in last), default=0)
        calls = [
            c
            for c in module.calls("set_shape")
            if ast.unparse(c.func) == f"{node.id}.set_shape" and module.function(c) is home
        ]
        if len(calls) != 1 or not since < calls[0].lineno < node.lineno:
            return None
        question = Question(self, module, calls[0], env)
        return question.fresh(question.sides("shape", 0))

    def _bound(self, module: Module, bound: Binding, use: ast.Name, env: Env) -> Thing | None:
        if bound.kind == "parameter" and isinstance(bound.node, ast.arg):
            if bound.node in env:
                return env[bound.node]
            return self._parameter(module, bound.node)
        if bound.kind in ("value", "element") and bound.value is not None:
            if bound.kind == "value" and _is_empty(_part(bound)):
                return self._appended(module, bound, use.id, env)
            found = self.of(module, bound.value, env)
            if bound.kind == "element":
                found = row_shape(found)
            for index in bound.path:
                found = item_shape(found, index)
            return found
        return self._known(module, use)

    def _parameter(self, module: Module, node: ast.arg) -> Thing | None:
        """Return what the calls of a function, as far as they are seen, give for a parameter."""
        home = module.around(node, *FUNCTIONS)
        if not isinstance(home, FUNCTIONS) or is_first_of_method(module, home, node.arg):
            return None
        calls = self.program.resolver.callers(module, home)
        if not calls or len(calls) > MAX_CALLS:
            return None
        return merge_shapes(
            argument_shape(module, home, node.arg, Question(self, m, c)) for m, c in calls
        )

    def _appended(self, module: Module, bound: Binding, name: str, env: Env) -> Thing | None:
        """Return the list that is filled by `append`."""
        home = module.function(bound.node)
        calls = [
            c
            for c in module.calls("append", "extend", "insert")
            if isinstance(c.func, ast.Attribute)
            and isinstance(c.func.value, ast.Name)
            and c.func.value.id == name
            and module.function(c) is home
        ]
        if not calls or any(ast.unparse(c.func) != f"{name}.append" for c in calls):
            return None
        found = as_array(merge_shapes(self.of(module, c.args[0], env) for c in calls if c.args))
        if found is None:
            return None
        return Array((None, *found.sides), is_list=True, place=found.place)

    def _known(self, module: Module, node: ast.expr) -> Thing | None:
        return merge_shapes(self.value(value) for value in self.program.values(module, node))

    def value(self, value: Value) -> Thing | None:
        """Return what is known of the shape of something that was followed already."""
        if isinstance(value, Made):
            return self.of(value.module, value.call)
        if isinstance(value, Group | Computed):
            return self.of(value.module, value.node)
        if isinstance(value, Literal):
            return SCALAR if value.value is not None else None
        if isinstance(value, Item):
            inner = self.value(value.of)
            return row_shape(inner) if value.index is None else item_shape(inner, value.index)
        if isinstance(value, Member):
            return attribute_shape(self.value(value.of), value.name)
        return instance_shape(self, value) if isinstance(value, Instance) else None

    def _attribute(self, module: Module, node: ast.Attribute, env: Env) -> Thing | None:
        values = self.program.values(module, node)
        if all(isinstance(value, Member) for value in values):
            return attribute_shape(self.of(module, node.value, env), node.attr)
        return merge_shapes(self.value(value) for value in values)

    def applied(self, value: Value, given: Thing | None) -> Thing | None:
        """Return what a layer or model gives for data."""
        return shape_after_model(self, value, given)

    # -- calls ------------------------------------------------------------------------------

    def _call(self, module: Module, node: ast.Call, env: Env) -> Thing | None:
        values = self.program.values(module, node.func)
        question = Question(self, module, node, env)
        return merge_shapes(self._called(value, question) for value in values)

    def _called(self, value: Value, question: Question) -> Thing | None:
        if isinstance(value, External):
            return source_shape(value.name, question) or function_shape(value.name, question)
        if isinstance(value, Routine):
            return run_routine(self, value, argument_shapes(self, value, question), question.env)
        if isinstance(value, Class):
            return instance_shape(self, Instance(value, question.call, question.module))
        if is_layer(self.program, value):
            return shape_after_model(self, value, question.thing("inputs", 0))
        if isinstance(value, Made) and value.maker == "tensorflow.function" and value.call.args:
            inner = self.program.values(value.module, value.call.args[0], value.frame)
            return merge_shapes(self._called(each, question) for each in inner)
        func = question.call.func
        if not isinstance(value, Member) or not isinstance(func, ast.Attribute):
            return None
        if func.attr == "predict" and is_layer(self.program, value.of):
            return shape_after_model(self, value.of, question.thing("x", 0))
        receiver = self.of(question.module, func.value, question.env)
        if isinstance(receiver, Stream) or isinstance(value.of, Made):
            found = stage_shape(receiver, value, question)
            if found is not None or isinstance(receiver, Stream):
                return found
        return method_shape(receiver, func.attr, question)


def _part(bound: Binding) -> ast.expr | None:
    """Return the expression that a name gets of `a, b = [], []`."""
    node = bound.value
    for index in bound.path:
        is_tuple = isinstance(node, ast.Tuple | ast.List) and index < len(node.elts)
        node = node.elts[index] if is_tuple and isinstance(node, ast.Tuple | ast.List) else None
    return node


def _is_empty(node: ast.expr | None) -> bool:
    is_call = isinstance(node, ast.Call) and ast.unparse(node) == "list()"
    return is_call or (isinstance(node, ast.List) and not node.elts)
