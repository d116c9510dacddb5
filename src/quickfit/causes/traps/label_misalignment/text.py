"""Lists and datasets that are used as pairs, and what puts one of them into another order alone."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from quickfit.causes._shared.label_names import is_label, is_mixed, names_in, words
from quickfit.causes.traps.label_misalignment.lineage import (
    Lineage,
    Parting,
    ShortTracer,
    Tracer,
    draws_differ,
    place,
    shortened,
)
from quickfit.code import Module, Program
from quickfit.code.datasets import Chain, Stage, chains_in, frames_of, given_for
from quickfit.code.keras_models import fittings
from quickfit.code.syntax import argument, name_of
from quickfit.code.values import Frame, Literal

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


Slices = dict[str, list[ast.Subscript]]


def class_partings(tracer: Tracer) -> Iterator[Parting]:
    """Yield what parts the lists of the classes of a file."""
    shuffled: dict[ast.ClassDef, list[ast.Call]] = defaultdict(list)
    for call in tracer.module.calls("shuffle"):
        owner = tracer.module.around(call, ast.ClassDef)
        if owner is not None and _member(call.args[0] if call.args else None):
            shuffled[owner].append(call)
    for owner, calls in shuffled.items():
        calls = [call for call in calls if tracer.is_shuffle(call)]
        yield from _partings(tracer, owner, sorted(calls, key=place))


def _partings(tracer: Tracer, owner: ast.ClassDef, calls: list[ast.Call]) -> Iterator[Parting]:
    names = [_member(call.args[0]) for call in calls]
    for call, name in zip(calls, names, strict=True):
        method = tracer.module.function(call)
        if getattr(method, "name", "__init__") == "__init__" or names.count(name) > 1:
            continue
        for label, used in _partners(owner, name):
            if label not in names and not _is_touched(owner, label):
                text = f"`self.{name}` is shuffled and `self.{label}` is not: examples get the"
                yield Parting(call, used, f"{text} labels of others")
                break
            other = calls[names.index(label)] if names.count(label) == 1 else None
            if other is not None and place(call) < place(other):
                if draws_differ(tracer.module, call, other):
                    both = f"`self.{name}` and `self.{label}` are shuffled one after the other"
                    yield Parting(other, used, f"{both}, each in its own order")
                break


def _partners(owner: ast.ClassDef, name: str) -> Iterator[tuple[str, ast.Subscript]]:
    """Yield the labels of which a method takes the same items as of a list."""
    for method in owner.body:
        if not isinstance(method, ast.FunctionDef) or method.name == "__init__":
            continue
        taken: Slices = defaultdict(list)
        for node in ast.walk(method):
            if isinstance(node, ast.Subscript) and _member(node.value):
                taken[_member(node.value)].append(node)
        wanted = {ast.unparse(node.slice) for node in taken.get(name, ())}
        for other, nodes in taken.items():
            if other != name and _is_label_of(other, name):
                yield from ((other, n) for n in nodes if ast.unparse(n.slice) in wanted)


def _is_label_of(other: str, name: str) -> bool:
    is_one = is_label(words(other)) and not is_label(words(name))
    return is_one and not is_mixed(words(other)) and not is_mixed(words(name))


def _is_touched(owner: ast.ClassDef, name: str) -> bool:
    """Tell whether a list gets another value, or goes to another function, outside `__init__`."""
    for method in owner.body:
        if not isinstance(method, ast.FunctionDef) or method.name == "__init__":
            continue
        if any(_touches(node, name) for node in ast.walk(method)):
            return True
    return False


def _touches(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return _member(node) == name
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        return _member(node.value) == name
    if not isinstance(node, ast.Call) or getattr(node.func, "id", "") == "len":
        return False
    return any(_member(given) == name for given in node.args)


def _member(node: ast.AST | None) -> str:
    """Return the name of `self.name`; empty for anything else."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return ""
    return node.attr if node.value.id == "self" else ""


ZIP = "tensorflow.data.Dataset.zip"
FILES = "tensorflow.data.Dataset.list_files"
# Give the same again and again, or nothing that has an order.
_CONSTANT = ("from_tensors", "range", "counter", "random")
_FILLS = ("zeros", "ones", "fill", "full", "zeros_like", "ones_like", "full_like", "repeat")
_IGNORES = ("tensorflow.data.experimental.ignore_errors",)


@dataclass(frozen=True)
class Disorder:
    """A stage of one dataset that the other has not.

    Args:
        stage: the stage.
        drops: it leaves elements out; else it gives them in another order.
    """

    stage: Stage
    drops: bool


