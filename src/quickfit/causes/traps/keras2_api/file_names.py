"""Finds names of files under which Keras 3 refuses to save a model or its weights."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

from quickfit.causes._shared.keras_objects import is_models
from quickfit.causes._shared.saved_names import ending_of, is_refused_ending
from quickfit.code import Module, Program
from quickfit.code.syntax import argument, is_open, keyword_value, name_of
from quickfit.code.values import Literal, Value
from quickfit.findings import Edit

CHECKPOINT = "keras.callbacks.ModelCheckpoint"
_MODEL = (".keras", ".h5", ".hdf5")
_CHECKPOINTED = (".keras", ".h5")
_WEIGHTS = (".weights.h5",)
_SAVES = ("keras.models.save_model", "keras.saving.save_model")
# Endings that the one of Keras 3 takes the place of; another one may be a part of the name.
_OLD = (".hdf5", ".h5", ".tf", ".ckpt", ".model")


@dataclass(frozen=True)
class Refused:
    """A file's name that is refused, the endings that are not, and the edit, if text can."""

    node: ast.expr
    call: ast.Call
    endings: tuple[str, ...]
    edits: tuple[Edit, ...]


def refused_names(program: Program, module: Module) -> Iterator[Refused]:
    """Yield the names of files in a module that surely have a wrong ending."""
    for call in module.calls("save", "save_weights", "save_model", "ModelCheckpoint"):
        found = _asked(program, module, call)
        if found is None:
            continue
        node, endings = found
        values = program.values(module, node)
        ends = [ending_of(program, value) for value in values]
        if ends and all(end is not None and is_refused_ending(end, endings) for end in ends):
            yield Refused(node, call, endings, _edits(program, values, endings))


def _asked(
    program: Program, module: Module, call: ast.Call
) -> tuple[ast.expr, tuple[str, ...]] | None:
    """Return the name that a call saves under, and the endings it may have."""
    if is_open(call) or keyword_value(call, "zipped") is not None:
        return None
    if name_of(call.func) in ("ModelCheckpoint", "save_model"):
        return _by_function(program, module, call)
    if not isinstance(call.func, ast.Attribute):
        return None
    path = argument(call, "filepath", 0)
    if path is None or not is_models(program, module, call.func.value):
        return None
    return path, _MODEL if call.func.attr == "save" else _WEIGHTS


def _by_function(
    program: Program, module: Module, call: ast.Call
) -> tuple[ast.expr, tuple[str, ...]] | None:
    name = program.called(module, call)
    if name == CHECKPOINT:
        return _checkpointed(program, module, call)
    path = argument(call, "filepath", 1) if name in _SAVES else None
    return (path, _MODEL) if path is not None else None


def _checkpointed(
    program: Program, module: Module, call: ast.Call
) -> tuple[ast.expr, tuple[str, ...]] | None:
    path, weights = argument(call, "filepath", 0), argument(call, "save_weights_only", 4)
    only = program.literal(module, weights) if weights is not None else False
    if path is None or not isinstance(only, bool):
        return None
    return path, _WEIGHTS if only else _CHECKPOINTED


def _edits(
    program: Program, values: tuple[Value, ...], endings: tuple[str, ...]
) -> tuple[Edit, ...]:
    """Return the edit of the one text that all who use the name take it from."""
    if len(values) != 1 or not isinstance(values[0], Literal):
        return ()
    name = posixpath.basename(str(values[0].value).replace("\\", "/").rstrip("/"))
    # The same file may be read as `./name`, or as `os.path.join(folder, name)`.
    places = [
        (module, node)
        for module in program.files.mentioning(name, "")
        for node in module.all(ast.Constant)
        if isinstance(node.value, str) and name in node.value
    ]
    if len(places) != 1 or places[0][1].value != values[0].value or not name:
        return ()
    module, node = places[0]
    code = module.code(node)
    if code.endswith(('"""', "'''")):
        return ()
    old = next((o for o in _OLD if code[:-1].endswith(o)), "")
    body = code[:-1].removesuffix(old).rstrip("/")
    return (module.replace(node, f"{body}{endings[0]}{code[-1]}"),) if body[1:] else ()
