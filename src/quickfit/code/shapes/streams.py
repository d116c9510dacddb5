"""The shapes of what datasets, generators and directories of files give."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from quickfit.code.datasets import METHODS, SAME_ELEMENTS
from quickfit.code.shapes.calls import BY_NAME, called_with
from quickfit.code.shapes.images import known_data_shape, tensorflow_datasets
from quickfit.code.shapes.shape import (
    SCALAR,
    Array,
    Parts,
    Shape,
    Side,
    Stream,
    Thing,
    as_array,
    change_arrays,
    merge_shapes,
    row_shape,
)
from quickfit.code.values import Instance, Made, Member, Routine, Value

if TYPE_CHECKING:
    from quickfit.code.shapes.calls import Question
    from quickfit.code.shapes.shaping import Shaping

_COLOURS = {"rgb": 3, "grayscale": 1, "rgba": 4}
_DATASET = "tensorflow.data.Dataset."
_SPECS = ("tensorflow.TensorSpec", "tensorflow.TensorShape", "keras.InputSpec")


def source_shape(name: str, question: Question) -> Thing | None:
    """Return what a function that makes a dataset, an input or known data gives."""
    if name == "keras.Input":
        batch = question.sides("batch_shape", BY_NAME)
        sides = question.sides("shape", 0)
        return question.fresh(batch or ((None, *sides) if sides is not None else None))
    if name in _SPECS:
        return question.fresh(question.sides("shape", 0))
    if name.startswith(_DATASET):
        return _dataset(name.removeprefix(_DATASET), question)
    if name in ("tensorflow.data.TFRecordDataset", "tensorflow.data.TextLineDataset"):
        return Stream(SCALAR, is_dataset=True)
    if name.endswith("_dataset_from_directory") and name.startswith("keras."):
        return _directory(name, question)
    if name.endswith(".timeseries_dataset_from_array"):
        return _windows(question)
    if name == "tensorflow_datasets.load":
        return tensorflow_datasets(question)
    return known_data_shape(name, question)


def _dataset(name: str, question: Question) -> Thing | None:
    if name in ("from_tensor_slices", "from_tensors"):
        given = _tensors(question.thing("tensors", 0))
        element = change_arrays(given, _first_row) if name == "from_tensor_slices" else given
        return Stream(element, is_dataset=True)
    if name in ("range", "list_files", "random"):
        return Stream(SCALAR, is_dataset=True)
    if name == "zip":
        given = question.thing("datasets", 0)
        things = given.items if isinstance(given, Parts) else ()
        if isinstance(given, Stream):
            things = tuple(question.thing("x", n) for n in range(len(question.call.args)))
        return (
            Stream(Parts(tuple(row_shape(t) for t in things)), is_dataset=True) if things else None
        )
    if name == "from_generator":
        spec = question.thing("output_signature", BY_NAME)
        return Stream(spec, is_dataset=True)
    return None


def _tensors(thing: Thing | None) -> Thing | None:
    """Return what tf.data makes of a structure: a list becomes one tensor, a tuple stays."""
    if isinstance(thing, Parts) and not thing.is_list:
        return Parts(tuple(_tensors(item) for item in thing.items))
    if isinstance(thing, Parts | Array):
        return as_array(thing)
    return thing


def _first_row(array: Array) -> Array | None:
    return array.shaped(array.sides[1:]) if array.sides else None


# -- stages -----------------------------------------------------------------------------------


def stage_shape(receiver: Thing | None, member: Member, question: Question) -> Thing | None:
    """Return what a method of a dataset gives."""
    name = member.name
    if name.startswith("flow") and isinstance(member.of, Made):
        is_images = member.of.maker.endswith(".ImageDataGenerator")
        return _flow(name, question) if is_images else None
    if not isinstance(receiver, Stream) or name not in METHODS | {"as_numpy_iterator"}:
        return None
    if name in SAME_ELEMENTS or name == "as_numpy_iterator":
        return receiver
    if name in ("batch", "padded_batch"):
        size = question.number("batch_size", 0)
        return Stream(change_arrays(receiver.element, lambda array: array.batched(size)), True)
    if name == "unbatch":
        return Stream(change_arrays(receiver.element, _first_row), True)
    if name == "map":
        return Stream(_mapped(receiver.element, question), True)
    if name in ("flat_map", "interleave"):
        inner = _mapped(receiver.element, question)
        return Stream(inner.element, True) if isinstance(inner, Stream) else None
    if name == "enumerate":
        return Stream(Parts((SCALAR, receiver.element)), True)
    if name == "concatenate":
        return merge_shapes((receiver, question.thing("dataset", 0)))
    return receiver if name == "apply" and _is_harmless(question) else None


def _mapped(element: Thing | None, question: Question) -> Thing | None:
    given = question.given("map_func", 0)
    values = question.shaping.program.values(question.module, given)
    is_tuple = isinstance(element, Parts) and not element.is_list
    things = element.items if is_tuple and isinstance(element, Parts) else (element,)
    found = [_run(question.shaping, value, things, question) for value in values]
    # What a map gives as a list is one tensor; a tuple stays a tuple.
    return _tensors(merge_shapes(found)) if found else None


def _run(
    shaping: Shaping, value: Value, things: tuple[Thing | None, ...], question: Question
) -> Thing | None:
    if isinstance(value, Made) and value.maker == "tensorflow.function" and value.call.args:
        inner = shaping.program.only(value.module, value.call.args[0], value.frame)
        return _run(shaping, inner, things, question) if isinstance(inner, Routine) else None
    if not isinstance(value, Routine):
        return None
    return called_with(shaping, value, things, question.env)


def _is_harmless(question: Question) -> bool:
    made = question.shaping.program.maker(question.module, question.given("func", 0))
    return made.startswith("tensorflow.data.experimental.") and made.rsplit(".", 1)[1] in (
        *("ignore_errors", "prefetch_to_device", "assert_cardinality", "shuffle_and_repeat"),
        *("copy_to_device", "unique"),
    )


# -- files in directories, windows of series --------------------------------------------------


def _directory(name: str, question: Question) -> Thing | None:
    kind = name.rsplit(".", 1)[1].split("_")[0]
    if kind not in ("image", "text"):
        return None
    mode = question.literal("label_mode", 2, default="int")
    at = 5 if kind == "image" else 4
    size = question.literal("batch_size", at, default=32)
    first: Shape = (size if type(size) is int else None,)
    if question.is_given("batch_size", at) is False and question.given("batch_size", at):
        first = ()  # batch_size=None: one example at a time
    inputs = question.fresh((*first, *(_image_sides(question) if kind == "image" else ())))
    labels = _batch(question.fresh(_label_sides(mode, first)), is_batch=bool(first))
    is_unlabelled = _is_none(question.given("labels", 1)) or _is_none(
        question.given("label_mode", 2)
    )
    element = inputs if is_unlabelled else Parts((inputs, labels))
    stream = Stream(element, is_dataset=True)
    is_both = question.literal("subset", 10 if kind == "image" else 9) == "both"
    return Parts((stream, stream)) if is_both else stream


def _is_none(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _image_sides(question: Question) -> Shape:
    sides = question.sides("image_size", 6) if question.given("image_size", 6) else (256, 256)
    colours = _COLOURS.get(str(question.literal("color_mode", 4, default="rgb")))
    return (*(sides if sides and len(sides) == 2 else (None, None)), colours)


def _label_sides(mode: object, first: Shape) -> Shape | None:
    endings: dict[object, Shape] = {"int": (), "binary": (1,), "categorical": (None,)}
    return (*first, *endings[mode]) if isinstance(mode, str) and mode in endings else None


def _windows(question: Question) -> Thing | None:
    data, targets = question.array("data", 0), question.array("targets", 1)
    size = question.literal("batch_size", 5, default=128)
    first: Side = size if type(size) is int else None
    length = question.number("sequence_length", 2)
    inputs = question.fresh((first, length, *data.sides[1:])) if data is not None else None
    if _is_none(question.given("targets", 1)):
        return Stream(inputs, is_dataset=True)
    labels = question.fresh((first, *targets.sides[1:])) if targets is not None else None
    return Stream(Parts((inputs, _batch(labels))), is_dataset=True)


def _batch(array: Array | None, *, is_batch: bool = True) -> Array | None:
    return replace(array, is_batch=is_batch) if array is not None else None


def _flow(name: str, question: Question) -> Thing | None:
    """Return what an `ImageDataGenerator` gives."""
    if name == "flow":
        inputs, labels = question.array("x", 0), question.array("y", 1)
        first: Side = question.number("batch_size", 2)
        parts = (
            a.shaped((first, *a.sides[1:])) if a is not None else None for a in (inputs, labels)
        )
        return Stream(Parts(tuple(parts)))
    at = {"flow_from_directory": (1, 2, 4), "flow_from_dataframe": (5, 6, 8)}.get(name)
    if at is None:
        return None
    sides = question.sides("target_size", at[0]) if question.given("target_size", at[0]) else None
    colours = _COLOURS.get(str(question.literal("color_mode", at[1], default="rgb")))
    mode = question.literal("class_mode", at[2], default="categorical")
    size = question.literal("batch_size", at[2] + 1, default=32)
    batch: Side = size if type(size) is int else None
    inputs = question.fresh((batch, *(sides or (None, None)), colours))
    endings: dict[object, Shape] = {"binary": (), "sparse": (), "categorical": (None,)}
    is_known = isinstance(mode, str) and mode in endings
    labels = question.fresh((batch, *endings[mode])) if is_known else None
    return Stream(Parts((inputs, labels)))


def instance_shape(shaping: Shaping, value: Instance) -> Thing | None:
    """Return what an object of a class of the program gives, if it is one that Keras asks."""
    if "keras.utils.PyDataset" not in shaping.program.ancestors(value):
        return None
    found = shaping.program.resolver.attribute(value.made, "__getitem__")
    if len(found) != 1 or not isinstance(found[0], Routine):
        return None
    return Stream(called_with(shaping, found[0], (SCALAR,)))
