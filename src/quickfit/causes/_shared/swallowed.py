"""Clauses that catch an error and go on, and those that let an endless generator skip samples."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakKeyDictionary

from quickfit.causes._shared.generators import endless_of, goes_round, goes_round_on, is_generator
from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.syntax import Function, name_of
from quickfit.code.values import External
from quickfit.findings import Span

# Catch whatever may go wrong while something is read.
_BROAD = frozenset(
    (
        *("builtins.Exception", "builtins.BaseException", "builtins.OSError"),
        *("builtins.IOError", "builtins.EnvironmentError"),
    )
)
# Mean a file that is missing, or is not what it should be.
_NARROW = frozenset(
    (
        *("builtins.FileNotFoundError", "builtins.PermissionError", "builtins.IsADirectoryError"),
        *("PIL.UnidentifiedImageError", "PIL.Image.UnidentifiedImageError", "cv2.error"),
        *("tensorflow.errors.NotFoundError", "tensorflow.errors.InvalidArgumentError"),
        *("tensorflow.errors.OpError", "tensorflow.errors.DataLossError"),
    )
)
_TOLD = frozenset(
    (
        *("print", "debug", "info", "warning", "warn", "error", "exception", "critical", "log"),
        *("write", "print_exc", "print_exception", "print_stack", "secho", "echo"),
    )
)
# What waits for somebody else is tried again on purpose.
_WAITING = frozenset(
    (
        *("sleep", "wait", "recv", "recv_json", "accept", "poll", "get_nowait", "input"),
        *("reconnect", "connect", "restart", "reset", "reopen", "retry"),
    )
)

# Functions between a training and what reads its samples.
MAX_DEPTH = 3


def clauses(module: Module) -> Iterator[tuple[ast.Try, ast.ExceptHandler]]:
    """Yield the clauses of a file that raise nothing, each with its `try`."""
    for node in module.all(ast.Try):
        for handler in node.handlers:
            if not any(isinstance(n, ast.Raise) for n in ast.walk(handler)):
                yield node, handler


def is_broad(program: Program, module: Module, handler: ast.ExceptHandler) -> bool:
    """Tell whether a clause catches whatever may go wrong while something is read."""
    return handler.type is None or bool(_caught(program, module, handler) & _BROAD)


def is_narrow(program: Program, module: Module, handler: ast.ExceptHandler) -> bool:
    """Tell whether all that a clause catches are files that are missing or not readable."""
    caught = _caught(program, module, handler)
    return bool(caught) and caught <= _NARROW


def _caught(program: Program, module: Module, handler: ast.ExceptHandler) -> set[str]:
    """Return the full names of what a clause catches; an empty one for what is not known."""
    if handler.type is None:
        return {"builtins.BaseException"}
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    found = [v for kind in kinds for v in program.values(module, kind)]
    return {v.name if isinstance(v, External) else "" for v in found}


def is_bare(handler: ast.ExceptHandler) -> bool:
    """Tell whether a clause does nothing but go on: `pass`, `continue`."""
    return all(
        isinstance(s, ast.Pass | ast.Continue)
        or (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
        for s in handler.body
    )


def tells(handler: ast.ExceptHandler) -> bool:
    """Tell whether a clause says something: prints, logs, warns."""
    return bool(_names(handler) & _TOLD)


def waits(tried: ast.Try, handler: ast.ExceptHandler) -> bool:
    """Tell whether something is tried that comes when it comes: a queue, a socket, a pause."""
    parts = [*tried.body, handler]
    calls = [n for part in parts for n in ast.walk(part) if isinstance(n, ast.Call)]
    timed = any(k.arg in ("timeout", "block") for call in calls for k in call.keywords)
    return timed or any(_names(part) & _WAITING for part in parts)


def _names(node: ast.AST) -> set[str]:
    return {name_of(n.func) for n in ast.walk(node) if isinstance(n, ast.Call)}


def head(module: Module, handler: ast.ExceptHandler) -> Span:
    """Return the place of a clause's first line, without what it does."""
    begin = module.begin(handler)
    end = module.end(handler.type) if handler.type is not None else (begin[0], begin[1] + 6)
    return Span(module.path, begin[0], begin[1] + 1, end[0], end[1] + 1)


def written(module: Module, handler: ast.ExceptHandler) -> str:
    """Return how a clause begins, as a person says it: `except OSError`."""
    caught = f" {module.code(handler.type)}" if handler.type is not None else ""
    return f"except{caught}" if "\n" not in caught else "except"


def uses_keras(module: Module) -> bool:
    """Tell whether a file has to do with TensorFlow or Keras."""
    return _has_keras(module.text)


