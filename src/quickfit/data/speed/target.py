"""What `quickfit bench` measures: a function's dataset, a folder of images, or a pack."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quickfit import data
from quickfit.data.speed import user_code
from quickfit.data.speed.feeds import Feed, feed_of
from quickfit.data.speed.loading import load_tensorflow
from quickfit.errors import UsageError

_RECORDS = ".tfrec"  # as `records` takes for record files


@dataclass(frozen=True)
class Options:
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
class Opened:
    """What a target gave: where elements come from, and a model that trains on them (anybody's)."""

    feed: Feed
    model: Any = None


def opened(target: str, options: Options) -> Opened:
    """Return what a target means.

    Raises:
        UsageError: it means nothing that can be measured.
    """
    if user_code.looks_like_code(target):
        if user_code.mentions(target, ("tensorflow", "keras")):
            load_tensorflow()
        return returned(user_code.called(target), target)
    path = Path(target)
    if path.exists() and path.suffix != ".py":
        load_tensorflow()
    if _is_records(path):
        return Opened(feed_of(data.records(path, **options.given()), target))
    if path.exists() and path.suffix != ".py":
        feed = feed_of(data.images(path, **options.given()), target)
        feed.folder = target.rstrip("/") if path.is_dir() else None
        return Opened(feed)
    raise UsageError(_unknown(path, target))


def returned(found: Any, target: str) -> Opened:
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
        return Opened(feed_of(found[0], name), model)
    if callable(found) and not hasattr(found, "__iter__") and not hasattr(found, "__next__"):
        raise UsageError(
            f"{target}: it returned a {type(found).__name__}, not a dataset.\n"
            "It should return a tf.data.Dataset, a PyDataset or a generator, and may return a"
            " compiled model with it: return dataset, model"
        )
    return Opened(feed_of(found, target))


def model_of(target: str) -> Any:
    """Return the compiled model that a function returns.

    Raises:
        UsageError: it is no model.
    """
    if not user_code.looks_like_code(target):
        raise UsageError(
            f"--model {target}: this names no function.\n"
            "Give one that returns a compiled model: --model train.py:make_model"
        )
    model = user_code.called(target)
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


def _unknown(path: Path, target: str) -> str:
    if path.is_file():
        return (
            f"{target}: which function of it returns the dataset?\n"
            f"Name it: quickfit bench {target}:make_dataset"
        )
    return (
        f"{target}: there is no such folder or file, and a function is named with a colon.\n"
        "Give a function (train.py:make_dataset), a folder of images, or a pack."
    )
