"""Translates what Python code does to one picture into TensorFlow operations."""

from __future__ import annotations

import ast

from quickfit.causes._shared.image_pipeline.values import (
    Item,
    Names,
    NotRecognisedError,
    Picture,
    Plain,
    code,
    number,
)

_FLOATS = {"float32": "float32", "float64": "float64", "float": "float64", "double": "float64"}
# Pillow's own weights and rounding; those of `rgb_to_grayscale` are a little different.
_GRAY = """\
# Gray as Pillow makes it.
image = {tf}.cast(image, {tf}.int32) * [19595, 38470, 7471]
image = ({tf}.reduce_sum(image, axis=-1, keepdims=True) + 32768) // 65536
image = {tf}.cast(image, {tf}.uint8)"""
FLIP, RANDOM_FLIP = ".image.flip_", ".image.random_flip_"
# Names that the new code uses itself.
_OWN = {"path", "label", "weight", "image", "data", "rows", "columns", "is_tall", "first", "load"}
_OWN |= {"ds", "nearest", "load_batch", "paths", "labels", "weights"}


class Pictures:
    """The operations on pictures that have an equal in TensorFlow.

    Args:
        names: the names of the script.
        tf: the name of TensorFlow in it.
        pillow: the major version of Pillow that the script runs with.
    """

    def __init__(self, names: Names, *, tf: str, pillow: int) -> None:
        self.names = names
        self.tf = tf
        self.pillow = pillow

    # -- reading ----------------------------------------------------------------------------

    def opened(self, path: Item, origin: int, *, library: str, channels: int = 3) -> Picture:
        """Return a picture as it is read from its file."""
        if not self.names.reads_only_photos():
            raise NotRecognisedError
        picture = Picture(path, (), library, "?" if library == "pil" else "RGB", "pil")
        text = (
            f"data = {self.tf}.io.read_file(path)\n"
            f"image = {self.tf}.io.decode_jpeg(data, channels={channels},"
            ' dct_method="INTEGER_ACCURATE")'
        )
        picture = picture.then(text, origin)
        if library == "cv2":
            is_gray = channels == 1
            mode = "L" if is_gray else "RGB"
            return picture.to(dtype="uint8", mode=mode, is_flat=is_gray, is_bgr=not is_gray)
        return picture

    def loaded(self, path: Item, call: ast.Call, arguments: dict[str, ast.expr]) -> Picture:
        """Return a picture as `keras.utils.load_img` gives it."""
        known = {"path", "color_mode", "target_size", "interpolation"}
        if set(arguments) - known:
            raise NotRecognisedError
        picture = self.opened(path, call.lineno, library="pil")
        modes = {"'rgb'": "RGB", "'grayscale'": "L"}
        mode = modes.get(code(arguments["color_mode"]), "") if "color_mode" in arguments else "RGB"
        picture = self.converted(picture, mode, call.lineno)
        size = arguments.get("target_size")
        if size is None or code(size) == "None":
            return picture
        given = arguments.get("interpolation")
        if given is not None and not isinstance(given, ast.Constant):
            raise NotRecognisedError
        method = KERAS_FILTERS.get(str(given.value) if given else "nearest", "")
        return self._resized(picture, size, method, call.lineno, width_first=False)

    # -- Pillow -----------------------------------------------------------------------------

    def converted(self, picture: Picture, mode: str, origin: int) -> Picture:
        """Return a picture as `convert(mode)` gives it."""
        if picture.dtype != "pil" or picture.mode not in ("?", mode):
            raise NotRecognisedError
        if picture.has_size and picture.mode == "?" and not self.names.reads_only_jpeg():
            raise NotRecognisedError  # Pillow resizes palettes and transparency in other ways
        if mode == "RGB" or picture.mode == mode:
            return picture.to(mode=mode)
        if mode != "L" or picture.is_float:
            raise NotRecognisedError
        return picture.then(_GRAY.format(tf=self.tf), origin, mode="L", is_flat=True)

    def pillow_resized(self, picture: Picture, call: ast.Call) -> Picture:
        """Return a picture as `resize(size, resample)` gives it."""
        given: dict[str, ast.expr] = dict(zip(("size", "resample"), call.args, strict=False))
        given |= {k.arg: k.value for k in call.keywords if k.arg}
        if len(call.args) > 2 or set(given) - {"size", "resample"} or "size" not in given:
            raise NotRecognisedError
        method = "bicubic"
        if "resample" in given:
            name = code(given["resample"])
            method = PILLOW_FILTERS.get(name.rsplit(".", 1)[-1], "")
        return self._resized(picture, given["size"], method, call.lineno, width_first=True)

    def _resized(
        self, picture: Picture, size: ast.expr, method: str, origin: int, *, width_first: bool
    ) -> Picture:
        # Without a mode, palettes would be resized by their numbers.
        if picture.dtype != "pil" or not method or picture.has_size:
            raise NotRecognisedError
        check_names(size)
        made = Size(size, width_first=width_first)
        text = pillow_resize(made, method, tf=self.tf, pillow=self.pillow)
        is_nearest = method == "nearest"
        return picture.then(
            text,
            origin,
            has_size=True,
            is_float=picture.is_float or not is_nearest,
            helpers=picture.helpers | ({"nearest"} if is_nearest else set()),
            difference=max(picture.difference, DIFFERENCES[method]),
        )

    # -- arrays -----------------------------------------------------------------------------

    def array(self, picture: Picture, dtype: ast.expr | None, origin: int) -> Picture:
        """Return a picture as `np.array(picture, dtype)` gives it."""
        if picture.dtype == "pil":
            picture = picture.to(dtype="uint8")
        return picture if dtype is None else self.cast(picture, self.dtype(dtype), origin)

    def keras_array(self, picture: Picture, dtype: ast.expr | None, origin: int) -> Picture:
        """Return a picture as `img_to_array` gives it: floats, and always with channels."""
        picture = self.array(picture, None, origin).to(is_flat=False)
        return self.cast(picture, "float32" if dtype is None else self.dtype(dtype), origin)

    def dtype(self, node: ast.expr) -> str:
        """Return the name of a type that is float32, float64 or uint8."""
        name = node.value if isinstance(node, ast.Constant) else code(node).rsplit(".", 1)[-1]
        if name == "uint8":
            return "uint8"
        if name not in _FLOATS:
            raise NotRecognisedError
        return _FLOATS[str(name)]

    def cast(self, picture: Picture, dtype: str, origin: int) -> Picture:
        """Return a picture as `astype(dtype)` gives it."""
        if picture.dtype == "pil" or (dtype == "uint8" and picture.dtype != "uint8"):
            raise NotRecognisedError  # numbers would be cut off behind the point
        if dtype == "uint8" or picture.is_float:
            return picture.to(dtype=dtype)
        text = f"image = {self.tf}.cast(image, {self.tf}.float32)"
        return picture.then(text, origin, dtype=dtype, is_float=True)

    def computed(
        self, picture: Picture, operator: ast.operator, operand: ast.expr, origin: int
    ) -> Picture:
        """Return a picture behind `picture / 255.0` and the like."""
        signs = {ast.Div: "/", ast.Mult: "*", ast.Sub: "-", ast.Add: "+"}
        sign = signs.get(type(operator), "")
        if not sign or picture.dtype == "pil":
            raise NotRecognisedError
        check_names(operand)
        value = self._resolved(operand)
        is_whole = isinstance(value, ast.Constant) and isinstance(value.value, int)
        if picture.dtype == "uint8" and is_whole and sign != "/":
            raise NotRecognisedError  # NumPy goes around at 256
        if number(value) is None:
            picture = self._in_order(picture, value, origin)
        if picture.dtype == "uint8":
            picture = self.cast(picture, "float64", origin)
        text = code(operand)
        if number(value) is None:
            text = f"{self.tf}.constant({text}, {self.tf}.float32)"
        elif isinstance(operand, ast.BinOp):
            text = f"({text})"
        return picture.then(f"image = image {sign} {text}", origin)

    def _resolved(self, operand: ast.expr) -> ast.expr:
        if isinstance(operand, ast.Name | ast.Attribute):
            return self.names.assigned(operand) or operand
        return operand

    def _in_order(self, picture: Picture, value: ast.expr, origin: int) -> Picture:
        """Return a picture with its channels in the order that three numbers are for."""
        if isinstance(value, ast.Call) and self.names.qualified(value.func) in (
            "numpy.array",
            "numpy.asarray",
        ):
            value = value.args[0] if value.args else value
        if not isinstance(value, ast.List | ast.Tuple) or any(
            number(e) is None for e in value.elts
        ):
            raise NotRecognisedError
        if len(value.elts) != 3 or picture.mode == "L":
            raise NotRecognisedError
        return self.in_order(picture, origin)

    def in_order(self, picture: Picture, origin: int) -> Picture:
        """Return a picture with OpenCV's order of channels made."""
        if not picture.is_bgr:
            return picture
        return picture.then("image = image[..., ::-1]", origin, is_bgr=False, is_settled=True)

    def turned(self, picture: Picture) -> Picture:
        """Return a picture with its channels the other way round."""
        if picture.dtype == "pil" or picture.mode == "L" or picture.is_settled:
            raise NotRecognisedError
        return picture.to(is_bgr=not picture.is_bgr)

    def flipped(self, picture: Picture, sides: str, origin: int) -> Picture:
        """Return a picture with its sides exchanged: `left_right` or `up_down`."""
        return picture.then(f"image = {self.tf}{FLIP}{sides}(image)", origin)

    def with_channel(self, picture: Picture) -> Picture:
        """Return a picture with an axis of channels added."""
        if not picture.is_flat or picture.dtype == "pil":
            raise NotRecognisedError
        return picture.to(is_flat=False)

    # -- OpenCV -----------------------------------------------------------------------------

    def opencv_resized(self, picture: Picture, call: ast.Call) -> Picture:
        """Return a picture as `cv2.resize` gives it, for its default filter."""
        names = ("src", "dsize", "dst", "fx", "fy", "interpolation")
        given: dict[str, ast.expr] = dict(zip(names, call.args, strict=False))
        given |= {k.arg: k.value for k in call.keywords if k.arg}
        if set(given) - {"src", "dsize", "interpolation"} or "dsize" not in given:
            raise NotRecognisedError
        if "interpolation" in given:
            name = self.names.qualified(given["interpolation"])
            if name != "cv2.INTER_LINEAR" and code(given["interpolation"]) != "1":
                raise NotRecognisedError
        if picture.dtype == "pil" or picture.dtype == "float64" or picture.has_size:
            raise NotRecognisedError
        check_names(given["dsize"])
        size = Size(given["dsize"], width_first=True)
        is_whole = picture.dtype == "uint8"
        text = opencv_resize(size, tf=self.tf, is_whole=is_whole)
        return picture.then(
            text,
            call.lineno,
            is_float=True,
            has_size=True,
            difference=max(picture.difference, 1),
        )

    def opencv_converted(self, picture: Picture, call: ast.Call) -> Picture:
        """Return a picture as `cv2.cvtColor` gives it."""
        if len(call.args) != 2 or call.keywords:
            raise NotRecognisedError
        name = self.names.qualified(call.args[1]).removeprefix("cv2.COLOR_")
        if name in ("BGR2RGB", "RGB2BGR"):
            return self.turned(picture)
        is_gray = name == ("BGR2GRAY" if picture.is_bgr else "RGB2GRAY")
        if not is_gray or picture.dtype != "uint8" or picture.is_float or picture.mode != "RGB":
            raise NotRecognisedError
        text = f"image = {self.tf}.image.rgb_to_grayscale(image)"
        return picture.then(text, call.lineno, mode="L", is_flat=True, is_bgr=False, difference=1)

    # -- the end ----------------------------------------------------------------------------

    def finished(
        self, picture: Picture, origin: int, *, dtype: str = "", needs_size: bool = True
    ) -> Picture:
        """Return a picture as it is given to the model, of NumPy's type or of another one."""
        if picture.dtype == "pil":
            raise NotRecognisedError
        shape = self.names.image_shape()
        if picture.mode == "?" and not shape.endswith(", 3)"):
            raise NotRecognisedError  # the file decides about the channels
        picture = self.in_order(picture, origin)
        if picture.dtype == "uint8" and picture.is_float:
            text = f"image = {self.tf}.cast(image, {self.tf}.uint8)"
            picture = picture.then(text, origin, is_float=False)
        if dtype and dtype != ("float32" if picture.is_float else "uint8"):
            text = f"image = {self.tf}.cast(image, {self.tf}.{dtype})"
            picture = picture.then(text, origin)
        if picture.is_flat:
            picture = picture.then(f"image = {self.tf}.squeeze(image, axis=-1)", origin)
        if picture.has_size or not needs_size:
            return picture
        if picture.is_flat or not shape:
            raise NotRecognisedError  # a model may need to know the size
        return picture.then(f"image = {self.tf}.ensure_shape(image, {shape})", origin)


def check_names(node: ast.expr) -> None:
    """Make sure that code of the user keeps its meaning inside the new function."""
    if _OWN & {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}:
        raise NotRecognisedError


def is_pillow_open(name: str) -> bool:
    """Tell whether a full name is that of `PIL.Image.open`."""
    return name == "PIL.Image.open"


def plain_node(value: object) -> ast.expr:
    """Return the expression of a value that is the same for all items."""
    if not isinstance(value, Plain):
        raise NotRecognisedError
    return value.node


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