def is_for_training(
    program: Program, module: Module, function: Function, *, depth: int = MAX_DEPTH
) -> bool:
    """Tell whether a function stands in, or is called from, a file that uses Keras.

    Also by way of other functions: a method that only methods of its own class call.
    """
    if uses_keras(module):
        return True
    if depth == 0 or not may_be_for_training(program, module, function):
        return False
    for other, call in program.resolver.callers(module, function):
        outer = other.function(call)
        if uses_keras(other):
            return True
        if outer is not None and is_for_training(program, other, outer, depth=depth - 1):
            return True
    return False


def may_be_for_training(program: Program, module: Module, function: ast.AST) -> bool:
    """Tell whether a file that uses Keras has the name of a function, or of its file.

    That is quick, before calls are sought.
    """
    if uses_keras(module):
        return True
    names = [name for name in (getattr(function, "name", ""), Path(module.path).stem) if name]
    texts = [program.files.text(path) for path in _with_keras(program)]
    return any(name in text for name in names for text in texts)


_keras_files: WeakKeyDictionary[Program, list[str]] = WeakKeyDictionary()


def _with_keras(program: Program) -> list[str]:
    """Return the files of a program that use Keras, looked through once."""
    if program not in _keras_files:
        _keras_files[program] = [
            p for p in program.files.paths if _has_keras(program.files.text_or_empty(p))
        ]
    return _keras_files[program]


def _has_keras(text: str) -> bool:
    return "keras" in text or "tensorflow" in text


@dataclass(frozen=True)
class Skip:
    """A clause through which a generator never gets to a `yield`.

    Args:
        tried: the `try` that it belongs to.
        handler: the clause.
        generator: the function that goes round; the clause may stand in one that it calls.
        ever: its loop that never ends.
        module: where the generator stands.
        is_own: the clause stands in the generator itself.
    """

    tried: ast.Try
    handler: ast.ExceptHandler
    generator: ast.FunctionDef
    ever: ast.AST
    module: Module
    is_own: bool


def skips(program: Program, module: Module) -> Iterator[Skip]:
    """Yield the clauses of a file that keep a generator from giving anything, if always taken."""
    for tried, handler in clauses(module):
        function = module.function(handler)
        if not isinstance(function, ast.FunctionDef) or not _reads(tried):
            continue
        if not is_broad(program, module, handler) and not is_narrow(program, module, handler):
            continue
        found = _skip(program, module, tried, handler, function)
        if found is not None and not waits(tried, handler):
            yield found


def _skip(
    program: Program,
    module: Module,
    tried: ast.Try,
    handler: ast.ExceptHandler,
    function: ast.FunctionDef,
) -> Skip | None:
    if not is_generator(function):
        return _skip_outside(program, module, tried, handler, function)
    if not goes_round(program, module, handler):
        return None
    if not is_for_training(program, module, function):
        return None
    ever = _ever(program, module, function)
    return Skip(tried, handler, function, ever, module, is_own=True)


def _skip_outside(
    program: Program,
    module: Module,
    tried: ast.Try,
    handler: ast.ExceptHandler,
    function: ast.FunctionDef,
) -> Skip | None:
    """Return the generator that skips what a function gives when it has caught an error."""
    result = _result(tried, handler, function)
    if result is None or not may_be_for_training(program, module, function):
        return None
    for other, call in program.resolver.callers(module, function):
        generator = goes_round_on(program, other, call, result)
        if generator is not None and is_for_training(program, other, generator):
            ever = _ever(program, other, generator)
            return Skip(tried, handler, generator, ever, other, is_own=False)
    return None


def _result(
    tried: ast.Try, handler: ast.ExceptHandler, function: ast.FunctionDef
) -> ast.expr | None:
    """Return what a function gives when a clause of it is taken; None where that is open."""
    last = handler.body[-1]
    if isinstance(last, ast.Return):
        given = last.value or ast.Constant(value=None)
        return given if _is_nothing(given) else None
    is_last = function.body[-1] is tried and isinstance(last, ast.Pass)
    return ast.Constant(value=None) if is_last else None


def _is_nothing(node: ast.expr) -> bool:
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return all(isinstance(part, ast.Constant) for part in parts)


def _reads(tried: ast.Try) -> bool:
    """Tell whether something is called that may fail."""
    return any(isinstance(n, ast.Call) for part in tried.body for n in ast.walk(part))


def _ever(program: Program, module: Module, function: ast.FunctionDef) -> ast.AST:
    found = endless_of(program, module, function)
    node = found.node if found is not None else function
    return node.test if isinstance(node, ast.While) else node
