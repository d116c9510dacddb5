"""Turns the iterator of an `ImageDataGenerator` that `fit` is given into a `tf.data` pipeline."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace

from quickfit.causes._shared.image_pipeline.layout import fitted, quoted
from quickfit.causes._shared.map_threads import tensorflow_code
from quickfit.causes.input.py_generator_input.augmentation import (
    ARGUMENTS,
    Augmentation,
    augmentation_of,
)
from quickfit.code import Module
from quickfit.code.scopes import (
    binding_in_block,
    name_scope_of,
    only_binding,
    target_of,
    value_of_statement,
)
from quickfit.findings import Change, Edit, FixClass

_FLOWS = ("flow", "flow_from_directory", "flow_from_dataframe")
_ENDINGS = r"_?(generator|gen|iterator|iter|it|flow|data|images|loader|set)$"


def image_data_generator(
    module: Module, line: int | None = None, *, keeps: bool = False
) -> Change | None:
    """Return the change for the iterators that a call of `fit` is given.

    Args:
        module: the file that makes the iterator and calls `fit`.
        line: of the call of `fit`, where there is more than one.
        keeps: the images of an epoch fit into memory, and there are several epochs.
    """
    fits = _fits(module, line)
    given = [pair for fit in fits for pair in _iterators(module, fit)]
    training = [maker for fit in fits if (maker := _maker(module, _trained_on(fit))) is not None]
    loadings: dict[ast.stmt, Loading] = {}
    for maker, _ in given:
        loading = _loading(module, maker)
        if maker in training and (loading is None or not _keeps_order(loading, fits)):
            return None
        if loading is not None:
            loadings[maker] = replace(loading, is_kept=keeps and maker in training)
    given = [(maker, node) for maker, node in given if maker in loadings]
    return _with_datasets(module, loadings, given, line or 0) if training else None


def _with_datasets(
    module: Module,
    loadings: dict[ast.stmt, Loading],
    given: list[tuple[ast.stmt, ast.Name]],
    line: int,
) -> Change | None:
    named = tensorflow_code(module, line, "data")
    if named is None or "nearest" in {function.name for function in module.all(ast.FunctionDef)}:
        return None
    tf, edits = named[0].removesuffix(".data"), list(named[1])
    names: dict[ast.stmt, str] = {}
    helped: set[ast.AST] = set()  # where the helper for resizing is defined already
    for maker, loading in loadings.items():
        scope = name_scope_of(module, maker)
        has_helper = bool(helped & {scope, module.tree})
        names[maker], added = _added(module, maker, loading, tf, has_helper=has_helper)
        edits.append(added)
        helped |= {scope} if loading.needs_helper else set()
    edits += [module.replace(node, names[maker]) for maker, node in given]
    return _change(edits, list(loadings.values()))


def _keeps_order(loading: Loading, fits: list[ast.Call]) -> bool:
    """Tell whether a dataset gives the batches in the order that `fit` asks an iterator for.

    Of an iterator that does not shuffle, `fit` takes the batches in a random order.
    """
    settings = [k.value for fit in fits for k in fit.keywords if k.arg == "shuffle"]
    is_off = bool(settings) and all(isinstance(s, ast.Constant) and not s.value for s in settings)
    return loading.is_shuffled or is_off


def _change(edits: list[Edit], loadings: list[Loading]) -> Change:
    is_random = any(loading.is_random for loading in loadings)
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
        ("The random order and flips are others than before." if is_random else "")
        + files
        + next((one.augmentation.difference for one in loadings if one.augmentation), ""),
    )


def _fits(module: Module, line: int | None) -> list[ast.Call]:
    """Return the calls of `fit` in a file; of several, those at a line if there are any."""
    calls = [
        call
        for call in module.all(ast.Call)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "fit"
    ]
    here = [c for c in calls if line is not None and c.lineno <= line <= (c.end_lineno or 0)]
    return here or calls


def _iterators(module: Module, fit: ast.Call) -> list[tuple[ast.stmt, ast.Name]]:
    """Return the statements that make what `fit` is given, and where it is given."""
    validated = [k.value for k in fit.keywords if k.arg == "validation_data"]
    data = [node for node in (_trained_on(fit), *validated) if isinstance(node, ast.Name)]
    return [(maker, node) for node in data if (maker := _maker(module, node)) is not None]


def _trained_on(fit: ast.Call) -> ast.expr | None:
    return next(iter((*fit.args[:1], *(k.value for k in fit.keywords if k.arg == "x"))), None)


def _maker(module: Module, node: ast.expr | None) -> ast.stmt | None:
    """Return the statement that makes the iterator a name stands for."""
    if not isinstance(node, ast.Name):
        return None
    statement = binding_in_block(module, node) or only_binding(module, node)
    return statement if statement is not None and _flow(statement) is not None else None


def _flow(statement: ast.stmt) -> ast.Call | None:
    """Return the call of `flow...` that a statement gives a name."""
    value = value_of_statement(statement)
    is_flow = (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr in _FLOWS
    )
    return value if is_flow and isinstance(value, ast.Call) else None


def _loading(module: Module, maker: ast.stmt) -> Loading | None:
    """Return how an iterator makes its batches; None where a pipeline would do it otherwise."""
    flow = _flow(maker)
    if flow is None or not isinstance(flow.func, ast.Attribute) or not module.is_alone(maker):
        return None
    generator = flow.func.value
    if isinstance(generator, ast.Name):
        changed = [
            node
            for node in module.all(ast.Attribute)
            if not isinstance(node.ctx, ast.Load) and _is_name(node.value, generator.id)
        ]
        statement = binding_in_block(module, generator) or only_binding(module, generator)
        made = value_of_statement(statement) if statement is not None and not changed else None
    else:
        made = generator
    if not isinstance(made, ast.Call) or not _is_generator(module, made):
        return None
    return loading_of(module, made, flow)


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_generator(module: Module, call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    own = any(node.name == name for node in module.all(ast.ClassDef))
    return name == "ImageDataGenerator" and not own


def _added(
    module: Module, maker: ast.stmt, loading: Loading, tf: str, *, has_helper: bool
) -> tuple[str, Edit]:
    """Return the name of the dataset, and the edit that builds it behind the iterator."""
    iterator = target_of(maker) or ""
    stem = re.sub(_ENDINGS, "", iterator) or "image"
    used = {node.id for node in module.all(ast.Name)} | {
        f.name for f in module.all(ast.FunctionDef)
    }
    dataset = _free(f"{stem}_dataset", used)
    verb = "prepare" if loading.is_array else "load"
    function = _free(f"{verb}_{stem}" if stem == "image" else f"{verb}_{stem}_image", used)
    code = code_of(
        loading, tf=tf, iterator=iterator, dataset=dataset, function=function, has_helper=has_helper
    )
    code = fitted(quoted(code, module), width=100 - len(module.indent(maker)))
    is_top = module.parent(maker) is module.tree
    gap = "\n\n\n" if is_top else "\n\n"
    code = code if is_top else code.replace("\n\n\n", "\n\n")
    indent = module.indent(maker)
    lines = [indent + row if row else row for row in code.split("\n")]
    line = module.end(maker)[0]
    place = (line, len(module.lines[line - 1]))
    return dataset, Edit(module.path, place, place, gap + "\n".join(lines))


def _free(name: str, used: set[str]) -> str:
    while name in used:
        name += "_"
    return name


# Arguments that change nothing while no random transformation is asked for.
_WITHOUT_EFFECT = frozenset(
    {
        "fill_mode",
        "cval",
        "interpolation_order",
        "zca_epsilon",
        "validation_split",
        "data_format",
    }
)
_READ = ("rescale", "horizontal_flip", "vertical_flip", "preprocessing_function")
# The iterator tells what they make of its files.
_FILES = (
    "target_size",
    "batch_size",
    "classes",
    "follow_links",
    "subset",
    "x_col",
    "y_col",
    "directory",
    "dataframe",
    "validate_filenames",
)
_ARRAYS = ("x", "y", "batch_size", "subset", "ignore_class_split")
_CLASS_MODES = ("categorical", "binary", "sparse", "input", "raw", None)
_RESIZES = ("nearest", "bilinear")
# The arguments by their places, as far as anybody gives them so.
_PLACES = {
    "flow": ("x", "y", "batch_size", "shuffle"),
    "flow_from_directory": ("directory", "target_size", "color_mode", "classes", "class_mode"),
    "flow_from_dataframe": ("dataframe", "directory", "x_col", "y_col"),
}


def loading_of(module: Module, generator: ast.Call, flow: ast.Call) -> Loading | None:
    """Return how batches are made; None where an argument asks for more than is known here."""
    made, given = _arguments(generator, ()), _arguments(flow, _places(flow))
    if made is None or given is None:
        return None
    flips = [name for name in ("horizontal_flip", "vertical_flip") if _is_true(made.get(name))]
    augmentation = None
    if not _is_plain(made):
        rest = {name: value for name, value in made.items() if name not in ARGUMENTS}
        augmentation = augmentation_of(module, made, tuple(flips))
        if augmentation is None or not _is_plain(rest):
            return None
    is_array = _places(flow) == _PLACES["flow"]
    known = (*(_ARRAYS if is_array else _FILES), "shuffle", "seed")
    known += () if is_array else ("class_mode", "color_mode", "interpolation")
    if any(name not in known and not _is_nothing(value) for name, value in given.items()):
        return None
    settings = _settings(module, given)
    if settings is None or isinstance(given.get("x"), ast.Tuple | ast.List):
        return None  # further inputs beside the images
    if augmentation is not None and augmentation.brightness and is_array:
        return None  # pixels may have any range
    if any(not _is_nothing(made.get(n)) and not _is_true(made.get(n)) for n in _READ[1:3]):
        return None  # told by a variable
    rescale, seed = made.get("rescale"), given.get("seed")
    prepare = made.get("preprocessing_function")
    return Loading(
        is_array=is_array,
        has_labels=not is_array or not _is_nothing(given.get("y")),
        class_mode=settings["class_mode"],
        is_grey=settings["color_mode"] == "grayscale",
        resize=str(settings["interpolation"]),
        is_shuffled=bool(settings["shuffle"]),
        seed=module.code(seed) if seed is not None and not _is_nothing(seed) else "",
        rescale=module.code(rescale) if rescale is not None and not _is_nothing(rescale) else "",
        prepare=module.code(prepare) if prepare is not None and not _is_nothing(prepare) else "",
        flips=tuple(flips),
        augmentation=augmentation,
    )


def _places(flow: ast.Call) -> tuple[str, ...]:
    return _PLACES[flow.func.attr] if isinstance(flow.func, ast.Attribute) else ()


def _arguments(call: ast.Call, places: tuple[str, ...]) -> dict[str, ast.expr] | None:
    """Return the arguments of a call by name; None where they are not all written out."""
    if len(call.args) > len(places) or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    if any(keyword.arg is None for keyword in call.keywords):
        return None
    by_place = dict(zip(places, call.args, strict=False))
    return by_place | {str(keyword.arg): keyword.value for keyword in call.keywords}


def _is_plain(made: dict[str, ast.expr]) -> bool:
    """Tell whether a generator does nothing to images but scale and flip them."""
    for name, value in made.items():
        if name in _WITHOUT_EFFECT or name in _READ or _is_nothing(value):
            continue
        return False
    layout = made.get("data_format")
    prepare = made.get("preprocessing_function")
    is_keras = prepare is None or _is_nothing(prepare) or _is_preprocess_input(prepare)
    return is_keras and (layout is None or _is_constant(layout, "channels_last"))


def _is_preprocess_input(value: ast.expr) -> bool:
    """Tell whether a function is one of `keras.applications`, which take tensors as well."""
    name = value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")
    return name == "preprocess_input"


def _settings(module: Module, given: dict[str, ast.expr]) -> dict[str, object] | None:
    """Return the settings that decide which code is written, where all are told."""
    found: dict[str, object] = {
        "class_mode": "categorical",
        "color_mode": "rgb",
        "interpolation": "nearest",
        "shuffle": True,
    }
    for name in found:
        if name in given:
            value = _constant(module, given[name])
            if value is None:
                return None
            found[name] = value.value
    is_known = (
        found["class_mode"] in _CLASS_MODES
        and found["color_mode"] in ("rgb", "grayscale")
        and found["interpolation"] in _RESIZES
        and isinstance(found["shuffle"], bool)
    )
    return found if is_known else None


def _constant(module: Module, value: ast.expr) -> ast.Constant | None:
    """Return a value that is written out, here or where its name gets it."""
    if isinstance(value, ast.Name):
        statement = binding_in_block(module, value) or only_binding(module, value)
        inner = value_of_statement(statement) if statement is not None else None
        return inner if isinstance(inner, ast.Constant) else None
    return value if isinstance(value, ast.Constant) else None


def _is_nothing(value: ast.expr | None) -> bool:
    """Tell whether an argument is not given, or `None`, `False` or zero."""
    return value is None or (isinstance(value, ast.Constant) and not value.value)


def _is_true(value: ast.expr | None) -> bool:
    return value is not None and _is_constant(value, True)


def _is_constant(value: ast.expr, wanted: object) -> bool:
    return isinstance(value, ast.Constant) and value.value == wanted


# The largest difference of a pixel, of 255, from what Pillow makes of JPEG and PNG files.
_DIFFERENCE = {"nearest": 0, "bilinear": 1}
_FLIPS = {"horizontal_flip": "left_right", "vertical_flip": "up_down"}

_NEAREST = """\
def nearest(size, new_size):
    # Pillow adds the step up, which decides where two pixels are equally near.
    step = {tf}.cast(size, {tf}.float64) / new_size
    steps = {tf}.concat([[step / 2], {tf}.fill([new_size - 1], step)], axis=0)
    return {tf}.cast({tf}.cumsum(steps), {tf}.int32)
