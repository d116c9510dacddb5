"""Turns the iterator of an `ImageDataGenerator` that `fit` is given into a `tf.data` pipeline.

The iterator stays and tells which files there are, in which order, with which labels, which size
and which batch size; only reading, resizing and scaling move into the pipeline. So everything
else that the script asks the iterator for stays as it was.
"""

from __future__ import annotations

import ast
import re

from quickfit.findings import FixClass
from quickfit.fixes.chain_names import binding, only_binding, scope_of, target_of, value_of
from quickfit.fixes.chain_parallel import tensorflow
from quickfit.fixes.change import Change, Edit
from quickfit.fixes.image_data_code import Loading, code_of
from quickfit.fixes.image_data_settings import loading_of
from quickfit.fixes.image_layout import fitted, quoted
from quickfit.fixes.script import Script

_FLOWS = ("flow", "flow_from_directory", "flow_from_dataframe")
_ENDINGS = r"_?(generator|gen|iterator|iter|it|flow|data|images|loader|set)$"


def image_data_generator(script: Script, line: int | None = None) -> Change | None:
    """Return the change for the iterators that a call of `fit` is given.

    Args:
        script: the file that makes the iterator and calls `fit`.
        line: of the call of `fit`, where there is more than one.
    """
    fits = _fits(script, line)
    given = [pair for fit in fits for pair in _iterators(script, fit)]
    training = [maker for fit in fits if (maker := _maker(script, _trained_on(fit))) is not None]
    loadings: dict[ast.stmt, Loading] = {}
    for maker, _ in given:
        loading = _loading(script, maker)
        if maker in training and (loading is None or not _keeps_order(loading, fits)):
            return None
        if loading is not None:
            loadings[maker] = loading
    given = [(maker, node) for maker, node in given if maker in loadings]
    return _with_datasets(script, loadings, given, line or 0) if training else None


def _with_datasets(
    script: Script,
    loadings: dict[ast.stmt, Loading],
    given: list[tuple[ast.stmt, ast.Name]],
    line: int,
) -> Change | None:
    named = tensorflow(script, line, "data")
    if named is None or "nearest" in {function.name for function in script.all(ast.FunctionDef)}:
        return None
    tf, edits = named[0].removesuffix(".data"), list(named[1])
    names: dict[ast.stmt, str] = {}
    helped: set[ast.AST] = set()  # where the helper for resizing is defined already
    for maker, loading in loadings.items():
        scope = scope_of(script, maker)
        has_helper = bool(helped & {scope, script.tree})
        names[maker], added = _added(script, maker, loading, tf, has_helper=has_helper)
        edits.append(added)
        helped |= {scope} if loading.needs_helper else set()
    edits += [script.replace(node, names[maker]) for maker, node in given]
    return _change(edits, list(loadings.values()))


def _keeps_order(loading: Loading, fits: list[ast.Call]) -> bool:
    """Tell whether a dataset gives the batches in the order that `fit` asks an iterator for.

    Of an iterator that does not shuffle, `fit` takes the batches in a random order.
    """
    settings = [k.value for fit in fits for k in fit.keywords if k.arg == "shuffle"]
    is_off = bool(settings) and all(isinstance(s, ast.Constant) and not s.value for s in settings)
    return loading.is_shuffled or is_off


def _change(edits: list[Edit], loadings: list[Loading]) -> Change:
    is_random = any(loading.is_shuffled or loading.flips for loading in loadings)
    difference = max(loading.difference for loading in loadings)
    files = (
        f" Pixels differ from Pillow's by at most {difference} of 255; JPEG and PNG files are read."
        if any(not loading.is_array for loading in loadings)
        else ""
    )
    return Change(
        "Read the images with `tf.data`",
        FixClass.MAY_CHANGE_RESULTS if is_random else FixClass.EQUIVALENT,
        tuple(edits),
        ("The random order and flips are others than before." if is_random else "") + files,
    )


