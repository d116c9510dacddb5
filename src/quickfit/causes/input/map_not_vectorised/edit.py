"""Moves small maps behind the `batch`, if they do to a batch what they do to each element."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

from quickfit.causes._shared.dataset_chains import reordered
from quickfit.code.datasets import PASSING, ChainStep, LocalChain, chain_at
from quickfit.code.module import Module
from quickfit.code.scopes import binding_in_block, only_binding, value_of_statement
from quickfit.code.syntax import argument, is_docstring
from quickfit.findings import Change, Edit, FixClass

# What is kept in a cache would be other elements.
_PASSING = PASSING - {"cache"}


def batch_first(module: Module, line: int) -> Change | None:
    """Return the change that moves the map at a line, and those beside it, behind the batch."""
    found = chain_at(module, line, "map")
    if found is None:
        return None
    chain, place = found
    first = place
    while first and chain.steps[first - 1].name == "map":
        first -= 1
    last = _batch_behind(chain, first)
    if last is None:
        return None
    maps = [n for n in range(first, last) if chain.steps[n].name == "map"]
    others = [n for n in range(first, last + 1) if n not in maps]
    known = [_known(module, chain.steps[n]) for n in maps]
    edits = reordered(module, chain, first, [*others, *maps])
    parsing = _parse_edits(module, known)
    if edits is None or parsing is None:
        return None
    is_fused = chain.steps[others[0]].name == "repeat" and (
        first == 0 or chain.steps[first - 1].name == "shuffle"
    )
    is_exact = all(values.is_exact for values in known if values is not None)
    return _change(edits + parsing, is_exact=is_exact, is_fused=is_fused)


def _batch_behind(chain: LocalChain, first: int) -> int | None:
    """Return the place of the plain batch that follows maps and what hands elements on."""
    for place in range(first, len(chain.steps)):
        step = chain.steps[place]
        if step.name == "batch":
            return place
        if step.name not in ("map", *_PASSING):
            return None
    return None


def _known(module: Module, step: ChainStep) -> Values | None:
    """Return what is known of a map's function; None where it may not take batches."""
    function = _function(module, step.call.args[0]) if step.call.args else None
    if function is None:
        return None
    return elementwise(function, numbers=_numbers(module, function))


def _function(module: Module, given: ast.expr) -> Function | None:
    """Return the function that a map is given, where only this map has it."""
    if isinstance(given, ast.Lambda):
        return given
    name = given.id if isinstance(given, ast.Name) else ""
    if isinstance(given, ast.Attribute) and isinstance(given.value, ast.Name):
        name = given.attr if given.value.id == "self" else ""
    functions: list[Function] = [f for f in module.all(ast.FunctionDef) if f.name == name]
    if len(functions) != 1 or module.all(ast.FunctionDef, within=functions[0])[1:]:
        return None
    if any(n.id == name and not isinstance(n.ctx, ast.Load) for n in module.all(ast.Name)):
        return None
    decorators = [ast.unparse(d) for d in getattr(functions[0], "decorator_list", [])]
    is_plain = all(d in ("staticmethod", "tf.function") for d in decorators)
    return functions[0] if is_plain else None


def _numbers(module: Module, function: Function) -> frozenset[str]:
    """Return the names in a function that stand for plain numbers of the file."""
    found = set()
    for name in module.all(ast.Name, within=function):
        statement = only_binding(module, name)
        value = value_of_statement(statement) if statement is not None else None
        if isinstance(value, ast.Constant) and isinstance(value.value, int | float):
            found.add(name.id)
    return frozenset(found)


def _parse_edits(module: Module, known: list[Values | None]) -> tuple[Edit, ...] | None:
    """Return the edits that let functions parse whole batches; None where one is not known."""
    edits = []
    for values in known:
        if values is None or len(values.parsed) > 1:
            return None
        for call in values.parsed:
            if not isinstance(call.func, ast.Attribute) or not _is_called_here_only(module, call):
                return None
            if not _is_dense(module, call):
                return None
            line, end = module.end(call.func)
            begin = (line, end - len("parse_single_example"))
            edits.append(Edit(module.path, begin, (line, end), "parse_example"))
    return tuple(edits)


def _is_dense(module: Module, call: ast.Call) -> bool:
    """Tell whether all features that a call parses have fixed lengths."""
    given = argument(call, "features", 1)
    if isinstance(given, ast.Name):
        statement = binding_in_block(module, given) or only_binding(module, given)
        given = value_of_statement(statement) if statement is not None else None
    if not isinstance(given, ast.Dict | ast.DictComp):
        return False
    parts = given.values if isinstance(given, ast.Dict) else [given.value]
    return all(
        isinstance(part, ast.Call) and ast.unparse(part.func).endswith("FixedLenFeature")
        for part in parts
    )


def _is_called_here_only(module: Module, call: ast.Call) -> bool:
    """Tell whether one place of the file uses the function that a call stands in."""
    function = module.around(call, ast.FunctionDef)
    if function is None:
        return True
    named = [n for n in module.all(ast.Name) if n.id == function.name]
    owned = [n for n in module.all(ast.Attribute) if n.attr == function.name]
    return len(named) + len(owned) == 1


