"""The shapes of data that Keras and TensorFlow Datasets offer by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quickfit.shapes.questions import BY_NAME
from quickfit.shapes.shapes import Array, Parts, Shape, Stream, Thing

if TYPE_CHECKING:
    from quickfit.shapes.questions import Question

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


def loaded(name: str, question: Question) -> Thing | None:
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
