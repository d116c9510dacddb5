"""TensorFlow code that resizes as Pillow, Keras and OpenCV do, with the difference measured."""

from __future__ import annotations

import ast

from quickfit.fixes.image_values import NotRecognisedError, code

# Pillow's filters and the methods of `tf.image.resize` that are the same formula.
PILLOW_FILTERS = {
    "NEAREST": "nearest",
    "BILINEAR": "bilinear",
    "BICUBIC": "bicubic",
    "LANCZOS": "lanczos3",
    "0": "nearest",
    "1": "lanczos3",
    "2": "bilinear",
    "3": "bicubic",
}
KERAS_FILTERS = {
    "nearest": "nearest",
    "bilinear": "bilinear",
    "bicubic": "bicubic",
    "lanczos": "lanczos3",
}
# The largest difference of a pixel, of 255, over photos, noise and drawings of many sizes.
DIFFERENCES = {"nearest": 0, "bilinear": 1, "bicubic": 2, "lanczos3": 2}
# Since this version Pillow begins with the height of pictures whose height shrinks most.
TALL_FIRST = 13

NEAREST = """\
def nearest(size, new_size):
    # Pillow adds the step up, which decides where two pixels are equally near.
    step = {tf}.cast(size, {tf}.float64) / new_size
    steps = {tf}.concat([[step / 2], {tf}.fill([new_size - 1], step)], axis=0)
    return {tf}.cast({tf}.cumsum(steps), {tf}.int32)"""

_TWO_STEPS = """\
# Pillow resizes one side after the other, and rounds in between.
{first}
image = {tf}.image.resize(image, first, "{method}", antialias=True)
image = {tf}.round({tf}.clip_by_value(image, 0.0, 255.0))
image = {tf}.image.resize(image, {size}, "{method}", antialias=True)
image = {tf}.round({tf}.clip_by_value(image, 0.0, 255.0))"""

_ORDERED = """\
rows, columns = {tf}.shape(image)[0], {tf}.shape(image)[1]
is_tall = rows - {height} > {tf}.maximum(0, 2 * (columns - {width}))
first = {tf}.where(is_tall, [{height}, columns], [rows, {width}])"""


class Size:
    """A size as code, from a tuple that is written out or a name for one."""

    def __init__(self, node: ast.expr, *, width_first: bool) -> None:
        self.node = node
        if isinstance(node, ast.Tuple | ast.List):
            if len(node.elts) != 2 or any(isinstance(e, ast.Starred) for e in node.elts):
                raise NotRecognisedError
            one, other = (code(element) for element in node.elts)
            self.height, self.width = (other, one) if width_first else (one, other)
            self.pair = f"({self.height}, {self.width})"
            return
        if not isinstance(node, ast.Name | ast.Attribute):
            raise NotRecognisedError
        name = code(node)
        self.height, self.width = f"{name}[{int(width_first)}]", f"{name}[{int(not width_first)}]"
        self.pair = f"{name}[::-1]" if width_first else name


def pillow_resize(size: Size, method: str, *, tf: str, pillow: int) -> str:
    """Return the code that resizes `image` as Pillow does; `pillow` is its major version."""
    if method == "nearest":
        return (
            f"image = {tf}.gather(image, nearest({tf}.shape(image)[0], {size.height}), axis=0)\n"
            f"image = {tf}.gather(image, nearest({tf}.shape(image)[1], {size.width}), axis=1)"
        )
    if method == "bilinear":
        return f"image = {tf}.round({tf}.image.resize(image, {size.pair}, antialias=True))"
    first = f"first = ({tf}.shape(image)[0], {size.width})"
    if pillow >= TALL_FIRST:
        first = _ORDERED.format(tf=tf, height=size.height, width=size.width)
    return _TWO_STEPS.format(tf=tf, first=first, method=method, size=size.pair)


def opencv_resize(size: Size, *, tf: str, is_whole: bool) -> str:
    """Return the code that resizes `image` as OpenCV does by default."""
    resized = f"{tf}.image.resize(image, {size.pair})"
    return f"image = {tf}.round({resized})" if is_whole else f"image = {resized}"
