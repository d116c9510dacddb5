"""What is known of an input of image files: sizes as recorded, names as the script has them.

A size that was not recorded stays unknown; so does a name where more than one is possible.
"""

from __future__ import annotations

import ast
import dataclasses
import os
import re
from typing import Any

from quickfit.causes._shared.own_names import Function, last_name, names_of_files_and_labels
from quickfit.errors import SignalMissing
from quickfit.findings import Location
from quickfit.signals import Signals
from quickfit.signals.step_cost import batch_size
from quickfit.source.calls import parsed

# Longer calls are not worth repeating.
MAX_EXPRESSION = 80
MAX_CALL = 160
# Constants that are called so hold a size, or the examples of a batch.
_SIZE_NAME = re.compile(r"size|side|dim|res|width|height|img|image", re.IGNORECASE)
_BATCH_NAME = re.compile(r"batch|^bs$", re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class ImageInput:
    """What is known of an input that reads image files.

    Args:
        owner: the class or function that makes the batches or elements; may be empty.
        height: of a picture, in pixels.
        width: of a picture, in pixels.
        channels: 1 or 3.
        is_bytes: pixels are whole numbers from 0 to 255.
        labels_are: `numbers` of classes, `one-hot` or `other`; empty without labels.
        batch: the examples in a batch, None where unknown.
        scaling: what is done to the pixels, as code behind `image`; None where unknown.
        paths: the user's expression for the files, empty where unknown.
        labels: the same for the labels.
        size_name: the user's constant that holds height and width, empty where there is none.
        batch_name: the same for `batch`.
        folder: that holds a folder for each class, empty where unknown.
        dataset: the name that `fit` is given, `ds` where it has none.
        fit: the call of `fit` with `dataset` in it, empty where it is not known.
        tf: the name of TensorFlow in the script, empty where it is not imported.
        is_repeated: `fit` has `steps_per_epoch`.
        instead_of: the user's call that makes the input and its place, empty where unknown.
    """

    owner: str
    height: int
    width: int
    channels: int
    is_bytes: bool = False
    labels_are: str = "numbers"
    batch: int | None = None
    scaling: str | None = None
    paths: str = ""
    labels: str = ""
    size_name: str = ""
    batch_name: str = ""
    folder: str = ""
    dataset: str = "ds"
    fit: str = ""
    tf: str = ""
    is_repeated: bool = False
    instead_of: str = ""


def image_input(signals: Signals, owner: str, place: Location | None) -> ImageInput | None:
    """Return what is known of the input; None where a batch is not known to be of pictures."""
    shape = _picture(signals.loop.facts.get("batch"))
    if shape is None:
        return None
    height, width, channels, dtype, labels_are = shape
    examples = examples_of_batch(signals)
    trees = {
        file: tree
        for file in signals.source_files()
        if (tree := parsed(signals.source_text(file))) is not None
    }
    fed = signals.loop.location
    code = trees.get(fed.file) if fed is not None else None
    made = _definition(trees, owner, place)
    text = ast.unparse(made) if made is not None else ""
    fit = _fit_call(code, fed)
    file, call = _made_by(trees, fed.file if fed is not None else "", fit, owner)
    paths, labels = names_of_files_and_labels(made, call)
    found = ImageInput(
        owner=owner if owner.isidentifier() else "",
        height=height,
        width=width,
        channels=channels,
        is_bytes=dtype == "uint8",
        labels_are=labels_are,
        batch=examples,
        scaling=_scaling(text, dtype),
        paths=paths,
        labels=labels if paths else "",
        folder=_folder(signals, trees.values()),
        is_repeated=bool(signals.loop.facts.get("steps_per_epoch")),
        instead_of=_instead_of(file, call),
    )
    if code is None:
        return found
    dataset, written = _fit_text(fit)
    return dataclasses.replace(
        found,
        size_name=_constant(code, height, _SIZE_NAME) if height == width else "",
        batch_name=_constant(code, examples, _BATCH_NAME),
        dataset=dataset,
        fit=written,
        tf=_tensorflow(code),
    )


def _picture(parts: Any) -> tuple[int, int, int, str, str] | None:  # a recorded JSON value
    """Return height, width, channels and type of the one input of a batch, and of its labels.

    None where there is another input, weights, or several labels: the example has none of them.
    """
    try:
        roles = [str(role) for role, _, _ in parts]
        _, dtype, shape = parts[0]
        _, height, width, channels = shape
    except (TypeError, ValueError, IndexError):
        return None
    if roles not in (["input"], ["input", "label"]):
        return None
    if not all(isinstance(n, int) and n > 0 for n in (height, width, channels)):
        return None
    if channels not in (1, 3):
        return None  # planes first, or no picture
    labels_are = _labels_are(*parts[1][1:]) if len(parts) == 2 else ""
    return height, width, channels, str(dtype), labels_are


def _labels_are(dtype: Any, shape: Any) -> str:  # recorded JSON values
    if isinstance(shape, list) and len(shape) == 1 and str(dtype).lstrip("u").startswith("int"):
        return "numbers"
    is_row = isinstance(shape, list) and len(shape) == 2 and isinstance(shape[1], int)
    return "one-hot" if is_row and shape[1] > 1 else "other"


def _definition(
    trees: dict[str, ast.Module], owner: str, place: Location | None
) -> ast.ClassDef | Function | None:
    """Return the class or function that makes the batches."""
    tree = trees.get(place.file) if place is not None else None
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    every = [n for n in ast.walk(tree) if isinstance(n, kinds)] if tree is not None else []
    named = [n for n in every if n.name == owner]
    if len(named) != 1 and place is not None:
        named = [n for n in named if n.lineno <= place.line <= (n.end_lineno or 0)]
    return named[0] if len(named) == 1 else None


def _scaling(text: str, dtype: str) -> str | None:
    """Return what becomes of the pixels, as code behind `image`; None where it is not plain."""
    if dtype == "uint8":
        return ""
    if not text or re.search(r"\bmean|\bstd\b|preprocess_input", text):
        return None
    if "127.5" in text:
        return " / 127.5 - 1.0" if re.search(r"/ 127\.5 - 1(\.0)?\b", text) else None
    return " / 255.0" if re.search(r"/=? 255(\.0)?\b", text) else None


def _fit_call(tree: ast.Module | None, fed: Location | None) -> ast.Call | None:
    """Return the call of `fit` at a place."""
    if tree is None or fed is None:
        return None
    calls = [
        n
        for n in ast.walk(tree)
        if isinstance(n, ast.Call)
        and isinstance(n.func, ast.Attribute)
        and n.func.attr == "fit"
        and n.lineno <= fed.line <= (n.end_lineno or 0)
    ]
    return calls[0] if len(calls) == 1 else None


def _given_to_fit(fit: ast.Call | None) -> ast.expr | None:
    if fit is None:
        return None
    if fit.args:
        return fit.args[0]
    return next((k.value for k in fit.keywords if k.arg == "x"), None)


def _fit_text(fit: ast.Call | None) -> tuple[str, str]:
    """Return the name of the dataset that `fit` is given, and the call with it, as code."""
    given = _given_to_fit(fit)
    if fit is None or given is None:
        return "ds", ""
    if len(ast.unparse(fit)) > MAX_CALL:
        return given.id if isinstance(given, ast.Name) else "ds", ""
    if isinstance(given, ast.Name):
        return given.id, ast.unparse(fit)
    copied = ast.parse(ast.unparse(fit), mode="eval").body
    assert isinstance(copied, ast.Call)
    name = ast.Name("ds", ast.Load())
    if copied.args:
        copied.args[0] = name
    else:
        next(k for k in copied.keywords if k.arg == "x").value = name
    return "ds", ast.unparse(copied)


def _made_by(
    trees: dict[str, ast.Module], fed: str, fit: ast.Call | None, owner: str
) -> tuple[str, ast.Call | None]:
    """Return the call that makes what `fit` is given; the only one in the files otherwise."""
    given = _given_to_fit(fit)
    if isinstance(given, ast.Name):
        values = [
            n.value
            for n in ast.walk(trees[fed])
            if isinstance(n, ast.Assign)
            and any(isinstance(t, ast.Name) and t.id == given.id for t in n.targets)
        ]
        given = values[0] if len(values) == 1 else None
    if isinstance(given, ast.Call) and last_name(given.func) == owner:
        return fed, given
    calls = [
        (file, n)
        for file, tree in trees.items()
        for n in ast.walk(tree)
        if isinstance(n, ast.Call) and last_name(n.func) == owner
    ]
    return calls[0] if len(calls) == 1 else ("", None)


def _instead_of(file: str, call: ast.Call | None) -> str:
    text = ast.unparse(call) if call is not None else ""
    if call is None or len(text) > MAX_EXPRESSION:
        return ""
    return f"`{text}`, {os.path.basename(file)}:{call.lineno}"


def examples_of_batch(signals: Signals) -> int | None:
    """Return how many examples a batch has; None where nothing recorded tells it."""
    try:
        known = batch_size(signals)
    except SignalMissing:  # advice needs no proof: what is unknown stays open in it
        known = None
    examples = known.examples if known is not None else signals.loop.facts.get("batch_examples")
    return examples if isinstance(examples, int) and examples > 0 else None


def picture_size(signals: Signals) -> tuple[int, int] | None:
    """Return height and width of the pictures of a batch; None where they are not known."""
    parts = signals.loop.facts.get("batch")
    inputs = [part for part in parts or () if part[:1] == ["input"]]
    found = _picture(inputs)
    return found[:2] if found is not None else None


def _constant(tree: ast.Module, value: int | None, called: re.Pattern[str]) -> str:
    """Return the one name at the top of a file that holds a number and is called for it."""
    names = [n for n in ast.walk(tree) if isinstance(n, ast.Name)]
    stored = [n.id for n in names if isinstance(n.ctx, ast.Store)]
    found = [
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and len(node.targets) == 1
        for target in node.targets
        if isinstance(target, ast.Name)
        and isinstance(node.value, ast.Constant)
        and type(node.value.value) is int
        and node.value.value == value
        and stored.count(target.id) == 1
        and called.search(target.id)
    ]
    return found[0] if len(found) == 1 else ""


def _tensorflow(tree: ast.Module) -> str:
    """Return the name that TensorFlow has at the top of a file."""
    for node in tree.body:
        for alias in node.names if isinstance(node, ast.Import) else ():
            if alias.name == "tensorflow":
                return alias.asname or alias.name
    return ""


def _folder(signals: Signals, trees: Any) -> str:
    """Return the folder of the class folders that the run read from, as the script calls it."""
    read = [os.path.split(each.folder) for each in signals.data_folders]
    parents = {parent for parent, _ in read}
    if len(parents) != 1 or len({name for _, name in read}) < 2:
        return ""
    parent = parents.pop()
    written = {
        prefix
        for tree in trees
        for n in ast.walk(tree)
        if isinstance(n, ast.Constant) and isinstance(n.value, str)
        for prefix in (re.split(r"/?[^/]*[*?\[{]", n.value)[0].rstrip("/"),)
        if prefix and os.path.basename(prefix) == os.path.basename(parent)
    }
    return written.pop() if len(written) == 1 else parent
