"""Finds what `module:function` and `file.py:function` mean, and calls it.

To reach a function, Python must run the file it is in: whatever stands at its top level runs.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from quickfit.errors import PipelineError, QuickfitError, UsageError

_HOW = "Name a function that returns the dataset: train.py:make_dataset or package.module:function"


def looks_like_code(target: str) -> bool:
    """Tell whether a target names something in Python code."""
    place, colon, name = target.rpartition(":")
    return bool(colon and place and name) and not Path(target).exists()


def mentions(target: str, words: tuple[str, ...]) -> bool:
    """Tell whether the file of a target has one of some words in it; it is only read."""
    place = target.rpartition(":")[0]
    inside = place.replace(".", os.sep)
    for path in (Path(place), Path(f"{inside}.py"), Path(inside, "__init__.py")):
        if path.is_file():
            text = path.read_text(errors="replace")
            return any(word in text for word in words)
    return False


def called(target: str) -> Any:
    """Return what the function of a target returns, or the object if it is none (anything).

    Raises:
        UsageError: there is no such module, file or function, or it needs arguments.
    """
    place, _, name = target.rpartition(":")
    with _Blamed(place, "while it was imported"):
        module = _module(place)
    found = _attribute(module, name, target)
    if not (inspect.isroutine(found) or inspect.isclass(found)):
        return found
    _check_arguments(found, target)
    with _Blamed(target, "when it was called"):
        return found()


class _Blamed:
    """Tells an exception of the user's code as theirs: their traceback, without our frames."""

    def __init__(self, what: str, when: str) -> None:
        self._what, self._when = what, when

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, SystemExit):
            raise UsageError(
                f"{self._what}: it ended the program (sys.exit({error.code!r})) {self._when}.\n"
                'Keep what runs a training under\n    if __name__ == "__main__":\n'
                "so that its functions can be used by themselves."
            ) from error
        if isinstance(error, Exception) and not isinstance(error, QuickfitError):
            told = "".join(traceback.format_exception(error.with_traceback(_theirs(trace))))
            raise PipelineError(
                f"{self._what}: it raised {type(error).__name__} {self._when}.\n{told.rstrip()}"
            ) from error


def _theirs(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback from the first frame that is not ours or of the import system."""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file != __file__ and not file.startswith("<frozen ") and "importlib" not in file:
            break
        trace = trace.tb_next
    return trace


def _module(place: str) -> ModuleType:
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    sys.argv[:] = [place]  # a parser of arguments at the top level should not read ours
    if place.endswith(".py") or os.sep in place:
        return _from_file(Path(place))
    try:
        return importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{place}.".startswith(f"{error.name}."):
            raise  # something that the module itself imports
        raise UsageError(
            f"{place}: there is no such module in {here} or installed.\n{_files(Path(here))}{_HOW}"
        ) from error


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        what = "this is a folder" if path.is_dir() else "there is no such file"
        raise UsageError(f"{path}: {what}.\n{_files(path.parent)}{_HOW}")
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    known = sys.modules.get(path.stem)
    if known is not None and _is_file_of(known, path):
        return known
    # A script may have the name of a library: `keras.py` must not hide Keras.
    name = path.stem if known is None and path.stem.isidentifier() else f"quickfit_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path}: this is not a Python file.\n{_HOW}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]  # a half of it must not be taken for the whole
        raise
    return module


def _is_file_of(module: ModuleType, path: Path) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and Path(file).resolve() == path.resolve()


def _files(folder: Path) -> str:
    found = sorted(file.name for file in folder.glob("*.py"))[:5] if folder.is_dir() else []
    return f"Python files in {folder.resolve()}: {', '.join(found)}.\n" if found else ""


def _attribute(module: ModuleType, name: str, target: str) -> Any:
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise UsageError(_missing(found, part, target))
        found = getattr(found, part)
    return found


def _missing(owner: Any, name: str, target: str) -> str:
    there = [n for n in vars(owner) if not n.startswith("_") and _is_own(owner, n)]
    near = difflib.get_close_matches(name, there, n=1)
    hint = f"Did you mean: {target.rpartition(':')[0]}:{near[0]}\n" if near else ""
    listed = ", ".join(there[:8]) or "none"
    return f"{target}: there is no `{name}` in it.\n{hint}Functions that it has: {listed}."


def _is_own(owner: Any, name: str) -> bool:
    found = getattr(owner, name)
    return callable(found) and getattr(found, "__module__", None) == getattr(
        owner, "__name__", None
    )


def _check_arguments(function: Any, target: str) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a built-in one does not tell
        return
    try:
        signature.bind()
    except TypeError as error:
        raise UsageError(
            f"{target}: it needs arguments ({function.__name__}{signature}), and bench calls it"
            " without any.\nWrite one beside it that gives them:\n"
            f"    def for_bench():\n        return {function.__name__}(…)"
        ) from error
