"""Samples that cannot be read are left out, and nobody is told.

What goes wrong: `except Exception: continue` in a generator, a PyDataset or a mapped function
leaves out every sample that fails, for whatever reason: a wrong path, a typing error in the
function itself, a full disk. The model then trains on fewer samples than there are, classes may be
missing, and all looks well. With `pass`, what was read before may be given once more in the place
of what failed.

How it shows: the clause catches everything (or every `OSError`), does nothing but `continue` or
`pass`, and stands where samples are made.

Example:
    def batches(paths, labels):
        for path, label in zip(paths, labels):
            try:
                image = load_image(path)
            except Exception:
                continue
            yield image, label

Use instead:
    def batches(paths, labels):
        for path, label in zip(paths, labels):
            try:
                image = load_image(path)
            except UnidentifiedImageError as error:
                logging.warning("left out: %s (%s)", path, error)
                continue
            yield image, label

Fix class: shown only. Which errors may be passed over, and who is to hear of it, is for you to
decide.

When it is wrong: where a few broken files are known and meant to be left out. A clause that names
what it expects (`FileNotFoundError`, `UnidentifiedImageError`) is a hint; one that prints or logs
what it leaves out is silent. If skipping everything makes the input go round for ever,
`generator-never-yields` reports the clause.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from quickfit.causes._cause import Cause
from quickfit.causes._shared.generators import is_generator
from quickfit.causes._shared.swallowed import (
    clauses,
    head,
    is_bare,
    is_broad,
    is_for_training,
    is_narrow,
    may_be_for_training,
    skips,
    waits,
    written,
)
from quickfit.code import Module, Program
from quickfit.code.datasets import chains
from quickfit.code.keras_models import feeds, fittings
from quickfit.code.syntax import Function, name_of, own_nodes
from quickfit.code.values import Class, Made, Routine
from quickfit.errors import SourceError
from quickfit.findings import Effect, Spotted, Symptom

_FATES = {
    "left-out": "leaves out every sample that fails, without a word",
    "stale": "gives the sample before it once more for every one that fails, without a word",
}


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report clauses that make samples vanish."""
    found = [(t, h) for t, h in clauses(module) if is_bare(h) and not waits(t, h)]
    told = {skip.handler for skip in skips(program, module)} if found else set()
    for tried, handler in found:
        fate = loses(module, tried, handler) if handler not in told else ""
        broad = is_broad(program, module, handler)
        if not fate or not (broad or is_narrow(program, module, handler)):
            continue
        if gives_samples(program, module, module.function(handler)):
            yield Spotted(
                where=head(module, handler),
                summary=f"`{_clause(module, handler)}` {_FATES[fate]}",
                effect=Effect.WRONG,
                is_hint=not broad,
            )


def _clause(module: Module, handler: ast.ExceptHandler) -> str:
    does = "continue" if isinstance(handler.body[-1], ast.Continue) else "pass"
    return f"{written(module, handler)}: {does}"


MAX_DEPTH = 3
_TAKERS = ("map", "flat_map", "interleave", "from_generator", "py_function", "numpy_function")
_READING = re.compile(r"(^|_)(open|read|imread|load|loads|decode|parse|fetch|download)", re.I)
_COLLECTING = ("append", "extend", "add", "insert", "put", "write")


def gives_samples(
    program: Program, module: Module, function: Function | None, *, depth: int = MAX_DEPTH
) -> bool:
    """Tell whether a function makes samples: a generator, a PyDataset's, one that is mapped."""
    if function is None or depth == 0:
        return False
    if depth == MAX_DEPTH and not _may_give(program, module, function):
        return False
    if is_generator(function) and _reads(function) and is_for_training(program, module, function):
        return True
    if _is_item_of_dataset(program, module, function) or _is_mapped(program, module, function):
        return True
    callers = program.resolver.callers(module, function)
    if is_generator(function):
        return any(_is_fitted(program, m, function) for m in (module, *(m for m, _ in callers)))
    return any(gives_samples(program, m, m.function(c), depth=depth - 1) for m, c in callers)


def _may_give(program: Program, module: Module, function: Function) -> bool:
    """Tell whether a file that uses Keras knows a function, or the class whose method it is."""
    owner = module.parent(function)
    known = [function, owner] if isinstance(owner, ast.ClassDef) else [function]
    return any(may_be_for_training(program, module, each) for each in known)


def _reads(function: Function) -> bool:
    """Tell whether a function gets something from outside the program."""
    names = [name_of(n.func) for n in own_nodes(function) if isinstance(n, ast.Call)]
    return any(_READING.search(name) for name in names)


