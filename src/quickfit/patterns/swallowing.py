"""Clauses that catch an error and go on as if nothing had been: what they catch, what they say."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from weakref import WeakKeyDictionary

from quickfit.errors import SourceError
from quickfit.findings import Span
from quickfit.program import Module, Program, name_of
from quickfit.program.module import Function
from quickfit.program.values import External

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
        _keras_files[program] = [p for p in program.files.paths if _has_keras(_text(program, p))]
    return _keras_files[program]


def _text(program: Program, path: str) -> str:
    try:
        return program.files.text(path)
    except SourceError:
        return ""


def _has_keras(text: str) -> bool:
    return "keras" in text or "tensorflow" in text