"""


@dataclass(frozen=True)
class Loading:
    """How an iterator makes its batches.

    Args:
        is_array: its images are an array, not files.
        has_labels: it gives labels with the images.
        class_mode: which ones, for files.
        is_grey: images have one channel.
        resize: the filter.
        is_shuffled: each epoch has another order.
        seed: the code of the seed; may be empty.
        rescale: the code of the factor; may be empty.
        prepare: the code of the function for each image; may be empty.
        flips: the random flips, by the names of their arguments.
        augmentation: what else is done at random, flips included; then images stay bytes until
            whole batches are changed.
        is_kept: the loaded images are kept in memory.
    """

    is_array: bool
    has_labels: bool
    class_mode: object
    is_grey: bool
    resize: str
    is_shuffled: bool
    seed: str
    rescale: str
    prepare: str
    flips: tuple[str, ...]
    augmentation: Augmentation | None = None
    is_kept: bool = False

    @property
    def is_random(self) -> bool:
        """Whether two runs give other batches."""
        return self.is_shuffled or bool(self.flips) or self.augmentation is not None

    @property
    def difference(self) -> int:
        """How far a pixel, of 255, may be from Pillow's."""
        return 0 if self.is_array else _DIFFERENCE[self.resize] + int(self.is_grey)

    @property
    def is_given_on(self) -> bool:
        """Whether nothing is done to an image."""
        is_changed = self.flips or self.rescale or self.prepare or self.augmentation
        return self.is_array and not is_changed

    @property
    def needs_helper(self) -> bool:
        """Whether the code calls a function of its own to resize."""
        return self.resize == "nearest" and not self.is_array


