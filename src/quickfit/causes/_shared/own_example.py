"""A cause's example change, written in the names of the user's own code."""

from __future__ import annotations

import ast
import dataclasses
import os
import re
from collections.abc import Iterator
from typing import Any

from quickfit.code.syntax import name_of, parse_expression, parse_or_none
from quickfit.errors import SignalMissing
from quickfit.findings import Fix, Location
from quickfit.signals import Signals
from quickfit.signals.step_cost import batch_size

# Packages that decode or change images; seen on the stacks, they tell what the input does.
IMAGE_LIBRARIES = {"PIL", "cv2", "skimage", "imageio"}
SIZES_ARE_EXAMPLES = "The sizes in the example are not yours: put your own there."
_ANY_BATCH = "32 is an example: put the size of your batches there"
_UNSCALED = "pixels are 0 to 255 here: bring them to the range that your model learns on"


def own_image_fix(fix: Fix, signals: Signals, owner: str, place: Location | None) -> Fix:
    """Return a fix with the example in the user's own names and sizes, where they are known.

    Args:
        fix: with the example of the cause's page.
        signals: of the run.
        owner: the class or function that makes the batches or elements.
        place: a line of it.
    """
    found = image_input(signals, owner, place)
    if found is None:
        note = f"{fix.note} {SIZES_ARE_EXAMPLES}".strip()
        return dataclasses.replace(fix, note=note)
    return dataclasses.replace(
        fix, example=render_pipeline(found), short_way=render_short_way(found)
    )


def own_image_map(fix: Fix, signals: Signals, owner: str, place: Location | None) -> Fix | None:
    """Return a fix with a map that loads the user's pictures; None where they are not known."""
    found = image_input(signals, owner, place)
    if found is None:
        return None
    tf = found.tf or "tf"
    lines = [*_load_function(found), ""]
    lines.append(f"# in place of the map that calls {_owner(found)}, on paths, before the batch")
    lines.append(f"ds = ds.map({_loader(found)}, num_parallel_calls={tf}.data.AUTOTUNE)")
    return dataclasses.replace(fix, example="\n".join(lines), short_way=render_short_way(found))


def render_pipeline(given: ImageInput) -> str:
    """Return the tf.data pipeline that reads the same pictures, as code to paste and to adapt."""
    tf, ds, owner = given.tf or "tf", given.dataset, _owner(given)
    paths, labels = given.paths or "paths", given.labels or "labels"
    lines = ["import tensorflow as tf", ""] if not given.tf else []
    lines += [*_load_function(given), ""]
    if given.instead_of:
        lines.append(f"# in place of {given.instead_of}")
    if not given.paths:
        lines.append(f"# `paths`: a list of the files that {owner} opens")
    if given.labels_are and not given.labels:
        lines.append(f"# `labels`: a list with the label of each of `{paths}`")
    sources = f"[str(path) for path in {paths}]"
    sources = f"({sources}, {labels})" if given.labels_are else sources
    repeated = ".repeat()" if given.is_repeated else ""
    if given.batch is None:
        lines.append(f"# {_ANY_BATCH}")
    batch = given.batch_name or given.batch or 32
    return "\n".join(
        [
            *lines,
            f"{ds} = {tf}.data.Dataset.from_tensor_slices({sources})",
            f"{ds} = {ds}.shuffle(len({paths})){repeated}",
            f"{ds} = {ds}.map({_loader(given)}, num_parallel_calls={tf}.data.AUTOTUNE)",
            f"{ds} = {ds}.batch({batch}).prefetch({tf}.data.AUTOTUNE)",
            given.fit or f"model.fit({ds})",
        ]
    )


def _load_function(given: ImageInput) -> list[str]:
    """Return the function that makes a picture of a file."""
    tf = given.tf or "tf"
    size = f"{given.size_name}, {given.size_name}" if given.size_name else ""
    size = size or f"{given.height}, {given.width}"
    image = f"image{given.scaling or ''}"
    if given.is_bytes:
        image = f"{tf}.cast({tf}.round(image), {tf}.uint8)"
    rows = [
        f"def {_loader(given)}(path{', label' if given.labels_are else ''}):",
        f"    image = {tf}.io.decode_jpeg({tf}.io.read_file(path), channels={given.channels})",
        f"    image = {tf}.image.resize(image, ({size}), antialias=True)",
        f"    # what else {_owner(given)} does to a picture goes here, with `{tf}.image`",
    ]
    if given.scaling is None:
        rows.append(f"    # {_UNSCALED}")
    return [*rows, f"    return {image}{', label' if given.labels_are else ''}"]


def _loader(given: ImageInput) -> str:
    """Return the name of the new function, which is not that of the user's."""
    return "load" if given.owner != "load" else "load_picture"


def _owner(given: ImageInput) -> str:
    return f"`{given.owner}`" if given.owner else "your code"


