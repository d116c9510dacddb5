"""The shapes that functions and methods of arrays and tensors give."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from quickfit.code.shapes.images import image_function, image_method
from quickfit.code.shapes.shape import (
    SCALAR,
    Array,
    Named,
    Parts,
    Shape,
    Stream,
    Table,
    Thing,
    as_array,
    broadcast_shape,
    merge_shapes,
    row_shape,
)
from quickfit.code.syntax import keyword_value

if TYPE_CHECKING:
    from quickfit.code.shapes.calls import Question

Rule = Callable[["Question"], Thing | None]


def made_shape(question: Question, name: str, position: int) -> Thing | None:
    """Return an array of the shape that an argument names."""
    return question.fresh(question.sides(name, position))


def _axis(question: Question, name: str, position: int, rank: int) -> int | None:
    found = _axes(question, name, position, rank)
    return found[0] if found is not None and len(found) == 1 else None


def _axes(question: Question, name: str, position: int, rank: int) -> list[int] | None:
    """Return the axes that an argument names, each counted from the first."""
    given, program = question.given(name, position), question.shaping.program
    nodes = given.elts if isinstance(given, ast.Tuple | ast.List) else [given]
    found = [program.literal(question.module, node) for node in nodes]
    axes = [n % rank for n in found if type(n) is int and -rank <= n < rank]
    return axes if len(axes) == len(found) else None


def reduced_shape(question: Question) -> Thing | None:
    """Return what is left of an array when numbers along an axis become one."""
    found = question.array("x", 0)
    if found is None:
        return None
    keeps = question.literal("keepdims", 2, default=False)
    if not question.is_given("axis", 1):
        is_argmax = "arg" in ast.unparse(question.call.func)
        return SCALAR if keeps is False and not is_argmax else None
    axes = _axes(question, "axis", 1, found.rank)
    if axes is None or not isinstance(keeps, bool):
        return None
    sides = [1 if n in axes else side for n, side in enumerate(found.sides)]
    left = [side for n, side in enumerate(sides) if keeps or n not in axes]
    fewer = found.shaped(left, is_batch=0 not in axes)
    return replace(fewer, place=(question.module, question.node))


def _reshape(question: Question) -> Thing | None:
    found = question.array("x", 0)
    numbers = question.call.args if question.is_method else question.call.args[1:]
    if question.is_method and len(numbers) > 1:
        if any(isinstance(n, ast.Starred) for n in numbers):
            return None
        literals = [question.shaping.program.literal(question.module, n) for n in numbers]
        sides: Shape | None = tuple(n if type(n) is int and n >= 0 else None for n in literals)
    else:
        sides = question.sides("shape", 1) or question.sides("newshape", 1)
    if sides is None:
        return None
    if len(sides) == 1 and isinstance(sides[0], int) and sides[0] < 0:
        sides = (None,)
    if found is None:
        return question.fresh(sides)
    is_batch = bool(sides) and sides[0] is None
    return found.shaped(_filled(sides, found.sides), is_batch=is_batch)


def _filled(sides: Shape, before: Shape) -> Shape:
    """Return a shape with its only open side filled, as `-1` is, where all numbers are known."""
    known = [side for side in sides if side is not None]
    numbers = [side for side in before if side is not None]
    if len(known) != len(sides) - 1 or len(numbers) != len(before) or 0 in known:
        return sides
    rest = math.prod(numbers) // math.prod(known)
    return tuple(rest if side is None else side for side in sides)


def _expand(question: Question) -> Thing | None:
    found = question.array("x", 0)
    axis = _axis(question, "axis", 1, found.rank + 1) if found is not None else None
    if found is None or axis is None:
        return None
    return found.shaped((*found.sides[:axis], 1, *found.sides[axis:]), is_batch=axis > 0)


def _squeeze(question: Question) -> Thing | None:
    found = question.array("x", 0)
    if found is None:
        return None
    if question.is_given("axis", 1):
        axis = _axis(question, "axis", 1, found.rank)
        sides = [side for n, side in enumerate(found.sides) if n != axis]
        return found.shaped(sides, is_batch=True) if axis else None
    if None in found.sides[1:]:
        return None
    # The first side is that of a batch, which is one only by chance.
    sides = [side for n, side in enumerate(found.sides) if side != 1 or n == 0]
    return found.shaped(sides, is_batch=True)


def _flat(question: Question) -> Thing | None:
    found = question.array("x", 0)
    return found.shaped((None,)) if found is not None else question.fresh((None,))


def _transpose(question: Question) -> Thing | None:
    found = question.array("x", 0)
    return found.shaped((None,) * found.rank) if found is not None else None


def _stack(question: Question) -> Thing | None:
    found = as_array(question.thing("arrays", 0))
    if found is None or question.given("axis", 1) is None:
        return found
    axis = _axis(question, "axis", 1, found.rank)
    if axis is None:
        return None
    rest = found.sides[1:]
    return found.shaped((*rest[:axis], found.sides[0], *rest[axis:]))


def _joined(question: Question) -> Thing | None:
    parts = question.thing("arrays", 0)
    inner = as_array(row_shape(parts)) if isinstance(parts, Parts | Array) else None
    return inner.shaped((None,) * inner.rank) if inner is not None and inner.rank else None


def _one_hot(question: Question) -> Thing | None:
    found = question.array("indices", 0)
    if found is None or question.is_given("axis", 4):
        return None
    name = "depth" if question.given("depth", 1) is not None else "num_classes"
    return found.shaped((*found.sides, question.number(name, 1)), is_batch=True)


def _to_categorical(question: Question) -> Thing | None:
    found = question.array("x", 0) or question.array("y", 0)
    if found is None:
        return None
    sides = found.sides[:-1] if found.rank > 1 and found.sides[-1] == 1 else found.sides
    return found.shaped((*sides, question.number("num_classes", 1)))


def _randn(question: Question) -> Thing | None:
    args = question.call.args
    if any(isinstance(a, ast.Starred) for a in args):
        return None
    literals = [question.shaping.program.literal(question.module, a) for a in args]
    return question.fresh(tuple(n if type(n) is int else None for n in literals))


def _arange(question: Question) -> Thing | None:
    args = question.call.args
    number = question.number("stop", 0) if len(args) == 1 else None
    return question.fresh((number,))


def _linspace(question: Question) -> Thing | None:
    is_usual = question.given("num", 2) is None
    return question.fresh((50 if is_usual else question.number("num", 2),))


def _permutation(question: Question) -> Thing | None:
    found = question.array("x", 0)
    return found if found is not None and found.sides else question.fresh((None,))


def _where(question: Question) -> Thing | None:
    arrays = [question.array(name, n) for n, name in enumerate(("condition", "x", "y"))]
    return broadcast_shape(broadcast_shape(arrays[0], arrays[1]), arrays[2])


def _repeat(question: Question) -> Thing | None:
    found = question.array("a", 0)
    is_flat = not question.is_given("axis", 2)
    if found is None:
        return None
    return found.shaped((None,)) if is_flat else found.shaped((None,) * found.rank)


def _eye(question: Question) -> Thing | None:
    number = question.number("N", 0)
    return question.fresh((number, number))


def _padded(question: Question) -> Thing | None:
    return question.fresh((None, question.number("maxlen", 1)))


RULES: dict[str, Rule] = {
    "reshape": _reshape,
    "expand_dims": _expand,
    "squeeze": _squeeze,
    "ravel": _flat,
    "flatten": _flat,
    "transpose": _transpose,
    "stack": _stack,
    "concatenate": _joined,
    "concat": _joined,
    "one_hot": _one_hot,
    "to_categorical": _to_categorical,
    "rand": _randn,
    "randn": _randn,
    "arange": _arange,
    "range": _arange,
    "linspace": _linspace,
    "permutation": _permutation,
    "where": _where,
    "repeat": _repeat,
    "eye": _eye,
    "pad_sequences": _padded,
    "ensure_shape": lambda question: made_shape(question, "shape", 1),
}


_LIBRARIES = (
    *("numpy", "numpy.random", "numpy.linalg", "tensorflow", "tensorflow.math", "tensorflow.nn"),
    *("tensorflow.random", "tensorflow.strings", "tensorflow.experimental.numpy", "keras.ops"),
    *("keras.random", "keras.backend", "keras.utils", "tensorflow.linalg", "keras.activations"),
)
# What is done to each number alone.
_ALIKE = frozenset(
    (
        *("array", "asarray", "ascontiguousarray", "copy", "constant", "convert_to_tensor"),
        *("cast", "Variable", "identity", "zeros_like", "ones_like", "full_like", "abs", "fabs"),
        *("square", "sqrt", "rsqrt", "exp", "log", "log1p", "expm1", "sin", "cos", "tan", "tanh"),
        *("sigmoid", "relu", "softmax", "softplus", "clip", "clip_by_value", "round", "floor"),
        *("ceil", "sign", "negative", "logical_not", "isnan", "isfinite", "nan_to_num", "astype"),
        *("stop_gradient", "to_number", "as_string", "lower", "float32", "float64", "int32"),
        *("int64", "numpy", "convert_to_numpy", "cumsum", "flip", "sort", "argsort", "normalize"),
        *("shuffle", "log_softmax", "reciprocal", "erf", "gelu", "elu", "tolist", "to_numpy"),
    )
)
_BETWEEN = frozenset(
    (
        *("add", "subtract", "multiply", "divide", "true_divide", "maximum", "minimum", "power"),
        *("pow", "equal", "not_equal", "greater", "less", "greater_equal", "less_equal", "mod"),
        *("squared_difference", "divide_no_nan", "logical_and", "logical_or", "floormod"),
    )
)
_REDUCED = frozenset(
    (
        *("mean", "sum", "max", "min", "amax", "amin", "prod", "std", "var", "median", "any"),
        *("all", "reduce_mean", "reduce_sum", "reduce_max", "reduce_min", "reduce_any"),
        *("reduce_all", "reduce_prod", "reduce_std", "reduce_variance", "argmax", "argmin"),
        *("nanmean", "nansum", "logsumexp", "reduce_logsumexp"),
    )
)
# At which position a function takes the shape of what it makes.
_SHAPED = {
    **dict.fromkeys(("zeros", "ones", "empty", "full", "fill", "random_sample", "random"), 0),
    **dict.fromkeys(("standard_normal", "ranf", "sample"), 0),
    **dict.fromkeys(("choice",), 1),
    **dict.fromkeys(("randint", "random_integers", "integers", "binomial", "beta", "gamma"), 2),
    **dict.fromkeys(("normal", "uniform", "laplace", "lognormal", "gumbel", "logistic"), 2),
    **dict.fromkeys(("poisson", "exponential", "geometric", "rayleigh"), 1),
}
_RANDOM = ("numpy.random.default_rng", "numpy.random.RandomState", "numpy.random.Generator")


def function_shape(name: str, question: Question) -> Thing | None:
    """Return what a call of a library function gives, by the function's full name."""
    library, _, last = name.rpartition(".")
    if library == "builtins":
        return _builtin(last, question)
    if library in ("numpy.random", "tensorflow.random", "keras.random") and last in _SHAPED:
        return _random(last, question, is_numpy=library == "numpy.random")
    if library in _LIBRARIES and (found := _rule(last, question)) is not None:
        return found
    if library.startswith("pandas"):
        return Table() if last in ("read_csv", "DataFrame", "read_excel", "read_parquet") else None
    if library.startswith("sklearn"):
        return _learned(last, question)
    if name in ("glob.glob", "os.listdir"):
        return Array((None,), is_list=True)
    if name in ("os.path.join", "os.path.basename", "random.random", "random.randint"):
        return SCALAR
    return image_function(name, question)


