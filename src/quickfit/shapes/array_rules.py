"""The shapes that functions of NumPy, TensorFlow, Keras, Pillow and scikit-learn give."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from quickfit.program.module import keyword
from quickfit.shapes.image_rules import image_function, image_method
from quickfit.shapes.reshaping import RULES, made, reduced
from quickfit.shapes.shapes import (
    SCALAR,
    Array,
    Named,
    Parts,
    Stream,
    Table,
    Thing,
    as_array,
    merged,
    row,
    stretched,
)

if TYPE_CHECKING:
    from quickfit.shapes.questions import Question

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


def function(name: str, question: Question) -> Thing | None:
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


def method(receiver: Thing | None, name: str, question: Question) -> Thing | None:
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
        is_other = any(keyword(question.call, name) for name in ("shape", "ndmin"))
        return found if not is_other else None
    if name in _BETWEEN:
        return stretched(question.array("x", 0), question.array("y", 1))
    if name in _REDUCED:
        return reduced(question)
    if name in _SHAPED:
        return made(question, "shape", _SHAPED[name])
    rule = RULES.get(name)
    return rule(question) if rule is not None else None


def _random(name: str, question: Question, *, is_numpy: bool) -> Thing | None:
    if not is_numpy:
        return made(question, "shape", 0)
    position = _SHAPED[name]
    if question.is_given("size", position):
        return made(question, "size", position)
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
        return Stream(Parts((SCALAR, row(question.thing("x", 0)))))
    if name == "zip":
        things = [question.thing("x", n) for n in range(len(question.call.args))]
        return Stream(Parts(tuple(row(thing) for thing in things)))
    if name == "iter":
        return question.thing("x", 0)
    return row(question.thing("x", 0)) if name == "next" else None


def _learned(name: str, question: Question) -> Thing | None:
    if name == "train_test_split":
        things = [question.thing("x", n) for n in range(len(question.call.args))]
        return Parts(tuple(_part(thing) for thing in things for _ in range(2)))
    if name in ("make_classification", "make_blobs", "make_moons", "make_circles"):
        is_plain = keyword(question.call, "return_centers") is None
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
    return merged([table]) if name in ("map", "apply", "replace") and table.is_column else None