def disorder(program: Program, module: Module, call: ast.Call) -> Disorder | None:
    """Return what surely takes the pairs of a `zip` apart, where one half is labels by name."""
    parts = _parts(call)
    if len(parts) != 2:
        return None
    for frame in frames_of(program, module, call):
        found = [chains_in(program, module, part, frame) for part in parts]
        single = [each[0] for each in found if each is not None and len(each) == 1]
        if len(single) == 2 and all(chain.is_whole for chain in single):
            disordered = _disorder(program, (module, frame), parts, single)
            if disordered is not None:
                return disordered
    return None


def _disorder(
    program: Program,
    at: tuple[Module, Frame | None],
    parts: list[ast.expr],
    found: list[Chain],
) -> Disorder | None:
    one, other = found
    labels = [_is_labels(program, at, *pair) for pair in zip(parts, found, strict=True)]
    if labels.count(True) != 1 or any(_is_constant(program, chain) for chain in found):
        return None
    return _dropping(program, one, other) or _shuffling(program, one, other)


def _parts(call: ast.Call) -> list[ast.expr]:
    if len(call.args) == 1 and isinstance(call.args[0], ast.Tuple | ast.List):
        return call.args[0].elts
    return call.args


def _is_labels(
    program: Program, at: tuple[Module, Frame | None], part: ast.expr, chain: Chain
) -> bool:
    source = chain.stages[0]
    written = [*source.call.args, *(k.value for k in source.call.keywords)]
    given = [e for w in written for _, e in given_for(program, source.module, w, source.frame)]
    if any(isinstance(each, ast.Tuple | ast.Dict) for each in given):
        return False  # it has labels of its own
    parts = [e for _, e in given_for(program, at[0], part, at[1])]
    return is_label(names_in([*parts, *given]))


def _is_constant(program: Program, chain: Chain) -> bool:
    source = chain.stages[0]
    if source.name.rsplit(".", 1)[-1].lower() in _CONSTANT:
        return True
    given = source.call.args[0] if source.call.args else None
    maker = program.maker(source.module, given, source.frame).rsplit(".", 1)[-1]
    return maker in _FILLS or isinstance(given, ast.BinOp)


def _dropping(program: Program, one: Chain, other: Chain) -> Disorder | None:
    found = [[s for s in chain.stages if _drops(program, s)] for chain in (one, other)]
    if bool(found[0]) == bool(found[1]):
        return None
    return Disorder((found[0] or found[1])[0], drops=True)


def _drops(program: Program, stage: Stage) -> bool:
    if stage.name == "apply" and stage.call.args:
        return program.maker(stage.module, stage.call.args[0], stage.frame) in _IGNORES
    return stage.name in ("filter", "ignore_errors")


def _shuffling(program: Program, one: Chain, other: Chain) -> Disorder | None:
    first, second = (_shuffles(program, chain) for chain in (one, other))
    if first is None or second is None:
        return None
    shared = {stage.call for stage in first} & {stage.call for stage in second}
    if shared or len(first) > 1 or len(second) > 1:
        return None  # the same draw, or more of them than are easily compared
    if bool(first) != bool(second):
        return Disorder((first or second)[0], drops=False)
    if not first:
        return None
    seeds = _seed(program, first[0]), _seed(program, second[0])
    if any(seed is None for seed in seeds) or seeds[0] == seeds[1] != (None,):
        return None
    return Disorder(second[0], drops=False)


def _shuffles(program: Program, chain: Chain) -> list[Stage] | None:
    """Return the stages that shuffle; None where one of them may or may not."""
    found: list[Stage] = []
    for stage in chain.stages:
        if stage.name == FILES:
            given = argument(stage.call, "shuffle", 1)
            wanted = (
                program.only(stage.module, given, stage.frame)
                if given is not None
                else Literal(True)
            )
            if not isinstance(wanted, Literal):
                return None
            found += [stage] if wanted.value or wanted.value is None else []
        elif stage.name == "shuffle":
            found.append(stage)
    return found


def _seed(program: Program, stage: Stage) -> tuple[object] | None:
    """Return the seed of a shuffle in a tuple, `(None,)` without one; None: it is not known."""
    given = argument(stage.call, "seed", 2 if stage.name == FILES else 1)
    if given is None:
        return None if any(k.arg is None for k in stage.call.keywords) else (None,)
    only = program.only(stage.module, given, stage.frame)
    return (only.value,) if isinstance(only, Literal) else None
