"""What code is written for: tests, pictures for a person, answers to one who waits."""

from __future__ import annotations

import ast
from pathlib import Path

from quickfit.program import Module, Program, name_of

_DRAWING = frozenset(
    ("subplot", "subplots", "add_subplot", "imshow", "show", "savefig", "plot", "scatter", "figure")
)
_WAITING = frozenset(("input", "recv", "recv_json", "recv_string", "accept", "sleep", "wait"))
_CAMERA = frozenset(("waitKey", "VideoCapture", "grab", "retrieve"))
_FOLDERS = ("test", "tests", "testing")


def is_for_tests(module: Module) -> bool:
    """Tell whether a file holds tests, which do slow things on purpose."""
    path = Path(module.path)
    stem = path.stem
    is_named = stem.startswith("test_") or stem.endswith("_test") or stem == "conftest"
    return is_named or path.parent.name in _FOLDERS


def draws(loop: ast.AST) -> bool:
    """Tell whether each turn of a loop makes a picture: a person looks at a few of them."""
    return _calls_any(loop, _DRAWING)


def shows_live(loop: ast.AST) -> bool:
    """Tell whether each turn of a loop takes a picture from a camera, or waits for its window."""
    return _calls_any(loop, _CAMERA)


def waits_for_someone(program: Program, module: Module, loop: ast.AST) -> bool:
    """Tell whether each turn of a loop waits for a person, another program or the clock."""
    if _calls_any(loop, _WAITING):
        return True
    gets = [n for n in ast.walk(loop) if isinstance(n, ast.Call) and name_of(n.func) == "get"]
    queues = [g.func.value for g in gets if isinstance(g.func, ast.Attribute) and not g.args]
    return any("ueue" in program.maker(module, queue) for queue in queues)


def _calls_any(loop: ast.AST, names: frozenset[str]) -> bool:
    calls = (n for n in ast.walk(loop) if isinstance(n, ast.Call))
    return any(name_of(call.func) in names for call in calls)