def method_shape(receiver: Thing | None, name: str, question: Question) -> Thing | None:
    """Return what a method of something gives."""
    asked = replace(question, receiver=receiver, is_method=True)
    if receiver is None:
        func = question.call.func
        owner = func.value if isinstance(func, ast.Attribute) else None
        made = question.shaping.program.maker(question.module, owner)
        if made in _RANDOM:
            is_known = name in _SHAPED
            return _random(name, question, is_numpy=True) if is_known else _rule(name, question)
        return _learned(name, question) if name == "fit_transform" else None
    if isinstance(receiver, Table):
        return _of_table(receiver, name)
    if name in ("flatten", "ravel", "squeeze", "reshape", "transpose", "mean", "sum", "repeat"):
        return _rule(name, asked)
    if name in _ALIKE or name in _REDUCED:
        return _rule(name, asked)
    if name == "split" and isinstance(receiver, Array) and not receiver.sides:
        return Array((None,), is_list=True)
    if isinstance(receiver, Named):
        return receiver.get(question.literal("key", 0)) if name in ("get", "pop") else None
    return image_method(receiver, name, asked)


def _rule(name: str, question: Question) -> Thing | None:
    if name in _ALIKE:
        found = question.array("x", 0)
        if found is not None and found.place is None:
            found = replace(found, place=(question.module, question.node))
        is_other = any(keyword_value(question.call, name) for name in ("shape", "ndmin"))
        return found if not is_other else None
    if name in _BETWEEN:
        return broadcast_shape(question.array("x", 0), question.array("y", 1))
    if name in _REDUCED:
        return reduced_shape(question)
    if name in _SHAPED:
        return made_shape(question, "shape", _SHAPED[name])
    rule = RULES.get(name)
    return rule(question) if rule is not None else None