def code_of(
    loading: Loading, *, tf: str, iterator: str, dataset: str, function: str, has_helper: bool
) -> str:
    """Return the code that builds the pipeline, with the helper it needs unless that is there."""
    parts = []
    if loading.needs_helper and not has_helper:
        parts.append(_NEAREST.format(tf=tf).rstrip("\n"))
    if not loading.is_given_on and not (loading.is_array and loading.augmentation):
        parts.append(_function(loading, tf=tf, iterator=iterator, function=function))
    if loading.augmentation is not None:
        parts.append(_augmenting(loading, loading.augmentation, tf, function))
    parts.append(_pipeline(loading, tf, iterator, dataset, function))
    return "\n\n\n".join(parts)


def _has_labels(loading: Loading) -> bool:
    return loading.has_labels and (loading.is_array or loading.class_mode not in (None, "input"))


def _function(loading: Loading, *, tf: str, iterator: str, function: str) -> str:
    first = "image" if loading.is_array else "path"
    rows = [f"def {function}({first}{', label' if _has_labels(loading) else ''}):"]
    if not loading.is_array:
        rows += _reading(loading, tf, iterator)
    if loading.augmentation is not None:
        if loading.resize != "nearest":
            rows.append(f"image = {tf}.cast(image, {tf}.uint8)")
        return "\n    ".join([*rows, f"return {_result(loading, tf, iterator)}"])
    rows += [f"image = {tf}.image.random_flip_{_FLIPS[flip]}(image)" for flip in loading.flips]
    if not loading.is_array:
        rows.append(f"image = {tf}.cast(image, {tf}.float32)")
    if loading.prepare:
        rows.append(f"image = {loading.prepare}(image)")
    if loading.rescale:
        rows.append(f"image = image * ({loading.rescale})")
    rows.append(f"return {_result(loading, tf, iterator)}")
    return "\n    ".join(rows)


