"""`convert_image_dtype` gets a picture that `resize` has made float already, and scales nothing.

What goes wrong: `tf.image.convert_image_dtype` scales whole numbers from 0 to 255 down to 0 to 1,
and takes floats for scaled already. `tf.image.resize` gives floats from 0 to 255 whatever it gets,
so behind it the conversion does nothing, and the model trains on values 255 times too large. There
is no error.

How it shows: a picture that is surely whole numbers (just decoded, say) is resized, and what comes
out is given to `convert_image_dtype` with a float type. `image_dataset_from_directory` resizes as
well.

Example:
    image = tf.io.decode_jpeg(data, channels=3)
    image = tf.image.resize(image, (224, 224))
    image = tf.image.convert_image_dtype(image, tf.float32)

Use instead:
    image = tf.io.decode_jpeg(data, channels=3)
    image = tf.image.resize(image, (224, 224))
    image = image / 255.0

Fix class: repairs. Converting first and resizing then gives the same values, up to rounding.

When it is wrong: where the values are scaled later on, by a `Rescaling` layer or a model that
does it itself, the conversion is idle but harmless. Where the text shows such a thing, nothing is
reported. `resize` with the method `nearest` keeps whole numbers, and is fine.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.causes._cause import Cause
from quickfit.causes._shared.dataset_elements import Element, origins, tensor_of
from quickfit.causes._shared.label_names import is_label, names_in
from quickfit.code import Module, Program
from quickfit.code.imports import files_run_together
from quickfit.code.syntax import argument, keyword_value, name_of
from quickfit.code.values import (
    Computed,
    External,
    Frame,
    Group,
    Item,
    Literal,
    Made,
    Member,
    Parameter,
    Routine,
    Unknown,
    Value,
    Values,
)
from quickfit.errors import SourceError
from quickfit.findings import Change, Effect, FixClass, Spotted, Symptom

CONVERT = "tensorflow.image.convert_image_dtype"
RESIZE = ("tensorflow.image.resize", "tensorflow.image.resize_with_pad")
FLOATS = ("float32", "float16", "float64", "bfloat16", "half")
# Leave the values of a picture as they are.
KEEPING = frozenset(
    (
        *("tensorflow.identity", "tensorflow.ensure_shape", "tensorflow.reshape"),
        *("tensorflow.squeeze", "tensorflow.expand_dims", "tensorflow.image.central_crop"),
        *("tensorflow.image.flip_left_right", "tensorflow.image.flip_up_down"),
        *("tensorflow.image.random_flip_left_right", "tensorflow.image.random_flip_up_down"),
        *("tensorflow.image.random_crop", "tensorflow.image.crop_to_bounding_box"),
        *("tensorflow.image.resize_with_crop_or_pad", "tensorflow.image.rot90"),
        *("tensorflow.image.pad_to_bounding_box", "tensorflow.image.transpose", "items"),
    )
)
FOLDER = "keras.utils.image_dataset_from_directory"


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report every conversion of whole numbers that are floats already."""
    for call in module.calls("convert_image_dtype"):
        if program.called(module, call) != CONVERT or not _is_to_float(program, module, call):
            continue
        image = tensor_of(call)
        resized = _resized(program, module, image) if image is not None else None
        if image is None or resized is None or is_rescaled(program, module, call):
            continue
        yield Spotted(
            where=module.span(call),
            summary=f"`{_short(module, image)}` is float already, from 0 to 255, because"
            f" `{_name(resized)}` made it so: the conversion scales nothing",
            effect=Effect.WRONG,
            related=((resized.module.span(resized.call), "here it becomes float"),),
            change=_change(program, module, call, image),
        )


def _is_to_float(program: Program, module: Module, call: ast.Call) -> bool:
    return dtype_of(program, module, argument(call, "dtype", 1)) in FLOATS


def _resized(program: Program, module: Module, image: ast.expr) -> Made | None:
    """Return the call that surely made floats from 0 to 255 of whole numbers."""
    made = [_maker(program, value) for value in origins(program, module, image, KEEPING)]
    return made[0] if made and all(m is not None for m in made) else None


def _maker(program: Program, value: Value) -> Made | None:
    if isinstance(value, Element):
        return _folder(value)
    image = tensor_of(value.call) if isinstance(value, Made) else None
    if not isinstance(value, Made) or image is None:
        return None
    if value.maker == "tensorflow.cast":
        is_float = dtype_of(program, value.module, argument(value.call, "dtype", 1)) in FLOATS
        return _resized(program, value.module, image) if is_float else None
    if value.maker not in RESIZE or not _gives_floats(program, value):
        return None
    before = origins(program, value.module, image, KEEPING)
    return value if before and all(is_bytes(program, v) for v in before) else None


def _folder(value: Element) -> Made | None:
    """Return what reads pictures from a folder, where it gives a mapped function its first."""
    source, *rest = value.chain.stages or (None,)
    if source is None or source.name != FOLDER or value.index != 0:
        return None
    is_plain = all(stage.name in ("batch", "unbatch") for stage in rest if stage is not None)
    if not is_plain or keyword_value(source.call, "interpolation") is not None:
        return None
    return Made(source.call, source.module, maker=FOLDER)