def _random(name: str, question: Question, *, is_numpy: bool) -> Thing | None:
    if not is_numpy:
        return made_shape(question, "shape", 0)
    position = _SHAPED[name]
    if question.is_given("size", position):
        return made_shape(question, "size", position)
    first = question.thing("low", 0)
    return SCALAR if first == SCALAR and name != "choice" else None


# -- Python, scikit-learn, pandas -------------------------------------------------------------


def _builtin(name: str, question: Question) -> Thing | None:
    if name in ("len", "int", "float", "str", "bool", "abs", "round", "ord", "hash"):
        return SCALAR
    if name == "range":
        number = question.number("stop", 0) if len(question.call.args) == 1 else None
        return Array((number,), is_list=True)
    if name in ("list", "sorted", "reversed"):
        found = question.thing("x", 0)
        return replace(found, is_list=True) if isinstance(found, Array) and found.sides else None
    if name == "enumerate":
        return Stream(Parts((SCALAR, row_shape(question.thing("x", 0)))))
    if name == "zip":
        things = [question.thing("x", n) for n in range(len(question.call.args))]
        return Stream(Parts(tuple(row_shape(thing) for thing in things)))
    if name == "iter":
        return question.thing("x", 0)
    return row_shape(question.thing("x", 0)) if name == "next" else None


def _learned(name: str, question: Question) -> Thing | None:
    if name == "train_test_split":
        things = [question.thing("x", n) for n in range(len(question.call.args))]
        return Parts(tuple(_part(thing) for thing in things for _ in range(2)))
    if name in ("make_classification", "make_blobs", "make_moons", "make_circles"):
        is_plain = keyword_value(question.call, "return_centers") is None
        return Parts((question.fresh((None, None)), question.fresh((None,)))) if is_plain else None
    return None


def _part(thing: Thing | None) -> Thing | None:
    if isinstance(thing, Array) and thing.sides:
        return replace(thing, sides=(None, *thing.sides[1:]))
    return thing if isinstance(thing, Table) else None


def _of_table(table: Table, name: str) -> Thing | None:
    if name in ("to_numpy",):
        return as_array(table)
    if name == "pop" and not table.is_column:
        return Table(is_column=True)
    same = ("astype", "fillna", "dropna", "reset_index", "copy", "sample", "head", "sort_values")
    if name in same or (name == "drop" and not table.is_column):
        return table
    return (
        merge_shapes([table]) if name in ("map", "apply", "replace") and table.is_column else None
    )