def _reading(loading: Loading, tf: str, iterator: str) -> list[str]:
    size = f"{iterator}.target_size"
    rows = [
        f"data = {tf}.io.read_file(path)",
        f'image = {tf}.io.decode_jpeg(data, channels=3, dct_method="INTEGER_ACCURATE")',
    ]
    if loading.is_grey:
        rows.append(f"image = {tf}.image.rgb_to_grayscale(image)")
    if loading.resize == "nearest":
        rows += [
            f"image = {tf}.gather(image, nearest({tf}.shape(image)[0], {size}[0]), axis=0)",
            f"image = {tf}.gather(image, nearest({tf}.shape(image)[1], {size}[1]), axis=1)",
        ]
    else:
        rows.append(f"image = {tf}.round({tf}.image.resize(image, {size}, antialias=True))")
    return rows


def _result(loading: Loading, tf: str, iterator: str) -> str:
    if loading.is_array:
        return "image, label" if loading.has_labels else "image"
    if loading.class_mode == "categorical":
        return f"image, {tf}.one_hot(label, len({iterator}.class_indices))"
    if loading.class_mode in ("binary", "sparse"):
        return f"image, {tf}.cast(label, {tf}.float32)"
    return {"input": "image, image", "raw": "image, label"}.get(str(loading.class_mode), "image")


