"""What `quickfit bench` measures: a function's dataset, a folder of images, or a pack."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import os
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from quickfit import data
from quickfit.data.speed.feeds import Feed, feed_of
from quickfit.errors import PipelineError, QuickfitError, UsageError

_HOW = "Name a function that returns the dataset: train.py:make_dataset or package.module:function"
_RECORDS = ".tfrec"  # as `records` takes for record files


def load_tensorflow() -> None:
    """Load TensorFlow and Keras.

    Raises:
        UsageError: they are not installed.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # errors still show
    try:
        with _notes_dropped():
            import keras  # noqa: F401
            import tensorflow  # noqa: F401
    except ModuleNotFoundError as error:
        raise UsageError(
            f"bench: {error.name} is not installed for {sys.executable}.\n"
            "Install it: pip install 'quickfit[cpu]', or 'quickfit[gpu]' for a GPU"
        ) from error


@contextmanager
def _notes_dropped() -> Iterator[None]:
    """Keep what native code writes to stderr; it is shown if the loading fails.

    Some of TensorFlow's notes (oneDNN, 2.21) come before it has read TF_CPP_MIN_LOG_LEVEL.
    """
    sys.stderr.flush()
    original = os.dup(2)
    with tempfile.TemporaryFile() as kept:
        os.dup2(kept.fileno(), 2)
        try:
            yield
        except BaseException:
            kept.seek(0)
            os.write(original, kept.read())
            raise
        finally:
            os.dup2(original, 2)
            os.close(original)


def looks_like_code(target: str) -> bool:
    """Tell whether a target names something in Python code."""
    place, colon, name = target.rpartition(":")
    return bool(colon and place and name) and not Path(target).exists()


def target_mentions(target: str, words: tuple[str, ...]) -> bool:
    """Tell whether the file of a target has one of some words in it; it is only read."""
    place = target.rpartition(":")[0]
    inside = place.replace(".", os.sep)
    for path in (Path(place), Path(f"{inside}.py"), Path(inside, "__init__.py")):
        if path.is_file():
            text = path.read_text(errors="replace")
            return any(word in text for word in words)
    return False


def call_target(target: str) -> Any:
    """Return what the function of a target returns, or the object if it is none (anything).

    Raises:
        UsageError: there is no such module, file or function, or it needs arguments.
    """
    place, _, name = target.rpartition(":")
    with _Blamed(place, "while it was imported"):
        module = _import_module(place)
    found = _find_attribute(module, name, target)
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
            told = "".join(traceback.format_exception(error.with_traceback(_user_traceback(trace))))
            raise PipelineError(
                f"{self._what}: it raised {type(error).__name__} {self._when}.\n{told.rstrip()}"
            ) from error


