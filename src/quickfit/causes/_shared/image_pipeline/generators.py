"""Turns a generator over image files into a function that returns the equivalent dataset."""

from __future__ import annotations

import ast
import importlib.metadata

from quickfit.causes._shared.image_pipeline import uses
from quickfit.causes._shared.image_pipeline.batches import Batches
from quickfit.causes._shared.image_pipeline.calls import Reading
from quickfit.causes._shared.image_pipeline.dataset_code import Pipeline, written
from quickfit.causes._shared.image_pipeline.layout import laid_out, with_comments
from quickfit.causes._shared.image_pipeline.pictures import Pictures
from quickfit.causes._shared.image_pipeline.uses import removals
from quickfit.causes._shared.image_pipeline.values import (
    Facts,
    Line,
    Names,
    NotRecognisedError,
    Plan,
    code,
)
from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.syntax import Def, parameter_names, parse_code
from quickfit.findings import Change, Edit

# Calls that are not needed where nothing uses their result.
_WITHOUT_EFFECT = ("len", "range", "arange", "list", "default_rng", "RandomState", "Random")
TITLE = "Load the pictures of `{}` with tf.data, on all cores"


def installed_pillow() -> int:
    """Return the major version of Pillow; 0 where there is none."""
    try:
        return int(importlib.metadata.version("pillow").split(".")[0])
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return 0


def generator_to_dataset(program: Program, file: str, line: int, *, pillow: int) -> Change | None:
    """Return the change of the generator at a line, or of the one that calls the code there.

    Args:
        project: the user's files.
        file: the file of the finding.
        line: a line of the generator, of a function that it calls, or of `from_generator`.
        pillow: the major version of Pillow that the script runs with.
    """
    module = program.find_module(file)
    if module is None:
        return None
    for function in generators(module, line):
        try:
            return _changed(program, module, function, pillow)
        except NotRecognisedError:
            continue
    return None


def generators(module: Module, line: int) -> list[Def]:
    """Return the generators that a line may be about, the nearest first."""
    every = [f for f in module.all(ast.FunctionDef) if _is_generator(module, f)]
    around = [f for f in every if module.begin(f)[0] <= line <= module.end(f)[0]]
    inside = [f for f in module.all(ast.FunctionDef) if f.lineno <= line <= module.end(f)[0]]
    names = {f.name for f in inside}
    callers = [f for f in every if names & _called(f)]
    named = [f for f in every if _is_named_at(module, f.name, line)]
    return list(dict.fromkeys([*reversed(around), *callers, *named]))


def _called(function: Def) -> set[str]:
    calls = [n.func for n in ast.walk(function) if isinstance(n, ast.Call)]
    return {c.attr if isinstance(c, ast.Attribute) else getattr(c, "id", "") for c in calls}


def _is_named_at(module: Module, name: str, line: int) -> bool:
    """Tell whether the statement at a line names a function."""
    for node in ast.walk(module.tree):
        is_it = isinstance(node, ast.Name) and node.id == name
        if is_it or (isinstance(node, ast.Attribute) and node.attr == name):
            statement = module.statement(node)
            if statement.lineno <= line <= (statement.end_lineno or 0):
                return True
    return False


def is_plain_function(function: Def) -> None:
    """Make sure that a function is called as it stands.

    Raises:
        NotRecognisedError: where it is decorated or takes any arguments.
    """
    if function.decorator_list or function.args.vararg or function.args.kwarg:
        raise NotRecognisedError


def _is_generator(module: Module, function: Def) -> bool:
    yields = [n for n in ast.walk(function) if isinstance(n, ast.Yield | ast.YieldFrom)]
    return any(module.around(y, ast.FunctionDef, ast.Lambda) is function for y in yields)


def names_of(program: Program, module: Module) -> Names:
    """Return the names of a script that is one of several."""
    names = Names(module)
    texts = [other.text for other in program.modules()]
    names.has_tables = any("pandas" in text for text in texts)
    return names


def _changed(program: Program, module: Module, function: Def, pillow: int) -> Change:
    is_plain_function(function)
    found = uses.uses(program, module, function)
    tf, imports = module.import_of("tensorflow", "tf")
    names = names_of(program, module)
    is_rerun = bool(found.sources)
    plan, reading = followed(names, function, tf=tf, pillow=pillow, is_rerun=is_rerun)
    uses.check_rounds(found, is_endless=plan.is_endless)
    dtypes = _dtypes(found, plan)
    made = written(plan, reading.facts, pictures=reading.pictures, scope=function, dtypes=dtypes)
    edits = [_body(module, function, plan, made), *_annotation(module, function, tf)]
    edits += [*imports, *found.edits]
    edits += removals(program, module, edits)
    return Change(TITLE.format(function.name), made.kind, tuple(edits), made.note)


