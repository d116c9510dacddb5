"""Lists that are used as pairs, and what puts one of them into another order alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from quickfit.patterns.class_lists import class_partings
from quickfit.patterns.label_names import is_label, is_mixed, words
from quickfit.patterns.lineage import Lineage, Tracer, place
from quickfit.patterns.partings import Parting, draws_differ
from quickfit.patterns.short_lists import ShortTracer, shortened
from quickfit.program import Module, Program, argument, name_of
from quickfit.program.fitting import fittings

# What has to be called anywhere in a file for something to be found there.
_DISTURBING = ("shuffle", "permutation", "sample", "listdir", "glob", "rglob", "iterdir", "scandir")
# Make numbers up: nothing belongs to them before somebody computes it from them.
_MADE_UP = frozenset(
    (
        *("rand", "randn", "randint", "random", "random_sample", "normal", "standard_normal"),
        *("uniform", "integers", "choice", "arange", "linspace", "repeat", "eye", "range"),
    )
)
_CHANGING = frozenset(("astype", "reshape", "copy", "ravel", "flatten", "tolist"))


@dataclass(frozen=True)
class Pair:
    """Two lists used together; `is_silent` says that lengths need not be equal."""

    one: ast.expr
    other: ast.expr
    used: ast.AST
    is_named: bool = False
    is_silent: bool = False


def partings(program: Program, module: Module) -> Iterator[Parting]:
    """Yield what parts the lists that a file uses as pairs."""
    if not module.calls(*_DISTURBING) and not _has_filters(module) and not _has_cuts(module):
        return
    tracer, shorts = Tracer(program, module), ShortTracer(program, module)
    # Without labels in a name, only the file says what the lists are for.
    is_about_keras = "tensorflow" in module.text or "keras" in module.text
    yield from class_partings(tracer)
    for pair in _pairs(program, module):
        if is_about_keras and (short := _shortened(shorts, pair)) is not None:
            yield short
            continue
        one, other = tracer.trace(pair.one), tracer.trace(pair.other)
        if one.is_open or other.is_open or one.is_constant or other.is_constant:
            continue
        found = (
            _shuffled(module, pair, one, other)
            or (is_about_keras and _sorted(tracer, pair, one, other))
            or (is_about_keras and _filtered(pair, one, other))
            or None
        )
        if found is not None and (not pair.is_named or _is_fitting(program, module, pair)):
            yield found


def _is_fitting(program: Program, module: Module, pair: Pair) -> bool:
    """Tell whether it is a Keras model that gets a pair; to ask that last saves time."""
    return any(fitting.call is pair.used for fitting in fittings(program, module))


def _has_filters(module: Module) -> bool:
    """Tell whether a file has both a `zip` and something that leaves items out of a list."""
    return bool(module.calls("zip")) and any(
        loop.ifs for node in module.all(ast.ListComp) for loop in node.generators
    )


def _has_cuts(module: Module) -> bool:
    """Tell whether a file makes datasets of lists, and cuts lists to a length."""
    return bool(module.calls("from_tensor_slices")) and bool(module.all(ast.Slice))


def _shortened(shorts: ShortTracer, pair: Pair) -> Parting | None:
    found = shortened(shorts, pair.used, (pair.one, pair.other), is_silent=pair.is_silent)
    return found if not pair.is_named else None


def _pairs(program: Program, module: Module) -> Iterator[Pair]:
    for call in module.calls("from_tensor_slices"):
        given = call.args[0] if call.args else None
        if isinstance(given, ast.Tuple) and len(given.elts) == 2:
            yield Pair(given.elts[0], given.elts[1], call)
    for call in module.calls("zip"):
        if len(call.args) == 2 and program.called(module, call) == "builtins.zip":
            yield Pair(call.args[0], call.args[1], call, is_silent=True)
    for call in module.calls("fit", "evaluate"):
        x, y = argument(call, "x", 0), argument(call, "y", 1)
        if x is not None and y is not None:
            yield Pair(x, y, call, is_named=True)
    for node in module.all(ast.Return):
        value = node.value
        if isinstance(value, ast.Tuple) and len(value.elts) == 2:
            yield Pair(value.elts[0], value.elts[1], value)


def _is_labelled(pair: Pair, one: Lineage, other: Lineage) -> bool:
    """Tell whether one list is surely the labels of the other."""
    names = [{w for n in each.names for w in words(n)} for each in (one, other)]
    if any(is_mixed(found) for found in names) or not one.names or not other.names:
        return False
    return pair.is_named or is_label(names[0]) != is_label(names[1])


def _shuffled(module: Module, pair: Pair, one: Lineage, other: Lineage) -> Parting | None:
    mine = [call for call in one.shuffles if call not in other.shuffles]
    theirs = [call for call in other.shuffles if call not in one.shuffles]
    if not (mine or theirs) or not _is_labelled(pair, one, other):
        return None
    if (_is_made_up(one) or _is_made_up(other)) and not _belong(one, other):
        return None
    calls = sorted((*mine, *theirs), key=place)
    if mine and theirs:
        is_two = len(mine) == len(theirs) == 1
        if not is_two or not draws_differ(module, calls[0], calls[1]):
            return None
        names = f"`{one.names[0]}` and `{other.names[0]}`"
        return Parting(
            calls[1], pair.used, f"{names} are shuffled one after the other, each in its own order"
        )
    moved, kept = (one, other) if mine else (other, one)
    # Labels that are made of the shuffled list, in a way that is not followed, may fit it.
    if max(kept.begins, kept.built, moved.built) > place(calls[0]):
        return None
    return Parting(
        calls[0],
        pair.used,
        f"`{_named(moved, calls[0])}` is shuffled and `{kept.names[0]}` is not:"
        " examples get the labels of others",
    )


def _is_made_up(lineage: Lineage) -> bool:
    """Tell whether a list is of numbers that come from nowhere."""
    source = lineage.source
    while isinstance(source, ast.Call) and isinstance(source.func, ast.Attribute):
        if source.func.attr not in _CHANGING:
            break
        source = source.func.value
    if isinstance(source, ast.Call):
        return name_of(source.func) in _MADE_UP
    return isinstance(source, ast.BinOp) or bool(getattr(source, "elts", None))


def _belong(one: Lineage, other: Lineage) -> bool:
    """Tell whether one list is computed from the other."""
    for lineage, names in ((one, other.names), (other, one.names)):
        nodes = ast.walk(lineage.source) if lineage.source is not None else ()
        if any(isinstance(n, ast.Name) and n.id in names for n in nodes):
            return True
    return False


def _named(moved: Lineage, call: ast.Call) -> str:
    given = call.args[0]
    return given.id if isinstance(given, ast.Name) else moved.names[0]


def _sorted(tracer: Tracer, pair: Pair, one: Lineage, other: Lineage) -> Parting | None:
    if one.is_sorted == other.is_sorted or one.shuffles or other.shuffles:
        return None
    if not (tracer.is_listing(one.source) and tracer.is_listing(other.source)):
        return None
    loose, firm = (other, one) if one.is_sorted else (one, other)
    if one.source is other.source or loose.source is None or not (loose.names and firm.names):
        return None
    return Parting(
        loose.source,
        pair.used,
        f"`{firm.names[0]}` is sorted and `{loose.names[0]}` is not: files are listed in no certain"
        " order, and meet others than their own",
    )


def _filtered(pair: Pair, one: Lineage, other: Lineage) -> Parting | None:
    """Find what leaves items out of one list only; other uses than `zip` notice the lengths."""
    if not pair.is_silent or bool(one.filters) == bool(other.filters):
        return None
    short, whole = (one, other) if one.filters else (other, one)
    if not (short.names and whole.names) or one.shuffles or other.shuffles:
        return None
    is_same = short.source is not None and short.source is whole.source
    is_again = short.names[0] in short.names[1:] and _is_labelled(pair, one, other)
    if not is_same and not (is_again and whole.begins < place(short.filters[0])):
        return None
    return Parting(
        short.filters[0],
        pair.used,
        f"items are left out of `{short.names[0]}` and not of `{whole.names[0]}`: behind the first"
        " of them, `zip` makes wrong pairs",
    )
