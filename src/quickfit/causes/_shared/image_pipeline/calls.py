"""Reads calls of an image input: of Pillow, OpenCV, Keras, NumPy, random draws, own functions."""

from __future__ import annotations

import ast

from quickfit.causes._shared.image_pipeline.expressions import Env, Expressions
from quickfit.causes._shared.image_pipeline.functions import Functions
from quickfit.causes._shared.image_pipeline.pictures import is_pillow_open
from quickfit.causes._shared.image_pipeline.values import (
    INDEX,
    Blank,
    Group,
    Item,
    Many,
    NotRecognisedError,
    Picture,
    Place,
    Plain,
    Start,
    Value,
    Window,
    code,
    item_of,
    number,
    same,
)

_SIDES = {"FLIP_LEFT_RIGHT": "left_right", "FLIP_TOP_BOTTOM": "up_down"}
_FLIPS = {"numpy.fliplr": "left_right", "numpy.flipud": "up_down"}
_FLIPS |= {"PIL.ImageOps.mirror": "left_right", "PIL.ImageOps.flip": "up_down"}
_ARRAYS = ("numpy.array", "numpy.asarray", "numpy.stack")


class Reading(Functions):
    """Says what an expression stands for, calls among them."""

    # -- calls ------------------------------------------------------------------------------

    def _call(self, node: ast.Call, env: Env) -> Value | None:
        if any(isinstance(a, ast.Starred) for a in node.args):
            return self._unzipped(node, env)
        if any(k.arg is None for k in node.keywords):
            raise NotRecognisedError
        name = self.names.qualified(node.func)
        if isinstance(node.func, ast.Attribute):
            found = self._method(node, node.func, env)
            if found is not None:
                return found
        found = self._reader(node, name, env) or self._array(node, name, env)
        if found is not None:
            return found
        found = drawn(self, node, name, env)
        if found is not None:
            return found
        found = self._list(node, name, env) or self._of_user(node, env)
        if found is not None:
            return found
        return self.batching.called(node, name, [self._quiet(a, env) for a in node.args])

    def _method(self, node: ast.Call, func: ast.Attribute, env: Env) -> Value | None:
        base = self._quiet(func.value, env)
        if isinstance(base, Item) and func.attr in ("decode", "numpy"):
            return base  # bytes of a path
        if isinstance(base, Many) and func.attr in ("tolist", "copy") and not node.args:
            return base
        if isinstance(base, Picture):
            return self._picture_method(base, self.plain_call(node, env), func.attr)
        if not isinstance(base, Many) or not base.is_array:
            return None
        if isinstance(base.item, Picture):
            if func.attr != "astype" or len(node.args) != 1 or node.keywords:
                raise NotRecognisedError
            dtype = self.pictures.dtype(node.args[0])
            return Many(
                self.pictures.cast(base.item, dtype, node.lineno), base.is_batch, is_array=True
            )
        if func.attr == "astype" or (func.attr == "reshape" and _is_column(node)):
            call = self.plain_call(node, env)
            return self._wrapped(base, f"{{}}.{func.attr}", call, call.args)
        return None

    def _picture_method(self, picture: Picture, node: ast.Call, name: str) -> Picture:
        if name == "convert" and len(node.args) == 1 and isinstance(node.args[0], ast.Constant):
            return self.pictures.converted(picture, str(node.args[0].value), node.lineno)
        if name == "resize":
            return self.pictures.pillow_resized(picture, node)
        if name == "transpose" and len(node.args) == 1:
            sides = _SIDES.get(code(node.args[0]).rsplit(".", 1)[-1], "")
            if picture.dtype == "pil" and sides:
                return self.pictures.flipped(picture, sides, node.lineno)
        if name == "astype" and len(node.args) == 1 and not node.keywords:
            return self.pictures.cast(picture, self.pictures.dtype(node.args[0]), node.lineno)
        raise NotRecognisedError

    def _reader(self, node: ast.Call, name: str, env: Env) -> Value | None:
        """Return the picture that a call reads from a file."""
        is_keras = name.startswith(("keras.", "tensorflow.")) and name.endswith(".load_img")
        if not (is_pillow_open(name) or name == "cv2.imread" or is_keras):
            return None
        path = self.value(node.args[0], env) if node.args else None
        if isinstance(path, Plain) or not isinstance(path, Item):
            raise NotRecognisedError
        if is_keras:
            names = ("path", "color_mode", "target_size", "interpolation", "keep_aspect_ratio")
            given: dict[str, ast.expr] = dict(zip(names, node.args, strict=False))
            given |= {k.arg: k.value for k in node.keywords if k.arg}
            given = {k: self.substituted(v, env) for k, v in given.items()}
            return self.pictures.loaded(path, node, given)
        if name == "cv2.imread":
            return self.pictures.opened(
                path, node.lineno, library="cv2", channels=self._imread_channels(node)
            )
        if len(node.args) > 1 or node.keywords:
            raise NotRecognisedError
        return self.pictures.opened(path, node.lineno, library="pil")

    def _imread_channels(self, node: ast.Call) -> int:
        if len(node.args) + len(node.keywords) == 1:
            return 3
        given = [*node.args[1:], *(k.value for k in node.keywords if k.arg == "flags")]
        names = {"cv2.IMREAD_COLOR": 3, "1": 3, "cv2.IMREAD_GRAYSCALE": 1, "0": 1}
        found = [names.get(self.names.qualified(g) or code(g), 0) for g in given]
        if len(found) != 1 or not found[0]:
            raise NotRecognisedError
        return found[0]

    def _array(self, node: ast.Call, name: str, env: Env) -> Value | None:
        """Return what a call makes of a picture or a batch."""
        if not node.args:
            return None
        first = self._quiet(node.args[0], env)
        if isinstance(first, Group) and len(first.values) == 1 and name in _ARRAYS:
            raise NotRecognisedError
        if isinstance(first, Picture):
            return self._of_picture(node, name, first, env)
        if not isinstance(first, Many):
            return None
        node = self.plain_call(node, env)
        if name in _ARRAYS:
            return self._stacked(node, name, first)
        if name.endswith(".to_categorical") and _has_classes(node):
            return self._wrapped(first, code(node.func), node, node.args[1:])
        is_column = [code(a) for a in node.args[1:]] in (["-1"], ["1"]) and not node.keywords
        if name == "numpy.expand_dims" and first.is_array and isinstance(first.item, Picture):
            if code(node).rstrip(")").rsplit("=", 1)[-1].rsplit(" ", 1)[-1] not in ("-1", "3"):
                raise NotRecognisedError
            return Many(self.pictures.with_channel(first.item), first.is_batch, is_array=True)
        if name == "numpy.expand_dims" and first.is_array and is_column:
            return self._wrapped(first, code(node.func), node, node.args[1:])
        return None

    def _of_picture(self, node: ast.Call, name: str, picture: Picture, env: Env) -> Picture:
        pictures, line = self.pictures, node.lineno
        given = {k.arg: k.value for k in node.keywords}
        dtype = node.args[1] if len(node.args) == 2 else given.get("dtype")
        is_bare = len(node.args) == 1 and not node.keywords
        if name in ("numpy.array", "numpy.asarray") and not set(given) - {"dtype"}:
            return pictures.array(picture, dtype, line)
        if name in ("numpy.float32", "numpy.float64") and is_bare:
            return pictures.cast(pictures.array(picture, None, line), name[6:], line)
        if name.endswith(".img_to_array") and not set(given) - {"dtype"} and len(node.args) == 1:
            return pictures.keras_array(picture, dtype, line)
        if name == "cv2.resize":
            return pictures.opencv_resized(picture, self.plain_call(node, env))
        if name == "cv2.cvtColor":
            return pictures.opencv_converted(picture, node)
        if name in _FLIPS and is_bare and ("PIL" in name) == (picture.dtype == "pil"):
            return pictures.flipped(picture, _FLIPS[name], line)
        if name == "cv2.flip" and len(node.args) == 2 and number(node.args[1]) in (0, 1):
            sides = "left_right" if number(node.args[1]) else "up_down"
            return pictures.flipped(picture, sides, line)
        if name == "numpy.expand_dims" and code(node).endswith(("-1)", "2)")):
            return pictures.with_channel(picture)
        if name.endswith(".preprocess_input") and ".applications." in name and is_bare:
            picture = pictures.cast(pictures.array(picture, None, line), "float32", line)
            if picture.is_flat:
                raise NotRecognisedError
            picture = pictures.in_order(picture, line)
            return picture.then(f"image = {code(node.func)}(image)", line)
        raise NotRecognisedError

    def _stacked(self, node: ast.Call, name: str, many: Many) -> Many:
        """Return a batch as `np.array(list, dtype)` makes it."""
        given = {k.arg: k.value for k in node.keywords}
        is_stack = name == "numpy.stack"
        if set(given) - ({"axis"} if is_stack else {"dtype"}) or len(node.args) > 2:
            raise NotRecognisedError
        axis = [*node.args[1:], *given.values()] if is_stack else []
        if any(number(a) != 0 for a in axis):
            raise NotRecognisedError
        dtype = None if is_stack else node.args[1] if len(node.args) == 2 else given.get("dtype")
        if isinstance(many.item, Picture):
            if many.item.dtype == "pil":
                raise NotRecognisedError
            made = self.pictures.array(many.item, dtype, node.lineno)
            return Many(made, many.is_batch, is_array=True)
        if not isinstance(many.item, Item):
            raise NotRecognisedError
        return self._wrapped(many, code(node.func), node, node.args[1:])

    def _wrapped(self, many: Many, function: str, node: ast.Call, more: list[ast.expr]) -> Many:
        """Return a batch of plain items that a call of NumPy was made on."""
        if not isinstance(many.item, Item):
            raise NotRecognisedError
        arguments = [code(a) for a in more] + [f"{k.arg}={code(k.value)}" for k in node.keywords]
        first = [] if function.startswith("{}") else ["{}"]
        text = f"{function}({', '.join([*first, *arguments])})"
        return Many(many.item, many.is_batch, (*many.wraps, text), is_array=True)

    def _list(self, node: ast.Call, name: str, env: Env) -> Value | None:
        """Return what a call makes of lists: `zip`, `enumerate`, `range(len(list))`."""
        if name == "zip" and node.args:
            parts = [self.many(self.value(a, env)) for a in node.args]
            if len({p.is_batch for p in parts}) != 1 or any(p.wraps for p in parts):
                raise NotRecognisedError
            return Many(Group(tuple(p.item for p in parts)), parts[0].is_batch)
        if name == "sklearn.utils.shuffle" and node.args and not node.keywords:
            return self._shuffled(node, env)
        if name == "enumerate" and len(node.args) == 1 and not node.keywords:
            many = self.many(self.value(node.args[0], env))
            first: Value = Place() if many.is_batch else Item(ast.Name(INDEX, ast.Load()))
            return Many(Group((first, many.item)), many.is_batch)
        if name in ("list", "tuple") and len(node.args) == 1:
            inner = self.value(node.args[0], env)
            return inner if isinstance(inner, Many) else None
        if name == "slice" and len(node.args) == 2:
            ends = [self.value(a, env) for a in node.args]
            return Window() if ends == [Start(0), Start(1)] else None
        if name in ("numpy.zeros", "numpy.empty", "numpy.ones") and node.args:
            return self._blank(node, env)
        return None

    def _shuffled(self, node: ast.Call, env: Env) -> Value:
        """Return lists that are shuffled alike."""
        tag = f"line {node.lineno}"
        if (("", node.lineno)) not in self.facts.shuffles:
            self.facts.shuffles.append(("", node.lineno))
        found = []
        for given in node.args:
            many = self.many(self.value(given, env))
            if many.is_batch or many.wraps or not isinstance(many.item, Item):
                raise NotRecognisedError
            found.append(Many(Item(many.item.node, many.item.orders | {tag})))
        return found[0] if len(found) == 1 else Group(tuple(found))

    def _blank(self, node: ast.Call, env: Env) -> Value | None:
        shape = node.args[0]
        if isinstance(shape, ast.Tuple) and shape.elts:
            first, rank = shape.elts[0], len(shape.elts)
            if any(isinstance(element, ast.Starred) for element in shape.elts):
                rank = 4  # a size and the channels
        else:
            first, rank = shape, 1
        given = [*node.args[1:], *(k.value for k in node.keywords if k.arg == "dtype")]
        length = first
        if isinstance(first, ast.Call) and code(first.func) == "len":
            inner = self.value(first.args[0], env)
            if not isinstance(inner, Many) or not inner.is_batch:
                return None
            length = ast.Constant("len")
        elif not same(first, self.facts.batch_size):
            return None
        last = shape.elts[-1] if isinstance(shape, ast.Tuple) and shape.elts else None
        return Blank(length, rank, code(given[0]) if given else "np.float64", last)

    def _unzipped(self, node: ast.Call, env: Env) -> Value:
        """Return the lists that `zip(*pairs)` makes."""
        first = node.args[0]
        if code(node.func) != "zip" or len(node.args) != 1 or not isinstance(first, ast.Starred):
            raise NotRecognisedError
        many = self.many(self.value(first.value, env))
        if not isinstance(many.item, Group):
            raise NotRecognisedError
        return Group(tuple(Many(item, many.is_batch) for item in many.item.values))


