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
from quickfit.findings import Change, Effect, FixClass, Spotted, Symptom
from quickfit.patterns.byte_images import dtype_of, is_bytes
from quickfit.patterns.rescaling import is_rescaled
from quickfit.patterns.tensors import Element, origins, tensor_of
from quickfit.program import Module, Program, argument, keyword
from quickfit.program.values import External, Literal, Made, Value

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
    if not is_plain or keyword(source.call, "interpolation") is not None:
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


CAUSE = Cause(title="A picture is converted after it was resized", symptom=Symptom.WRONG, scan=scan)
