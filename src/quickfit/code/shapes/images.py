"""The shapes of images, read and resized by any library, and of data offered by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quickfit.code.shapes.calls import BY_NAME
from quickfit.code.shapes.shape import (
    SCALAR,
    Array,
    Named,
    Parts,
    Picture,
    Shape,
    Side,
    Stream,
    Thing,
)

if TYPE_CHECKING:
    from quickfit.code.shapes.calls import Question

_CHANNELS = {"RGB": 3, "RGBA": 4, "YCbCr": 3, "HSV": 3, "LAB": 3, "CMYK": 4}
_FLAT_KINDS = ("L", "1", "P", "I", "F")
_DECODERS = ("decode_image", "decode_jpeg", "decode_png", "decode_bmp", "decode_and_crop_jpeg")
# Functions of `tf.image` that keep the shape.
_ALIKE = ("random_", "adjust_", "flip_", "per_image_", "convert_image_dtype", "rot90", "transpose")
_OTHER = ("random_crop", "random_jpeg_quality")


def image_function(name: str, question: Question) -> Thing | None:
    """Return what a function that reads or changes images gives."""
    library, _, last = name.rpartition(".")
    if library in ("tensorflow.io", "tensorflow.image"):
        return _tensor(last, question)
    if name == "PIL.Image.open":
        return Picture(unclear_image(question))
    if name == "PIL.Image.fromarray":
        found = question.array("obj", 0)
        return Picture(found.sides) if found is not None else None
    if library in ("keras.utils", "keras.preprocessing.image"):
        return _keras(last, question)
    if library == "cv2":
        return _opencv(last, question)
    is_imread = last == "imread" and library.split(".")[0] in ("matplotlib", "imageio", "skimage")
    return question.fresh(unclear_image(question)) if is_imread else None


def unclear_image(question: Question) -> Shape:
    """Return the shape of a picture that may be grey or coloured: as it is assumed to be."""
    question.shaping.is_assumed = True
    return (None, None) if question.shaping.is_grey else (None, None, None)


def image_method(receiver: Thing, name: str, question: Question) -> Thing | None:
    """Return what a method of a Pillow image gives."""
    if not isinstance(receiver, Picture):
        return None
    colours = receiver.sides[2:]
    if name in ("resize", "thumbnail"):
        sides = question.sides("size", 1)
        is_pair = sides is not None and len(sides) == 2
        return Picture((*reversed(sides), *colours)) if is_pair and sides else None
    if name == "convert":
        return _converted(receiver, question.literal("mode", 1))
    if name in ("crop", "rotate", "transpose", "reduce"):
        return Picture((None, None, *colours))
    return receiver if name in ("filter", "copy") else None


def _converted(picture: Picture, mode: object) -> Thing | None:
    if mode in _FLAT_KINDS:
        return Picture(picture.sides[:2])
    channels = _CHANNELS.get(str(mode))
    return Picture((*picture.sides[:2], channels)) if channels is not None else None


def _tensor(name: str, question: Question) -> Thing | None:
    if name == "read_file":
        return SCALAR
    if name == "FixedLenFeature":
        return question.fresh(question.sides("shape", 0))
    if name in _DECODERS:
        number = question.number("channels", 1)
        return Array((None, None, number if number else None))
    if name in ("parse_single_example", "parse_example"):
        return _parsed(question, is_batch=name == "parse_example")
    found = question.array("images", 0)
    if found is None or found.rank < 3:
        return None
    if name in ("resize", "resize_with_crop_or_pad", "resize_with_pad"):
        return found.shaped((*found.sides[:-3], *_size(name, question), found.sides[-1]))
    if name in ("rgb_to_grayscale", "grayscale_to_rgb"):
        return found.shaped((*found.sides[:-1], 1 if name.endswith("grayscale") else 3))
    if name == "random_crop":
        return question.fresh(question.sides("size", 1))
    if name == "central_crop":
        return found.shaped((*found.sides[:-3], None, None, found.sides[-1]))
    return found if name.startswith(_ALIKE) and name not in _OTHER else None


def _size(name: str, question: Question) -> tuple[Side, Side]:
    if name != "resize":
        return question.number("target_height", 1), question.number("target_width", 2)
    sides = question.sides("size", 1)
    return (sides[0], sides[1]) if sides is not None and len(sides) == 2 else (None, None)


def _parsed(question: Question, *, is_batch: bool) -> Thing | None:
    """Return the features of a record: each of the shape that its description names."""
    found = question.shaping.of(question.module, question.given("features", 1), question.env)
    if not isinstance(found, Named):
        return None
    if not is_batch:
        return found
    items = [(n, Array((None, *a.sides)) if isinstance(a, Array) else None) for n, a in found.items]
    return Named(tuple(items))


def _keras(name: str, question: Question) -> Thing | None:
    if name == "load_img":
        mode = question.literal("color_mode", 1, default="rgb")
        sides = question.sides("target_size", 2) or (None, None)
        if mode == "grayscale":
            return Picture(sides)
        return Picture((*sides, 3 if mode == "rgb" else 4)) if mode in ("rgb", "rgba") else None
    if name == "img_to_array":
        found = question.array("img", 0)
        sides = found.sides if found is not None else (None, None, None)
        return question.fresh(sides if len(sides) == 3 else (*sides[:2], 1))
    return None


def _opencv(name: str, question: Question) -> Thing | None:
    if name == "imread":
        flags = question.given("flags", 1)
        if flags is None:
            return question.fresh((None, None, 3))
        known = question.shaping.program.name(question.module, flags)
        is_grey = known == "cv2.IMREAD_GRAYSCALE" or question.literal("flags", 1) == 0
        if is_grey:
            return question.fresh((None, None))
        is_coloured = known == "cv2.IMREAD_COLOR" or question.literal("flags", 1) == 1
        return question.fresh((None, None, 3) if is_coloured else unclear_image(question))
    found = question.array("src", 0)
    if name == "resize" and found is not None and found.rank in (2, 3):
        sides = question.sides("dsize", 1)
        size = tuple(reversed(sides)) if sides is not None and len(sides) == 2 else (None, None)
        return found.shaped((*size, *found.sides[2:]))
    if name == "cvtColor" and found is not None:
        code = question.shaping.program.name(question.module, question.given("code", 1))
        return found.shaped(found.sides[:2]) if code.endswith("2GRAY") else _coloured(found, code)
    return found if name in ("GaussianBlur", "flip", "medianBlur") else None


def _coloured(found: Array, code: str) -> Array | None:
    return found.shaped((*found.sides[:2], 3)) if code.endswith(("2RGB", "2BGR", "2HSV")) else None


# Training inputs and labels; the test half differs in its first side alone.
_KERAS: dict[str, tuple[Shape, Shape]] = {
    "mnist": ((60_000, 28, 28), (60_000,)),
    "fashion_mnist": ((60_000, 28, 28), (60_000,)),
    "cifar10": ((50_000, 32, 32, 3), (50_000, 1)),
    "cifar100": ((50_000, 32, 32, 3), (50_000, 1)),
    "imdb": ((25_000,), (25_000,)),
    "reuters": ((None,), (None,)),
    "boston_housing": ((None, 13), (None,)),
    "california_housing": ((None, 8), (None,)),
}
# Sets of images with one number as their label.
_IMAGES: dict[str, Shape] = {
    "mnist": (28, 28, 1),
    "fashion_mnist": (28, 28, 1),
    "cifar10": (32, 32, 3),
    "cifar100": (32, 32, 3),
    "cats_vs_dogs": (None, None, 3),
    "tf_flowers": (None, None, 3),
    "horses_or_humans": (300, 300, 3),
    "rock_paper_scissors": (300, 300, 3),
    "beans": (500, 500, 3),
}


def known_data_shape(name: str, question: Question) -> Thing | None:
    """Return what `keras.datasets.mnist.load_data()` and its kind give."""
    parts = name.split(".")
    if parts[:2] != ["keras", "datasets"] or parts[-1] != "load_data" or len(parts) != 4:
        return None
    shapes = _KERAS.get(parts[2])
    if shapes is None:
        return None
    place = (question.module, question.node)
    train = Parts(tuple(Array(shape, place=place) for shape in shapes))
    test = Parts(tuple(Array((None, *shape[1:]), place=place) for shape in shapes))
    return Parts((train, test))


def tensorflow_datasets(question: Question) -> Thing | None:
    """Return what `tfds.load(name, as_supervised=True)` gives for a set that is known."""
    name = question.literal("name", 0)
    sides = _IMAGES.get(str(name).split(":")[0])
    is_pair = question.literal("as_supervised", BY_NAME) is True
    if sides is None or not is_pair or question.is_given("batch_size", BY_NAME):
        return None
    place = (question.module, question.node)
    stream = Stream(Parts((Array(sides), Array((), place=place))), is_dataset=True)
    if question.is_given("with_info", BY_NAME):
        return None if not _is_list(question) else Parts((_halves(question, stream), None))
    return _halves(question, stream)


def _is_list(question: Question) -> bool:
    return question.literal("with_info", BY_NAME) is True


def _halves(question: Question, stream: Stream) -> Thing | None:
    """Return one dataset for a split that is named, several for a list of splits."""
    if isinstance(question.literal("split", 1), str):
        return stream
    sides = question.sides("split", 1)
    return Parts((stream,) * len(sides)) if sides is not None else None