def _is_column(node: ast.Call) -> bool:
    return [code(a) for a in node.args] in (["-1", "1"], ["(-1, 1)"])


def _has_classes(node: ast.Call) -> bool:
    """Tell whether a call of `to_categorical` says how many classes there are."""
    return len(node.args) == 2 or any(k.arg == "num_classes" for k in node.keywords)


_NAMES = {
    "numpy.random.choice": ("a", "size", "replace"),
    "random.choice": ("a",),
    "random.choices": ("a", "size"),
    "numpy.random.randint": ("low", "high", "size"),
    "random.randrange": ("low", "high"),
    "random.randint": ("low", "last"),
}
_NUMBERS = ("numpy.random.randint", "random.randrange", "random.randint")


def drawn(reading: Expressions, node: ast.Call, name: str, env: Env) -> Value | None:
    """Return what a call draws: one item, or a batch of them; None for other calls."""
    if isinstance(node.func, ast.Attribute) and code(node.func.value).endswith("rng"):
        known = {"choice": "numpy.random.choice", "integers": "numpy.random.randint"}
        name = known.get(node.func.attr, name)
    if name not in _NAMES:
        return None
    given = _arguments(node, _NAMES[name])
    size = given.pop("size", None)
    item, source = _number(reading, given) if name in _NUMBERS else _choice(reading, given, env)
    tag = f"draw {node.lineno}:{node.col_offset}"
    if reading.facts.drawn is not None and reading.facts.drawn[2] != tag:
        raise NotRecognisedError  # two draws that need not be of the same item
    reading.facts.drawn = source, node.lineno, tag
    reading.facts.lengths.append(source)
    found = Item(item.node, frozenset({tag}))
    if size is None:
        if not reading.in_item or reading.is_in_function:
            raise NotRecognisedError  # one draw for several items, or a draw that is made twice
        return found
    if reading.in_item or not isinstance(reading.value(size, env), Plain):
        raise NotRecognisedError
    if isinstance(size, ast.Tuple) or reading.facts.batch_size not in (None, size):
        raise NotRecognisedError
    reading.facts.batch_size = size
    return Many(found, is_batch=True, is_array=name != "random.choices")