def followed(
    names: Names, function: Def, *, tf: str, pillow: int, is_rerun: bool
) -> tuple[Plan, Reading]:
    """Return what a generator gives; `is_rerun` where it is begun anew for every round."""
    module = names.module
    reading = Reading(
        names, Pictures(names, tf=tf, pillow=pillow), Facts(), _methods(module, function)
    )
    reading.batching.scope = function
    counted = reading.methods.get("__len__")
    returned = counted.body[-1] if counted else None
    if isinstance(returned, ast.Return) and counted is not None and len(counted.body) == 1:
        reading.batching.batches_of_class = returned.value
    reading.taken = {
        n.id for n in module.all(ast.Name, within=function) if isinstance(n.ctx, ast.Store)
    }
    reading.taken |= set(parameter_names(function))
    batches = Batches(reading)
    batches.is_rerun = is_rerun
    return batches.followed(without_docstring(function)), reading


def _methods(module: Module, function: Def) -> dict[str, Def]:
    parent = module.parent(function)
    body = parent.body if isinstance(parent, ast.ClassDef) else []
    return {f.name: f for f in body if isinstance(f, ast.FunctionDef)}


def without_docstring(function: Def) -> list[ast.stmt]:
    """Return the statements of a function behind its docstring."""
    first = function.body[0]
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return function.body[1:] if is_docstring else function.body


def _dtypes(found: uses.Uses, plan: Plan) -> tuple[str, ...]:
    """Return the types that the signatures ask for, the same in all of them."""
    if found.sources and found.fits:
        raise NotRecognisedError
    pairs = zip(found.sources, found.modules, strict=True)
    every = {uses.signature_dtypes(call, user) for call, user in pairs}
    if not every:
        if plan.batch_size is None:
            raise NotRecognisedError
        return ()
    if len(every) != 1 or len(next(iter(every))) != len(plan.given):
        raise NotRecognisedError
    return every.pop()


def _body(module: Module, function: Def, plan: Plan, made: Pipeline) -> Edit:
    """Return the edit of a generator's body."""
    body = without_docstring(function)
    text = "\n".join(row.text for row in made.lines)
    kept = [s for s in plan.prelude if is_needed(s, plan.prelude, text)]
    lines = [*_kept(module, kept), *laid_out(made.lines, module)]
    names = {n.id for s in kept for n in ast.walk(s) if isinstance(n, ast.Name)}
    if {"ds", "load", "nearest"} & {*names, *parameter_names(function)}:
        raise NotRecognisedError
    first = module.begin(body[0])[0]
    if not module.is_alone(body[0]) or not module.is_alone(body[-1]):
        raise NotRecognisedError
    head = head_line(module, function)
    last = module.end(body[-1])[0]
    code_text = with_comments(tuple(lines), module, head, last, made.elsewhere, kept=kept)
    if body is not function.body and code_text.startswith("def ") and head == first:
        code_text = "\n" + code_text
    return block(module, body, head, code_text)


def block(module: Module, body: list[ast.stmt], first: int, text: str) -> Edit:
    """Put code, written without indentation, in the place of a function's body."""
    indent = module.indent(body[0])
    rows = [f"{indent}{row}" if row.strip() else "" for row in text.split("\n")]
    end = module.end(body[-1])[0]
    place = (end, len(module.lines[end - 1]))
    return Edit(module.path, (first, 0), place, "\n".join(rows))


def head_line(module: Module, function: Def) -> int:
    """Return the first line that belongs to the body of a function, or to a comment on it."""
    body = without_docstring(function)
    if body is not function.body:
        above = module.end(function.body[0])[0]
    else:
        heads = [function.lineno, *(n.end_lineno or 0 for n in _head_nodes(function))]
        above = max(heads)
        while not module.lines[above - 1].split("#")[0].rstrip().endswith(":"):
            above += 1
    line = above + 1
    while line < module.begin(body[0])[0] and not module.lines[line - 1].strip():
        line += 1
    if module.begin(body[0])[0] <= above:
        raise NotRecognisedError
    return line


def _head_nodes(function: Def) -> list[ast.expr]:
    given = function.args
    found = [a.annotation for a in (*given.args, *given.kwonlyargs) if a.annotation]
    found += [d for d in (*given.defaults, *given.kw_defaults) if d]
    return [*found, *([function.returns] if function.returns else [])]


def _kept(module: Module, statements: list[ast.stmt]) -> list[Line]:
    rows = []
    for statement in statements:
        indent = module.indent(statement)
        own = module.code(statement).split("\n")
        rows += [Line(row.removeprefix(indent), statement.lineno) for row in own]
    return rows


def is_needed(statement: ast.stmt, prelude: list[ast.stmt], text: str) -> bool:
    """Tell whether a statement is more than a name that nothing uses any more."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return True
    target = statement.targets[0]
    calls = [code(n.func) for n in ast.walk(statement.value) if isinstance(n, ast.Call)]
    is_simple = all(c.rsplit(".", 1)[-1] in _WITHOUT_EFFECT for c in calls)
    if not isinstance(target, ast.Name) or not is_simple:
        return True
    others = [s for s in prelude if s is not statement]
    loaded = {n.id for s in others for n in ast.walk(s) if isinstance(n, ast.Name)}
    in_text = {
        n.id for n in ast.walk(parse_code(text.replace("return ", ""))) if isinstance(n, ast.Name)
    }
    return target.id in loaded | in_text


def _annotation(module: Module, function: Def, tf: str) -> list[Edit]:
    if function.returns is None:
        return []
    return [module.replace(function.returns, f"{tf}.data.Dataset")]