def _gives_floats(program: Program, made: Made) -> bool:
    """Tell whether a resize gives floats: by all methods but `nearest`."""
    position = 2 if made.maker == RESIZE[0] else 3
    method = argument(made.call, "method", position)
    if method is None:
        return not any(k.arg is None for k in made.call.keywords)
    only = program.only(made.module, method, made.frame)
    name = only.name if isinstance(only, External) else ""
    if isinstance(only, Literal) and isinstance(only.value, str):
        name = only.value
    return bool(name) and "nearest" not in name.lower()


def _change(program: Program, module: Module, call: ast.Call, image: ast.expr) -> Change | None:
    if dtype_of(program, module, argument(call, "dtype", 1)) != "float32":
        return None  # the type would be another one
    code = module.code(image)
    if not isinstance(image, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
        code = f"({code})"
    return Change(
        title="Scale by hand",
        kind=FixClass.REPAIRS,
        edits=(module.replace(call, _quotient(module, call, code)),),
        note="The model has been trained on values 255 times as large.",
    )


def _quotient(module: Module, call: ast.Call, code: str) -> str:
    """Return the division, in brackets where what is around would take it apart."""
    parent = module.parent(call)
    is_part = isinstance(parent, ast.BinOp | ast.UnaryOp | ast.Attribute | ast.Subscript)
    return f"({code} / 255.0)" if is_part else f"{code} / 255.0"


def _short(module: Module, image: ast.expr) -> str:
    return module.code(image) if isinstance(image, ast.Name) else "the picture"


def _name(made: Made) -> str:
    return made.maker.rsplit(".", 1)[-1]


_DECODERS = ("image", "jpeg", "png", "bmp", "gif", "and_crop_jpeg")
DECODERS = tuple(f"tensorflow.io.decode_{name}" for name in _DECODERS)
_CASTS = ("tensorflow.cast", "tensorflow.saturate_cast")
# Collections of pictures as bytes, with their labels behind them.
_COLLECTIONS = tuple(
    f"keras.datasets.{name}.load_data" for name in ("mnist", "fashion_mnist", "cifar10", "cifar100")
)
SLICES = "tensorflow.data.Dataset.from_tensor_slices"
# Stages that leave the values of an element alone, beside those that leave all of it alone.
_STACKING = ("batch", "unbatch")


def dtype_of(
    program: Program, module: Module, node: ast.expr | None, frame: Frame | None = None
) -> str:
    """Return the last name of a type: `float32`; empty where it is not known."""
    only = program.only(module, node, frame)
    name = only.name if isinstance(only, External) else ""
    if isinstance(only, Literal) and isinstance(only.value, str):
        name = only.value
    return name.rsplit(".", 1)[-1]


def is_bytes(program: Program, value: Value) -> bool:
    """Tell whether something is surely a picture of bytes, or an array of such pictures."""
    if isinstance(value, Element):
        return _is_sliced(program, value)
    if isinstance(value, Item):
        return _is_collected(value) or (value.index is None and is_bytes(program, value.of))
    return isinstance(value, Made) and _is_made(program, value)


def _is_made(program: Program, made: Made) -> bool:
    if made.maker in DECODERS:
        given = argument(made.call, "dtype", 2) if "decode_and" not in made.maker else None
        plain = made.maker.endswith(("image", "png"))
        return not plain or given is None or _is_uint8(program, made, given)
    if made.maker in _CASTS:
        return _is_uint8(program, made, argument(made.call, "dtype", 1))
    if made.maker == "tensorflow.io.decode_raw":
        return _is_uint8(program, made, argument(made.call, "out_type", 1))
    if made.method == "astype":
        return _is_uint8(program, made, argument(made.call, "dtype", 0)) and not _is_truth(made)
    is_array = made.maker.startswith("numpy.") or made.method == "integers"
    return is_array and _is_uint8(program, made, keyword_value(made.call, "dtype"))


def _is_uint8(program: Program, made: Made, given: ast.expr | None) -> bool:
    return dtype_of(program, made.module, given, made.frame) == "uint8"


def _is_truth(made: Made) -> bool:
    """Tell whether it is an answer, yes or no, that is made a number: 0 or 1."""
    of = made.call.func.value if isinstance(made.call.func, ast.Attribute) else None
    return isinstance(of, ast.Compare | ast.BoolOp)


def _is_collected(value: Item) -> bool:
    """Tell whether something is the pictures of a known collection: the first of either pair."""
    pair = value.of
    whole = pair.of if isinstance(pair, Item) else None
    return value.index == 0 and isinstance(whole, Made) and whole.maker in _COLLECTIONS


def _is_sliced(program: Program, element: Element) -> bool:
    """Tell whether a dataset gives its elements from an array of bytes."""
    source, *rest = element.chain.stages or (None,)
    if source is None or source.name != SLICES or not source.call.args:
        return False
    if any(stage is not None and stage.name not in _STACKING for stage in rest):
        return False
    given = source.call.args[0]
    found: list[Value] = []
    for value in program.values(source.module, given, source.frame):
        found += _part(program, value, element.index, source.frame)
    is_pair = isinstance(given, ast.Tuple) and element.index < len(given.elts)
    part = given.elts[element.index] if is_pair and isinstance(given, ast.Tuple) else given
    # Masks and classes are small numbers, which nobody has to scale.
    return (
        bool(found) and all(is_bytes(program, v) for v in found) and not is_label(names_in([part]))
    )


def _has(node: ast.expr, index: int) -> bool:
    return isinstance(node, ast.Tuple) and index < len(node.elts)


def _part(program: Program, value: Value, index: int, frame: Frame | None) -> Values:
    if isinstance(value, Group) and _has(value.node, index):
        return program.resolver.item(value, index, frame)
    if isinstance(value, Item) and isinstance(value.of, Made) and value.of.maker in _COLLECTIONS:
        return (Item(value, index),)
    return (value,) if index == 0 and not isinstance(value, Group) else ()


# Bring any values to a scale of their own.
_SCALING = frozenset(
    (
        *("Rescaling", "Normalization", "per_image_standardization", "preprocess_input"),
        *("normalize", "standardize"),
    )
)
# Arithmetic that is written as a call.
_DIVIDING, _MULTIPLYING = ("divide", "truediv", "div"), ("multiply", "scalar_mul")
# Models of Keras that take pictures from 0 to 255 and scale them themselves.
_SCALING_MODELS = ("EfficientNet", "MobileNetV3", "ConvNeXt", "RegNet", "ResNetRS")
_DIVISORS = (255, 256, 127.5, 128)
_TOLERANCE = 1e-4
Quotient = tuple[ast.expr, ast.expr, bool]


def is_rescaled(program: Program, module: Module, call: ast.Call) -> bool:
    """Tell whether what a call gives may be scaled later, also in a file that runs with its own."""
    if _scales(program, module, call):
        return True
    others = files_run_together(program, module.path) - {module.path}
    return any(_scales(program, place, call) for place in _read(program, others))


def _read(program: Program, paths: set[str]) -> Iterator[Module]:
    for path in sorted(paths):
        try:
            yield program.module(path)
        except SourceError:
            continue  # reported elsewhere


def _scales(program: Program, module: Module, call: ast.Call) -> bool:
    names = {n.attr for n in module.all(ast.Attribute)} | {n.id for n in module.all(ast.Name)}
    if "preprocess_input" in names or any(n.startswith(_SCALING_MODELS) for n in names):
        return True
    # What the program has written itself is seen by its arithmetic.
    scaling = [c for c in module.calls(*_SCALING) if not _is_own(program, module, c)]
    return bool(scaling) or any(
        _may_scale(program, module, sides, call) for sides in _arithmetic(module)
    )


def _is_own(program: Program, module: Module, call: ast.Call) -> bool:
    values = program.values(module, call.func)
    return bool(values) and all(isinstance(value, Routine) for value in values)


def _arithmetic(module: Module) -> Iterator[Quotient]:
    """Yield what is divided by what, and multiplied with what."""
    for node in module.all(ast.BinOp):
        if isinstance(node.op, ast.Div | ast.Mult):
            yield node.left, node.right, isinstance(node.op, ast.Div)
    for change in module.all(ast.AugAssign):
        if isinstance(change.op, ast.Div | ast.Mult):
            yield change.target, change.value, isinstance(change.op, ast.Div)
    for call in module.calls(*_DIVIDING, *_MULTIPLYING):
        if len(call.args) > 1:
            yield call.args[0], call.args[1], name_of(call.func) in _DIVIDING


def _may_scale(program: Program, module: Module, sides: Quotient, call: ast.Call) -> bool:
    """Tell whether arithmetic may bring the result of a call from 0–255 to a smaller range."""
    picture, number, is_division = sides
    ways = [(picture, number)] if is_division else [(picture, number), (number, picture)]
    return any(
        _is_factor(program.literal(module, factor), is_division=is_division)
        and _may_be(program, module, scaled, call)
        for scaled, factor in ways
    )


def _is_factor(number: object, *, is_division: bool) -> bool:
    if not isinstance(number, int | float) or not number:
        return False
    value = float(number) if is_division else 1 / number
    return any(abs(value - divisor) < _TOLERANCE * divisor for divisor in _DIVISORS)


def _may_be(program: Program, module: Module, picture: ast.expr, call: ast.Call) -> bool:
    """Tell whether an expression may be what a call gives, or anything."""
    if isinstance(picture, ast.Constant):
        return False
    if isinstance(picture, ast.BinOp):
        return _may_be(program, module, picture.left, call)
    found = origins(program, module, picture, ("tensorflow.cast", "arithmetic"))
    return any(_is_open(value, call) for value in found)


def _is_open(value: Value, call: ast.Call) -> bool:
    if isinstance(value, Made):
        return value.call is call or not value.maker or "convert_image_dtype" in value.maker
    if isinstance(value, Literal | External):
        return False
    return isinstance(value, Unknown | Parameter | Item | Member | Computed)


CAUSE = Cause(title="A picture is converted after it was resized", symptom=Symptom.WRONG, scan=scan)