def _user_traceback(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback from the first frame that is not ours or of the import system."""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file != __file__ and not file.startswith("<frozen ") and "importlib" not in file:
            break
        trace = trace.tb_next
    return trace


def _import_module(place: str) -> ModuleType:
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
            f"{place}: there is no such module in {here} or installed.\n"
            f"{_list_python_files(Path(here))}{_HOW}"
        ) from error


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        what = "this is a folder" if path.is_dir() else "there is no such file"
        raise UsageError(f"{path}: {what}.\n{_list_python_files(path.parent)}{_HOW}")
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


def _list_python_files(folder: Path) -> str:
    found = sorted(file.name for file in folder.glob("*.py"))[:5] if folder.is_dir() else []
    return f"Python files in {folder.resolve()}: {', '.join(found)}.\n" if found else ""


def _find_attribute(module: ModuleType, name: str, target: str) -> Any:
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise UsageError(_missing_attribute_text(found, part, target))
        found = getattr(found, part)
    return found


def _missing_attribute_text(owner: Any, name: str, target: str) -> str:
    there = [n for n in vars(owner) if not n.startswith("_") and _is_own_function(owner, n)]
    near = difflib.get_close_matches(name, there, n=1)
    hint = f"Did you mean: {target.rpartition(':')[0]}:{near[0]}\n" if near else ""
    listed = ", ".join(there[:8]) or "none"
    return f"{target}: there is no `{name}` in it.\n{hint}Functions that it has: {listed}."


def _is_own_function(owner: Any, name: str) -> bool:
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


@dataclass(frozen=True)
class TargetOptions:
    """How images of a folder or pack are made into batches; None is what `data` takes by itself."""

    size: tuple[int, int] | None = None
    batch: int = 32
    resize: str | None = None
    cache: bool = True

    def given(self) -> dict[str, Any]:  # of any kind
        """Return them as `data.images` and `data.records` take them."""
        wanted: dict[str, Any] = {"size": self.size, "resize": self.resize}
        chosen = {name: value for name, value in wanted.items() if value is not None}
        return {"batch": self.batch, **chosen, **({} if self.cache else {"cache": None})}


@dataclass(frozen=True)
class OpenedTarget:
    """What a target gave: where elements come from, and a model that trains on them (anybody's)."""

    feed: Feed
    model: Any = None


def open_target(target: str, options: TargetOptions) -> OpenedTarget:
    """Return what a target means.

    Raises:
        UsageError: it means nothing that can be measured.
    """
    if looks_like_code(target):
        if target_mentions(target, ("tensorflow", "keras")):
            load_tensorflow()
        return target_from_result(call_target(target), target)
    path = Path(target)
    if path.exists() and path.suffix != ".py":
        load_tensorflow()
    if _is_records(path):
        return OpenedTarget(feed_of(data.records(path, **options.given()), target))
    if path.exists() and path.suffix != ".py":
        feed = feed_of(data.images(path, **options.given()), target)
        feed.folder = target.rstrip("/") if path.is_dir() else None
        return OpenedTarget(feed)
    raise UsageError(_unknown_target_text(path, target))


def target_from_result(found: Any, target: str) -> OpenedTarget:
    """Return what a function's result means: a dataset, several, or a dataset and a model.

    Raises:
        UsageError: it is nothing that gives elements.
    """
    if found is None:
        raise UsageError(
            f"{target}: it returned None. Is a `return` missing?\n"
            "It should return a dataset, or a dataset and a compiled model."
        )
    if isinstance(found, tuple) and found and _gives_elements(found[0]):
        model = found[1] if len(found) == 2 and hasattr(found[1], "fit") else None
        # Of several datasets, the first one is that of training.
        name = target if model is not None or len(found) == 1 else f"{target}[0]"
        return OpenedTarget(feed_of(found[0], name), model)
    if callable(found) and not hasattr(found, "__iter__") and not hasattr(found, "__next__"):
        raise UsageError(
            f"{target}: it returned a {type(found).__name__}, not a dataset.\n"
            "It should return a tf.data.Dataset, a PyDataset or a generator, and may return a"
            " compiled model with it: return dataset, model"
        )
    return OpenedTarget(feed_of(found, target))


def target_model(target: str) -> Any:
    """Return the compiled model that a function returns.

    Raises:
        UsageError: it is no model.
    """
    if not looks_like_code(target):
        raise UsageError(
            f"--model {target}: this names no function.\n"
            "Give one that returns a compiled model: --model train.py:make_model"
        )
    model = call_target(target)
    if not hasattr(model, "fit"):
        raise UsageError(
            f"--model {target}: it returned a {type(model).__name__}, not a Keras model.\n"
            "It should return a compiled model."
        )
    return model


def _gives_elements(found: Any) -> bool:
    is_array = hasattr(found, "shape") and hasattr(found, "dtype")
    return not is_array and (hasattr(found, "__iter__") or hasattr(found, "__getitem__"))


def _is_records(path: Path) -> bool:
    """Tell whether a path is a record file, or a folder that has some."""
    files = [path] if path.is_file() else path.iterdir() if path.is_dir() else []
    return any(_RECORDS in file.name for file in files)


def _unknown_target_text(path: Path, target: str) -> str:
    if path.is_file():
        return (
            f"{target}: which function of it returns the dataset?\n"
            f"Name it: quickfit bench {target}:make_dataset"
        )
    return (
        f"{target}: there is no such folder or file, and a function is named with a colon.\n"
        "Give a function (train.py:make_dataset), a folder of images, or a pack."
    )