def _augmenting(loading: Loading, augmentation: Augmentation, tf: str, function: str) -> str:
    """Return the layers, and the function that changes a batch of images by them."""
    has_labels = _has_labels(loading) or loading.class_mode == "input"
    given, name = f"images{', labels' if has_labels else ''}", _name_of_layers(function)
    rows = [f"def {name}_batch({given}):", f"images = {tf}.cast(images, {tf}.float32)"]
    parts = []
    if augmentation.layers:
        layers = "".join(f"    {tf}.keras.layers.{layer},\n" for layer in augmentation.layers)
        parts.append(f"{name} = {tf}.keras.Sequential([\n{layers}])")
        rows.append(f"images = {name}(images, training=True)")
    if augmentation.brightness:
        low, high = augmentation.brightness
        shape = f"[{tf}.shape(images)[0], 1, 1, 1]"
        rows.append(f"factors = {tf}.random.uniform({shape}, {low}, {high})")
        rows.append(f"images = {tf}.clip_by_value(images * factors, 0.0, 255.0)")
    if loading.prepare:
        rows.append(f"images = {loading.prepare}(images)")
    if loading.rescale:
        rows.append(f"images = images * ({loading.rescale})")
    result = "images, images" if loading.class_mode == "input" else given
    return "\n\n\n".join([*parts, "\n    ".join([*rows, f"return {result}"])])


def _name_of_layers(function: str) -> str:
    """Return the name of the layers, such as `augment_train` beside `load_train_image`."""
    stem = function.split("_", 1)[1].removesuffix("_image").rstrip("_")
    return f"augment_{stem}"


def _pipeline(loading: Loading, tf: str, iterator: str, dataset: str, function: str) -> str:
    images, labels = ("x", "y") if loading.is_array else ("filepaths", "labels")
    data = f"{iterator}.{images}"
    if _has_labels(loading):
        data = f"({data}, {iterator}.{labels})"
    rows = [f"{dataset} = {tf}.data.Dataset.from_tensor_slices({data})"]
    seed = f", seed={loading.seed}" if loading.seed else ""
    shuffle = f"{dataset} = {dataset}.shuffle({iterator}.n{seed})"
    threads = f"num_parallel_calls={tf}.data.AUTOTUNE"
    load = f"{dataset} = {dataset}.map({function}, {threads})"
    is_loaded = not loading.is_given_on and not (loading.is_array and loading.augmentation)
    is_steady = loading.augmentation is not None or not loading.flips
    is_kept = loading.is_kept and is_loaded and is_steady and not loading.is_array
    if is_kept:
        rows.append(f"{load}.cache()")
    rows += [shuffle] if loading.is_shuffled else []
    rows += [load] if is_loaded and not is_kept else []
    batch = f"batch({iterator}.batch_size)"
    if loading.augmentation is None:
        rows.append(f"{dataset} = {dataset}.{batch}.prefetch({tf}.data.AUTOTUNE)")
    else:
        rows.append(f"{dataset} = {dataset}.{batch}")
        augment = f"{_name_of_layers(function)}_batch"
        rows.append(f"{dataset} = {dataset}.map({augment}, {threads})")
        rows.append(f"{dataset} = {dataset}.prefetch({tf}.data.AUTOTUNE)")
    return "\n".join(rows)
