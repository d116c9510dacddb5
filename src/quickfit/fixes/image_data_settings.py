"""Reads the arguments of an `ImageDataGenerator` and of its `flow` methods."""

from __future__ import annotations

import ast

from quickfit.fixes.chain_names import binding, only_binding, value_of
from quickfit.fixes.image_data_code import Loading
from quickfit.fixes.script import Script

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


def loading_of(script: Script, generator: ast.Call, flow: ast.Call) -> Loading | None:
    """Return how batches are made; None where an argument asks for more than is known here."""
    made, given = _arguments(generator, ()), _arguments(flow, _places(flow))
    if made is None or given is None or not _is_plain(made):
        return None
    is_array = _places(flow) == _PLACES["flow"]
    known = (*(_ARRAYS if is_array else _FILES), "shuffle", "seed")
    known += () if is_array else ("class_mode", "color_mode", "interpolation")
    if any(name not in known and not _is_nothing(value) for name, value in given.items()):
        return None
    settings = _settings(script, given)
    if settings is None or isinstance(given.get("x"), ast.Tuple | ast.List):
        return None  # further inputs beside the images
    flips = [name for name in ("horizontal_flip", "vertical_flip") if _is_true(made.get(name))]
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
        seed=script.code(seed) if seed is not None and not _is_nothing(seed) else "",
        rescale=script.code(rescale) if rescale is not None and not _is_nothing(rescale) else "",
        prepare=script.code(prepare) if prepare is not None and not _is_nothing(prepare) else "",
        flips=tuple(flips),
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


def _settings(script: Script, given: dict[str, ast.expr]) -> dict[str, object] | None:
    """Return the settings that decide which code is written, where all are told."""
    found: dict[str, object] = {
        "class_mode": "categorical",
        "color_mode": "rgb",
        "interpolation": "nearest",
        "shuffle": True,
    }
    for name in found:
        if name in given:
            value = _constant(script, given[name])
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


def _constant(script: Script, value: ast.expr) -> ast.Constant | None:
    """Return a value that is written out, here or where its name gets it."""
    if isinstance(value, ast.Name):
        statement = binding(script, value) or only_binding(script, value)
        inner = value_of(statement) if statement is not None else None
        return inner if isinstance(inner, ast.Constant) else None
    return value if isinstance(value, ast.Constant) else None


def _is_nothing(value: ast.expr | None) -> bool:
    """Tell whether an argument is not given, or `None`, `False` or zero."""
    return value is None or (isinstance(value, ast.Constant) and not value.value)


def _is_true(value: ast.expr | None) -> bool:
    return value is not None and _is_constant(value, True)


def _is_constant(value: ast.expr, wanted: object) -> bool:
    return isinstance(value, ast.Constant) and value.value == wanted