def _fits(script: Script, line: int | None) -> list[ast.Call]:
    """Return the calls of `fit` in a file; of several, those at a line if there are any."""
    calls = [
        call
        for call in script.all(ast.Call)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "fit"
    ]
    here = [c for c in calls if line is not None and c.lineno <= line <= (c.end_lineno or 0)]
    return here or calls


def _iterators(script: Script, fit: ast.Call) -> list[tuple[ast.stmt, ast.Name]]:
    """Return the statements that make what `fit` is given, and where it is given."""
    validated = [k.value for k in fit.keywords if k.arg == "validation_data"]
    data = [node for node in (_trained_on(fit), *validated) if isinstance(node, ast.Name)]
    return [(maker, node) for node in data if (maker := _maker(script, node)) is not None]


def _trained_on(fit: ast.Call) -> ast.expr | None:
    return next(iter((*fit.args[:1], *(k.value for k in fit.keywords if k.arg == "x"))), None)


def _maker(script: Script, node: ast.expr | None) -> ast.stmt | None:
    """Return the statement that makes the iterator a name stands for."""
    if not isinstance(node, ast.Name):
        return None
    statement = binding(script, node) or only_binding(script, node)
    return statement if statement is not None and _flow(statement) is not None else None


def _flow(statement: ast.stmt) -> ast.Call | None:
    """Return the call of `flow...` that a statement gives a name."""
    value = value_of(statement)
    is_flow = (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr in _FLOWS
    )
    return value if is_flow and isinstance(value, ast.Call) else None


def _loading(script: Script, maker: ast.stmt) -> Loading | None:
    """Return how an iterator makes its batches; None where a pipeline would do it otherwise."""
    flow = _flow(maker)
    if flow is None or not isinstance(flow.func, ast.Attribute) or not script.is_alone(maker):
        return None
    generator = flow.func.value
    if isinstance(generator, ast.Name):
        changed = [
            node
            for node in script.all(ast.Attribute)
            if not isinstance(node.ctx, ast.Load) and _is_name(node.value, generator.id)
        ]
        statement = binding(script, generator) or only_binding(script, generator)
        made = value_of(statement) if statement is not None and not changed else None
    else:
        made = generator
    if not isinstance(made, ast.Call) or not _is_generator(script, made):
        return None
    return loading_of(script, made, flow)


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_generator(script: Script, call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    own = any(node.name == name for node in script.all(ast.ClassDef))
    return name == "ImageDataGenerator" and not own


def _added(
    script: Script, maker: ast.stmt, loading: Loading, tf: str, *, has_helper: bool
) -> tuple[str, Edit]:
    """Return the name of the dataset, and the edit that builds it behind the iterator."""
    iterator = target_of(maker) or ""
    stem = re.sub(_ENDINGS, "", iterator) or "image"
    used = {node.id for node in script.all(ast.Name)} | {
        f.name for f in script.all(ast.FunctionDef)
    }
    dataset = _free(f"{stem}_dataset", used)
    verb = "prepare" if loading.is_array else "load"
    function = _free(f"{verb}_{stem}" if stem == "image" else f"{verb}_{stem}_image", used)
    code = code_of(
        loading, tf=tf, iterator=iterator, dataset=dataset, function=function, has_helper=has_helper
    )
    code = fitted(quoted(code, script), width=100 - len(script.indent(maker)))
    is_top = script.parent(maker) is script.tree
    gap = "\n\n\n" if is_top else "\n\n"
    code = code if is_top else code.replace("\n\n\n", "\n\n")
    indent = script.indent(maker)
    lines = [indent + row if row else row for row in code.split("\n")]
    line = script.end(maker)[0]
    place = (line, len(script.lines[line - 1]))
    return dataset, Edit(script.file, place, place, gap + "\n".join(lines))


def _free(name: str, used: set[str]) -> str:
    while name in used:
        name += "_"
    return name