def render_short_way(given: ImageInput) -> str:
    """Return the same with `quickfit.data`, as code; empty where it has no such labels."""
    has_lists = bool(given.paths) and (bool(given.labels) or not given.labels_are)
    if given.labels_are == "other" or (given.labels_are == "one-hot" and not given.folder):
        return ""
    is_square = given.height == given.width
    size = given.height if is_square else (given.height, given.width)
    options = [f"size={given.size_name or size}"]
    options.append(f"batch={given.batch_name or given.batch or 32}")
    if not given.is_bytes:
        options.append('dtype="float32"')
    if given.scaling is None:
        options.append("scale=(0, 255)")
    elif "127.5" in given.scaling:
        options.append("scale=(-1, 1)")
    if given.labels_are == "one-hot":
        options.append("one_hot=True")
    if given.is_repeated:
        options.append("repeat=True")
    rows = ["from quickfit import data", ""]
    if given.batch is None:
        rows.append(f"# {_ANY_BATCH}")
    if given.scaling is None:
        rows.append(f"# {_UNSCALED}")
    if has_lists and given.labels_are != "one-hot":
        source = f"{given.paths}, {given.labels or 'False'}"
    else:
        source = _quoted(given.folder or "your_folder") + ("" if given.labels_are else ", False")
        if given.labels_are:
            rows.append(
                "# a folder that has a folder for each class; classes in order of their names"
            )
    rows.append(f"{given.dataset} = data.images({source}, {', '.join(options)})")
    return "\n".join([*rows, given.fit or f"model.fit({given.dataset})"])


def _quoted(text: str) -> str:
    """Return a text as a literal, in double quotes where that needs no escape."""
    return f'"{text}"' if text.isprintable() and not set(text) & {'"', "\\"} else repr(text)