def _is_fitted(program: Program, module: Module, function: Function) -> bool:
    """Tell whether a model is given what a generator function makes."""
    data = [feed.data for fitting in fittings(program, module) for feed in feeds(fitting)]
    made = [v for node in data for v in program.values(module, node) if isinstance(v, Made)]
    routines = [r for value in made if value.maker == "generator" for r in value.receiver]
    return any(isinstance(r, Routine) and r.node is function for r in routines)


def _is_item_of_dataset(program: Program, module: Module, function: Function) -> bool:
    owner = module.parent(function)
    if not isinstance(owner, ast.ClassDef) or getattr(function, "name", "") != "__getitem__":
        return False
    return "keras.utils.PyDataset" in program.resolver.ancestors(Class(owner, module))


def _is_mapped(program: Program, module: Module, function: Function) -> bool:
    """Tell whether a function is given to tf.data, in its own file or one that knows its name."""
    name = getattr(function, "name", "")
    for place in (module, *(_others(program, module, name) if name else ())):
        for call in place.calls(*_TAKERS):
            given = [*call.args[:1], *(k.value for k in call.keywords if k.arg != "Tout")]
            if any(_means(program, place, node, function) for node in given):
                return _is_of_tensorflow(program, place, call)
    return False


def _others(program: Program, module: Module, name: str) -> Iterator[Module]:
    """Yield the other files that may give a function to tf.data; others are not even parsed."""
    for path in program.files.paths:
        try:
            text = program.files.text(path) if path != module.path else ""
            if name in text and any(taker in text for taker in _TAKERS):
                yield program.module(path)
        except SourceError:
            continue


def _means(program: Program, module: Module, node: ast.expr, function: Function) -> bool:
    if isinstance(node, ast.Lambda):
        return node is function
    if not isinstance(node, ast.Name | ast.Attribute) or name_of(node) != getattr(
        function, "name", ""
    ):
        return False
    return any(isinstance(v, Routine) and v.node is function for v in program.values(module, node))


def _is_of_tensorflow(program: Program, module: Module, call: ast.Call) -> bool:
    called = program.called(module, call)
    return called.startswith("tensorflow.") or bool(chains(program, module, call))


# -- what is lost -------------------------------------------------------------------------------


def loses(module: Module, tried: ast.Try, handler: ast.ExceptHandler) -> str:
    """Return what becomes of a sample when a clause just goes on; empty where nothing is clear.

    `left-out`: it is missing from what is given. `stale`: the one before it takes its place.
    """
    loops = module.loops(tried)
    if not loops or _is_tried_again(loops[0], tried):
        return ""
    if isinstance(handler.body[-1], ast.Continue):
        return "left-out" if any(map(_gives, loops[0].body)) else ""
    if any(map(_gives, [*tried.body, *tried.orelse])):
        return "left-out"
    return "stale" if _is_stale(module, loops[0], tried) else ""


def _gives(statement: ast.stmt) -> bool:
    """Tell whether a statement gives or collects something."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in _COLLECTING:
                return True
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            return True
    return False


def _is_tried_again(loop: ast.stmt, tried: ast.Try) -> bool:
    """Tell whether a loop is there to try the same once more: it is left on success."""
    parts = [*tried.body, *tried.orelse]
    if any(isinstance(n, ast.Break | ast.Return) for part in parts for n in ast.walk(part)):
        return True
    if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name):
        return False
    used = [n for s in loop.body for n in ast.walk(s) if isinstance(n, ast.Name)]
    return all(n.id != loop.target.id for n in used)


def _is_stale(module: Module, loop: ast.stmt, tried: ast.Try) -> bool:
    """Tell whether what a `try` makes is given behind it, and made nowhere else in the loop."""
    block = getattr(module.parent(tried), "body", [])
    if module.parent(tried) is not loop or tried not in block:
        return False
    at = block.index(tried)
    made = _stored(tried.body)
    before, behind = _stored(block[:at]), [s for s in block[at + 1 :] if _gives(s)]
    given = {n.id for s in behind for n in ast.walk(s) if isinstance(n, ast.Name)}
    tested = [s for s in block[at + 1 :] if isinstance(s, ast.If)]
    return bool((made - before) & given) and not tested


def _stored(statements: list[ast.stmt]) -> set[str]:
    nodes = [n for s in statements for n in ast.walk(s) if isinstance(n, ast.Name)]
    return {n.id for n in nodes if isinstance(n.ctx, ast.Store)}


CAUSE = Cause(title="Errors are passed over in silence", symptom=Symptom.WRONG, scan=scan)
