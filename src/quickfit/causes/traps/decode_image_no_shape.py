"""`decode_image` gives a picture of unknown rank to a function that has to know it.

What goes wrong: a GIF decodes to four dimensions, every other format to three, so in a graph the
result of `tf.io.decode_image` has no shape at all. `tf.image.resize` and `tf.image.central_crop`
end the script there: `'images' contains no shape`. Outside of a graph, where the picture itself
is at hand, the same lines work, so that they are often tried out first and found to be fine.

How it shows: in a function that a dataset is mapped with, or that is a `tf.function`, the result
of `decode_image` reaches `resize`, and nothing between them says which shape it has.

Example:
    image = tf.io.decode_image(tf.io.read_file(path), channels=3)
    image = tf.image.resize(image, (224, 224))

Use instead:
    image = tf.io.decode_image(tf.io.read_file(path), channels=3, expand_animations=False)
    image = tf.image.resize(image, (224, 224))

Fix class: repairs. Of an animated GIF only the first picture is taken.

When it is wrong: never, where the function runs as a graph. A function that is only called from
plain Python, or by `tf.py_function`, is not reported.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.causes._cause import Cause
from quickfit.causes._shared.dataset_elements import is_traced, origins, tensor_of
from quickfit.code import Module, Program
from quickfit.code.edits import with_keyword
from quickfit.code.syntax import argument, is_open
from quickfit.code.values import Made
from quickfit.code.versions import is_version_guarded
from quickfit.findings import Change, Edit, Effect, FixClass, Spotted, Symptom

DECODE = "tensorflow.io.decode_image"
# End with an error where the rank is not known; crops and pads to a size take three for granted.
NEEDING = {
    "tensorflow.image.resize": "'images' contains no shape",
    "tensorflow.image.central_crop": "image should have rank 3 or 4",
}
# Give a tensor of the same rank, known or not.
PASSING = frozenset(
    (
        *("tensorflow.cast", "tensorflow.identity", "tensorflow.image.convert_image_dtype"),
        *("tensorflow.image.adjust_brightness", "tensorflow.image.random_brightness"),
        *("tensorflow.clip_by_value", "tensorflow.saturate_cast", "tensorflow.math.divide"),
        "arithmetic",
    )
)


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report what is given a picture of `decode_image` in a graph before its rank is known."""
    seen: set[ast.Call] = set()
    for call in module.calls("resize", "central_crop"):
        message = NEEDING.get(program.called(module, call))
        decoded = _decoded(program, module, call) if message else None
        if message is None or decoded is None or decoded.call in seen:
            continue
        if is_version_guarded(module, call) or not is_traced(program, module, call):
            continue
        seen.add(decoded.call)
        yield _spotted(program, call, module, (decoded, message))


def _decoded(program: Program, module: Module, call: ast.Call) -> Made | None:
    """Return the `decode_image` whose result a call surely gets without a shape."""
    image = tensor_of(call)
    if image is None:
        return None
    found = origins(program, module, image, PASSING)
    decoded = [v for v in found if isinstance(v, Made) and v.maker == DECODE]
    if not decoded or len(decoded) < len(found):
        return None
    if not all(_is_shapeless(program, made) for made in decoded):
        return None
    if any(_is_given_shape(program, module, call, made) for made in decoded):
        return None
    return decoded[0]


def _is_shapeless(program: Program, made: Made) -> bool:
    given = argument(made.call, "expand_animations", 4)
    if is_open(made.call):
        return False
    return given is None or program.literal(made.module, given, made.frame) is True


def _is_given_shape(program: Program, module: Module, call: ast.Call, decoded: Made) -> bool:
    """Tell whether `set_shape` may be called on a picture between its decoding and a call."""
    functions = (module.function(call), decoded.module.function(decoded.call))
    for place in {module, decoded.module}:
        for setting in place.calls("set_shape"):
            if place.function(setting) in functions:
                return True
            receiver = setting.func.value if isinstance(setting.func, ast.Attribute) else None
            if receiver is not None and decoded in origins(program, place, receiver, PASSING):
                return True
    return False


def _spotted(program: Program, call: ast.Call, module: Module, found: tuple[Made, str]) -> Spotted:
    decoded, message = found
    return Spotted(
        where=module.span(call),
        summary=f"`{ast.unparse(call.func)}` ends the script ({message}), because `decode_image`"
        " leaves open how many dimensions the picture has: a GIF has four",
        effect=Effect.CRASHES,
        related=((decoded.module.span(decoded.call), "the picture is decoded here"),),
        change=_change(program, decoded),
    )


def _change(program: Program, decoded: Made) -> Change | None:
    module, call = decoded.module, decoded.call
    if not _is_named(program, decoded):
        return None
    if len(call.args) > 4:
        edit: Edit | None = module.replace(call.args[4], "False")
    else:
        edit = with_keyword(module, call, "expand_animations", "False")
    if edit is None:
        return None
    return Change(
        title="Decode to three dimensions",
        kind=FixClass.REPAIRS,
        edits=(edit,),
        note="Of an animated GIF only the first picture is taken.",
    )


def _is_named(program: Program, decoded: Made) -> bool:
    """Tell whether the call itself says what it calls; a parameter may be another decoder."""
    root: ast.expr = decoded.call.func
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        return False
    bindings = program.files.bindings(decoded.module).reaching(root, root.id)
    return all(binding.kind in ("import", "from") for binding in bindings)


CAUSE = Cause(title="A picture without a shape is resized", symptom=Symptom.CRASH, scan=scan)