def _arguments(node: ast.Call, names: tuple[str, ...]) -> dict[str, ast.expr]:
    if len(node.args) > len(names):
        raise NotRecognisedError
    given: dict[str, ast.expr] = dict(zip(names, node.args, strict=False))
    for keyword in node.keywords:
        name = "size" if keyword.arg == "k" else keyword.arg
        if name not in names:
            raise NotRecognisedError
        given[name] = keyword.value
    if "replace" in given and code(given.pop("replace")) != "True":
        raise NotRecognisedError
    return given


def _choice(reading: Expressions, given: dict[str, ast.expr], env: Env) -> tuple[Item, ast.expr]:
    """Return an item of a list, or its number where the length is given; and the list."""
    if set(given) != {"a"}:
        raise NotRecognisedError
    length = reading.batching.length(given["a"])
    if length is not None:
        return Item(ast.Name(INDEX, ast.Load())), length
    value = reading.value(given["a"], env)
    if not isinstance(value, Plain) or not isinstance(value.node, ast.Name | ast.Attribute):
        raise NotRecognisedError
    if code(value.node) in reading.all_numbers:
        raise NotRecognisedError
    return item_of(value.node), value.node


def _number(reading: Expressions, given: dict[str, ast.expr]) -> tuple[Item, ast.expr]:
    """Return the number of an item, and the list whose length is the end."""
    if "low" not in given:
        raise NotRecognisedError
    end = given.get("high")
    if end is None and "last" in given:
        last = given["last"]
        is_before = isinstance(last, ast.BinOp) and isinstance(last.op, ast.Sub)
        if not is_before or not isinstance(last, ast.BinOp) or number(last.right) != 1:
            raise NotRecognisedError
        end = last.left
    if end is not None and number(given["low"]) != 0:
        raise NotRecognisedError
    length = reading.batching.length(end if end is not None else given["low"])
    if length is None:
        raise NotRecognisedError
    return Item(ast.Name(INDEX, ast.Load())), length
