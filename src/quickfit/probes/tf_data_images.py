"""Images in a pipeline: how large they are in their files, and to what a function shrinks them."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from quickfit.probes._image_sizes import image_size
from quickfit.probes._places import absolute, is_user_file

_DECODES = {"DecodeJpeg", "DecodeImage", "DecodePng", "DecodeBmp"}
_RESIZES = {
    *("ResizeBilinear", "ResizeBicubic", "ResizeArea", "ResizeNearestNeighbor"),
    "ScaleAndTranslate",
}
# On the way from the decoder to the resize: what is left of the image then is not all of it.
_CROPS = {"Slice", "StridedSlice", "CropAndResize", "ExtractGlimpseV2", "GatherV2"}
# Operations between the two at most.
MAX_WAY = 30
# Images looked at per source, spread over it.
MAX_LOOKS = 5


def shrinks_of(operations: Iterable[Any], outputs: Iterable[Any] = ()) -> list[dict[str, Any]]:
    """Return each resize of a decoded image: the decoder, its line and ratio, the final size.

    Args:
        operations: of a function's graph.
        outputs: its results; they tell the size where that is computed, as padding does.
    """
    found = []
    for operation in operations:
        way = _way_to_decoder(operation) if operation.type in _RESIZES else None
        if way:
            decoder = way[-1]
            found.append(
                {
                    "decoder": decoder.type,
                    "ratio": _ratio(decoder),
                    "to": _size(operation) or _image_of(outputs),
                    "is_cropped": any(step.type in _CROPS for step in way),
                    **place_of_operation(decoder),
                }
            )
    return found


def _way_to_decoder(operation: Any) -> list[Any] | None:
    """Return the operations that made a resize's image, back to the decoder."""
    way: list[Any] = []
    while operation.inputs and len(way) < MAX_WAY:
        operation = operation.inputs[0].op
        way.append(operation)
        if operation.type in _DECODES:
            return way
    return None


def _ratio(decoder: Any) -> int:
    return int(decoder.get_attr("ratio")) if decoder.type == "DecodeJpeg" else 1


def _size(resize: Any) -> list[int] | None:
    value = sys.modules["tensorflow.python.framework.tensor_util"].constant_value(resize.inputs[1])
    return None if value is None else [int(side) for side in value]


def _image_of(outputs: Iterable[Any]) -> list[int] | None:
    """Return height and width of the only image among a function's results."""
    shapes = [output.shape.as_list() for output in outputs if output.shape.rank in (3, 4)]
    sizes = [shape[-3:-1] for shape in shapes if shape[-1] in (1, 3, 4)]
    return sizes[0] if len(sizes) == 1 and None not in sizes[0] else None


def place_of_operation(operation: Any) -> dict[str, Any]:
    """Return the user's line that made an operation, from the stack TensorFlow keeps of it."""
    for frame in reversed(list(getattr(operation, "traceback", None) or ())):
        if is_user_file(frame.filename):
            return {"file": absolute(frame.filename), "line": frame.lineno}
    return {}


def image_sizes(dataset: Any) -> list[list[Any]]:
    """Return the sizes of a few images of a source of paths or encoded images."""
    for tensor in getattr(dataset, "_tensors", ()):
        if tensor.dtype.name != "string" or tensor.shape.rank != 1 or not hasattr(tensor, "numpy"):
            continue
        count = tensor.shape[0] or 0
        places = range(0, count, max(count // MAX_LOOKS, 1))
        looks = [image_size(tensor[place].numpy()) for place in places[:MAX_LOOKS]]
        sizes = [list(size) for size in looks if size is not None]
        if sizes:
            return sizes
    return []