def with_own_sizes(fix: Fix, signals: Signals) -> Fix:
    """Return a fix whose example has the user's size of pictures and of batches.

    Where one is in the example and not known, the example stays and says so.
    """
    example = fix.example
    batch = re.search(r"\bbatch\((\d+)\)", example)
    resized = re.search(r"\bresize\(\w+, (\(\d+, \d+\))", example)
    examples = examples_of_batch(signals) if batch is not None else None
    size = picture_size(signals) if resized is not None else None
    if batch is not None and examples is not None:
        example = re.sub(rf"(?<![\w.]){batch[1]}(?![\w.])", str(examples), example)
    if resized is not None and size is not None:
        example = example.replace(resized[1], f"({size[0]}, {size[1]})")
    is_open = (batch is not None and examples is None) or (resized is not None and size is None)
    note = f"{fix.note} {SIZES_ARE_EXAMPLES}".strip() if is_open else fix.note
    return dataclasses.replace(fix, example=example, note=note)


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
        if (tree := parse_or_none(signals.source_text(file))) is not None
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
    copied = parse_expression(ast.unparse(fit))
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
    if isinstance(given, ast.Call) and name_of(given.func) == owner:
        return fed, given
    calls = [
        (file, n)
        for file, tree in trees.items()
        for n in ast.walk(tree)
        if isinstance(n, ast.Call) and name_of(n.func) == owner
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


# Calls that open or decode a file of an image, by their last name.
_READERS = {"open", "imread", "load_img", "decode_jpeg", "decode_image", "decode_png"}
# Calls whose result has the same items.
_UNCHANGED = {"str", "fspath", "Path", "list", "tuple", "sorted", "array", "asarray", "stack"}
# A longer name is not worth repeating.
MAX_NAME = 80

Function = ast.FunctionDef | ast.AsyncFunctionDef


def names_of_files_and_labels(
    made: ast.ClassDef | Function | None, call: ast.Call | None
) -> tuple[str, str]:
    """Return the expressions for files and labels at the call that makes the input."""
    if made is None or call is None:
        return "", ""
    arguments = _arguments(made, call)
    follower = _Follower(made)
    paths = follower.lists(follower.read_expressions()) & set(arguments)
    labels = (follower.lists(follower.label_expressions()) & set(arguments)) - paths
    shown = ["", ""]
    for number, names in enumerate((paths, labels)):
        value = arguments[next(iter(names))] if len(names) == 1 else None
        if value is not None and _is_simple(value):
            shown[number] = ast.unparse(value)
    return shown[0], shown[1]


def _is_simple(value: ast.expr) -> bool:
    """Tell whether an expression can be written twice: a name, or a part of an object."""
    while isinstance(value, ast.Attribute):
        value = value.value
    return isinstance(value, ast.Name) and len(value.id) <= MAX_NAME


def _arguments(made: ast.ClassDef | Function, call: ast.Call) -> dict[str, ast.expr]:
    """Return what a call gives for each parameter; nothing where it passes `*` or `**`."""
    function: ast.AST | None = made
    if isinstance(made, ast.ClassDef):
        function = next(
            (n for n in made.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None
        )
    if not isinstance(function, Function):
        return {}
    given = _parameters(function)
    given = given[1:] if isinstance(made, ast.ClassDef) else given
    if any(isinstance(a, ast.Starred) for a in call.args) or len(call.args) > len(given):
        return {}
    found = dict(zip(given, call.args, strict=False))
    return found | {k.arg: k.value for k in call.keywords if k.arg}


def _parameters(function: Function) -> list[str]:
    """Return the parameters that can be given by place."""
    return [a.arg for a in (*function.args.posonlyargs, *function.args.args)]


class _Follower:
    """Follows names inside a class or function back to its parameters."""

    def __init__(self, made: ast.ClassDef | Function) -> None:
        self._made = made
        methods = {n.name: n for n in made.body if isinstance(n, ast.FunctionDef)}
        is_class = isinstance(made, ast.ClassDef)
        self._methods = methods if is_class else {}
        own = methods.get("__init__") if is_class else made
        self._parameters = _parameters(own) if isinstance(own, Function) else []
        self._values: dict[str, list[tuple[ast.expr, bool]]] = {}
        for node in ast.walk(made):
            for target, value, is_item in (*_bindings(node), *self._handed_over(node)):
                self._values.setdefault(ast.unparse(target), []).append((value, is_item))

    def _handed_over(self, node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr, bool]]:
        """Yield the parameters of a method of the class with what a call gives for them."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return
        method = self._methods.get(node.func.attr) if name_of(node.func.value) == "self" else None
        if method is not None:
            for name, value in zip(_parameters(method)[1:], node.args, strict=False):
                yield ast.Name(name, ast.Load()), value, False

    def read_expressions(self) -> list[ast.expr]:
        """Return what is given to the calls that open a picture."""
        return [
            n.args[0]
            for n in ast.walk(self._made)
            if isinstance(n, ast.Call) and n.args and name_of(n.func) in _READERS
        ]

    def label_expressions(self) -> list[ast.expr]:
        """Return the second of the two values that are yielded, or returned as an item."""
        item = self._methods.get("__getitem__") or self._methods.get("__next__") or self._made
        values = [n.value for n in ast.walk(item) if isinstance(n, ast.Yield | ast.Return)]
        return [v.elts[1] for v in values if isinstance(v, ast.Tuple) and len(v.elts) == 2]

    def lists(self, expressions: list[ast.expr]) -> set[str]:
        """Return the parameters whose items the expressions are, and nothing else.

        Empty where something is done to the items: then the parameter alone does not tell them.
        """
        todo, seen, found = [(e, False) for e in expressions], set[tuple[str, bool]](), set[str]()
        while todo:
            expression, is_item = todo.pop()
            origin = _origin(expression)
            if origin is None:
                return set()
            name, picks = origin
            is_item = is_item or picks
            if not name or (name, is_item) in seen:
                continue
            seen.add((name, is_item))
            todo += [(value, is_item or loops) for value, loops in self._values.get(name, [])]
            if name in self._parameters:
                if not is_item:
                    return set()
                found.add(name)
        return found


def _bindings(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr, bool]]:
    """Yield what gets a value, with the expression it comes from, and if it is an item of that."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _pairs(target, node.value, is_item=False)
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        yield node.target, node.value, False
    elif isinstance(node, ast.For | ast.comprehension):
        yield from _items(node.target, node.iter)
    elif isinstance(node, ast.Call) and len(node.args) == 1:
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr == "append":
            yield function.value, node.args[0], False


def _pairs(
    target: ast.expr, value: ast.expr, *, is_item: bool
) -> Iterator[tuple[ast.expr, ast.expr, bool]]:
    if not isinstance(target, ast.Tuple | ast.List):
        # `xs[j] = …` fills `xs`.
        yield target.value if isinstance(target, ast.Subscript) else target, value, is_item
    elif isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
        for each, part in zip(target.elts, value.elts, strict=True):
            yield from _pairs(each, part, is_item=is_item)
    else:
        for each in target.elts:  # a part of something: it is not followed
            yield from _pairs(each, ast.Tuple([], ast.Load()), is_item=is_item)


def _items(target: ast.expr, of: ast.expr) -> Iterator[tuple[ast.expr, ast.expr, bool]]:
    """Yield the names of a loop with what they are items of, through `zip` and `enumerate`."""
    called = name_of(of.func) if isinstance(of, ast.Call) else ""
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else []
    if isinstance(of, ast.Call) and called == "enumerate" and len(parts) == 2 and of.args:
        yield from _items(parts[1], of.args[0])
    elif isinstance(of, ast.Call) and called == "zip" and len(parts) == len(of.args) > 0:
        for each, part in zip(parts, of.args, strict=True):
            yield from _items(each, part)
    else:
        yield from _pairs(target, of, is_item=True)


def _origin(node: ast.expr) -> tuple[str, bool] | None:
    """Return the name that an expression only picks from, and if it picks; None for anything else.

    An empty list has no name: it is filled elsewhere.
    """
    picks = False
    while True:
        if isinstance(node, ast.Subscript):
            node, picks = node.value, True
        elif isinstance(node, ast.ListComp | ast.GeneratorExp):
            node = node.elt
        elif isinstance(node, ast.Call) and name_of(node.func) in _UNCHANGED and node.args:
            node = node.args[0]
        else:
            break
    if isinstance(node, ast.Name | ast.Attribute):
        return ast.unparse(node), picks
    is_empty_list = isinstance(node, ast.List) and not node.elts
    return ("", picks) if is_empty_list else None