def _change(edits: tuple[Edit, ...], *, is_exact: bool, is_fused: bool) -> Change:
    title = "Batch first, and map whole batches"
    if is_fused:  # a shuffle and a repeat that meet run as one, and draw otherwise
        note = "The order of elements is random as before, but another one."
        return Change(title, FixClass.MAY_CHANGE_RESULTS, edits, note)
    if is_exact:
        return Change(title, FixClass.SAME_RESULTS, edits)
    note = "Functions such as `exp` may round the last digit otherwise."
    return Change(title, FixClass.EQUIVALENT, edits, note)


Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_MODULES = ("tf", "tensorflow", "math", "strings", "io", "nn")
# One value in, one of the same shape out; exact, so the number of elements does not matter.
_EXACT = frozenset(
    re.findall(
        r"\w+",
        """
    cast abs square sign floor ceil round negative identity relu relu6 is_nan is_finite logical_not
    to_number to_hash_bucket_fast lower upper strip as_string ones_like zeros_like
""",
    )
)
# The same, but rounded otherwise in the middle of a vector than at its end.
_ROUNDED = frozenset(
    re.findall(
        r"\w+",
        "sqrt exp log log1p expm1 sin cos tan tanh sigmoid softplus erf rsqrt elu reciprocal",
    )
)
# Two values of one shape, or one and a number.
_PAIRS = frozenset(
    re.findall(
        r"\w+",
        """
    minimum maximum add subtract multiply divide truediv squared_difference equal not_equal less
    greater less_equal greater_equal
""",
    )
)
# They work along the last axis when they are told so.
_ALONG = ("reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "cumsum", "argmax")


class NotElementwiseError(Exception):
    """The function holds something that a batch may take in another way."""


@dataclass
class Values:
    """What the names of a function stand for: an origin for each, None for a plain number."""

    known: dict[str, str | None]
    numbers: frozenset[str]
    is_exact: bool = True
    parsed: list[ast.Call] = field(default_factory=list)


def elementwise(function: Function, *, numbers: frozenset[str] = frozenset()) -> Values | None:
    """Return what is known of a function that works on whole batches too; None for any other.

    `numbers` are names from outside that stand for plain numbers.
    """
    args = function.args
    if args.vararg or args.kwarg or args.kwonlyargs or args.defaults:
        return None
    names = [arg.arg for arg in (*args.posonlyargs, *args.args) if arg.arg not in ("self", "cls")]
    values = Values({name: name for name in names}, numbers)
    try:
        if isinstance(function, ast.Lambda):
            _result(function.body, values)
        else:
            _body(function.body, values)
    except NotElementwiseError:
        return None
    return values


def _body(statements: list[ast.stmt], values: Values) -> None:
    *steps, last = statements
    for place, statement in enumerate(steps):
        if place == 0 and is_docstring(statement):
            continue
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            raise NotElementwiseError
        target = statement.targets[0]
        if not isinstance(target, ast.Name):
            raise NotElementwiseError
        values.known[target.id] = _origin(statement.value, values)
    if not isinstance(last, ast.Return) or last.value is None:
        raise NotElementwiseError
    _result(last.value, values)


def _result(value: ast.expr, values: Values) -> None:
    """Check what is returned: nothing that is the same for all elements."""
    if isinstance(value, ast.Tuple):
        for part in value.elts:
            _result(part, values)
    elif isinstance(value, ast.Dict):
        for part in value.values:
            _result(part, values)
    elif _origin(value, values) is None:
        raise NotElementwiseError


def _origin(value: ast.expr, values: Values) -> str | None:
    """Return the origin of a value; None for a plain number."""
    if isinstance(value, ast.Constant) and isinstance(value.value, int | float | bool):
        return None
    if isinstance(value, ast.Name):
        if value.id in values.known:
            return values.known[value.id]
        if value.id in values.numbers:
            return None
        raise NotElementwiseError
    if isinstance(value, ast.UnaryOp):
        return _origin(value.operand, values)
    if isinstance(value, ast.BinOp):
        return _of_binary(value, values)
    if isinstance(value, ast.Compare) and len(value.comparators) == 1:
        return _met(values, value.left, value.comparators[0])
    if isinstance(value, ast.Subscript):
        return _of_part(value, values)
    if isinstance(value, ast.Call) and _is_pop(value):
        return _popped(value, values)
    return _of_call(value, values)


def _is_pop(call: ast.Call) -> bool:
    """Tell whether a call is `features.pop("name")`."""
    function, args = call.func, call.args
    is_named = len(args) == 1 and isinstance(args[0], ast.Constant) and not call.keywords
    return is_named and isinstance(function, ast.Attribute) and function.attr == "pop"


def _popped(call: ast.Call, values: Values) -> str:
    assert isinstance(call.func, ast.Attribute)
    return f"{_some(call.func.value, values)}[{ast.unparse(call.args[0])}]"


def _of_binary(value: ast.BinOp, values: Values) -> str | None:
    if isinstance(value.op, ast.MatMult):
        raise NotElementwiseError
    if isinstance(value.op, ast.Pow):
        values.is_exact = False
    return _met(values, value.left, value.right)


def _of_part(value: ast.Subscript, values: Values) -> str:
    """Return the origin of `features["age"]`, or of `x[..., 3:]`, which has a shape of its own."""
    origin = _origin(value.value, values)
    if origin is None:
        raise NotElementwiseError
    if isinstance(value.slice, ast.Constant) and isinstance(value.slice.value, str):
        return f"{origin}[{value.slice.value}]"
    parts = value.slice.elts if isinstance(value.slice, ast.Tuple) else []
    if len(parts) != 2 or not _is_constant(parts[0], ...) or _names(parts[1]):
        raise NotElementwiseError
    return f"{origin}[..., {ast.unparse(parts[1])}]"


def _of_call(value: ast.expr, values: Values) -> str | None:
    name = _function_name(value)
    if not isinstance(value, ast.Call) or not value.args or isinstance(value.args[0], ast.Starred):
        raise NotElementwiseError
    given = {keyword.arg: keyword.value for keyword in value.keywords}
    first = value.args[0]
    if name in _EXACT or name in _ROUNDED:
        values.is_exact = values.is_exact and name in _EXACT
        _check_settings([*value.args[1:], *given.values()], values)
        return _origin(first, values)
    if name in _PAIRS and len(value.args) == 2 and not given:
        return _met(values, *value.args)
    if name == "clip_by_value":
        return _met(values, *value.args, *given.values())
    if name == "where" and len(value.args) == 3 and not given:
        return _met(values, *value.args)
    if name == "one_hot" and not {"axis"} & set(given) and len(value.args) <= 2:
        _check_settings([*value.args[1:], *given.values()], values)
        return f"one_hot({_some(first, values)}, {ast.unparse(value)})"
    if name == "expand_dims" and _is_last_axis(value, 1, given):
        return f"expand({_some(first, values)})"
    if name in _ALONG and _is_last_axis(value, 1, given) and set(given) <= {"axis"}:
        values.is_exact = values.is_exact and name in ("reduce_max", "reduce_min", "argmax")
        return f"{name}({_some(first, values)})"
    if name in ("concat", "stack") and _is_last_axis(value, 1, given):
        return _joined(name, first, values)
    if name == "parse_single_example" and not values.parsed:
        return _parsed(value, values)
    raise NotElementwiseError


def _parsed(call: ast.Call, values: Values) -> str:
    values.parsed.append(call)
    return f"parsed({_some(call.args[0], values)})"


def _joined(name: str, parts: ast.expr, values: Values) -> str:
    """Return the origin of values of one shape that are laid side by side along the last axis."""
    if not isinstance(parts, ast.List | ast.Tuple) or not parts.elts:
        raise NotElementwiseError
    origins = [_some(part, values) for part in parts.elts]
    if len(set(origins)) != 1:
        raise NotElementwiseError
    return f"{name}{len(origins)}({origins[0]})"


def _met(values: Values, *parts: ast.expr) -> str | None:
    """Return the origin of values that meet; all must have one, or be plain numbers."""
    origins = {_origin(part, values) for part in parts} - {None}
    if len(origins) > 1:
        raise NotElementwiseError
    return next(iter(origins), None)


def _some(value: ast.expr, values: Values) -> str:
    origin = _origin(value, values)
    if origin is None:
        raise NotElementwiseError
    return origin


def _check_settings(given: list[ast.expr], values: Values) -> None:
    """Check that further arguments are types and numbers, not values of the dataset."""
    for part in given:
        if any(name in values.known for name in _names(part)):
            raise NotElementwiseError
        if any(isinstance(node, ast.List | ast.Tuple | ast.Call) for node in ast.walk(part)):
            raise NotElementwiseError


def _is_last_axis(call: ast.Call, place: int, given: dict[str | None, ast.expr]) -> bool:
    axis = given.get("axis") or (call.args[place] if len(call.args) > place else None)
    is_last = axis is not None and ast.unparse(axis) == "-1"
    return is_last and len(call.args) <= place + 1 and set(given) <= {"axis"}


def _function_name(value: ast.expr) -> str:
    """Return the last part of `tf.math.name(...)`; nothing for what is not of TensorFlow."""
    function = value.func if isinstance(value, ast.Call) else None
    if not isinstance(function, ast.Attribute):
        return ""
    owner: ast.expr = function.value
    while isinstance(owner, ast.Attribute):
        if owner.attr not in _MODULES:
            return ""
        owner = owner.value
    return function.attr if isinstance(owner, ast.Name) and owner.id in _MODULES else ""


def _names(node: ast.AST) -> list[str]:
    return [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]


def _is_constant(node: ast.expr, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value == value
