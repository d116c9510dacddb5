"""Whole batches of photographs, read, decoded and resized by native code in one call.

The work is done without Python's lock, and without the operations that a graph needs around each
image: about a tenth less than decoding in TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from quickfit.data import pixels
from quickfit.data.entries import Entry, Source
from quickfit.data.imaging.orientation import shrunk_upright

if TYPE_CHECKING:
    from quickfit.data.imaging.choices import Choices

_CMYK_CHANNELS = 4


def is_native(choices: Choices) -> bool:
    """Tell whether batches can be made this way.

    Images that are left out are counted one by one, which the graph does; and without the
    compiled kernel TensorFlow is faster.
    """
    return choices.resize == "bilinear" and choices.on_bad == "error" and pixels.is_compiled()


def loader(
    source: Source, entries: Sequence[Entry], size: tuple[int, int]
) -> Callable[[NDArray[np.int64]], NDArray[np.uint8]]:
    """Return the function from the indices of images to a batch of them.

    A bad image raises `SourceImageError`; the batch is then missing, and the image is looked for.
    """

    def load(indices: NDArray[np.int64]) -> NDArray[np.uint8]:
        batch = pixels.empty_batch(len(indices), (*size, 3))
        for index, out in zip(indices.tolist(), batch, strict=True):
            image = decoded(source.read(entries[index]), size)
            pixels.resize_into(image, out, filter="plain")
        return batch

    return load


def decoded(content: bytes, at_least: tuple[int, int]) -> NDArray[np.uint8]:
    """Return the image of a file, upright; a JPEG shrunk as far as `at_least` allows.

    Raises:
        SourceImageError: it cannot be decoded.
    """
    header = pixels.look(content)
    if header.format == "jpeg" and header.channels != _CMYK_CHANNELS:
        return shrunk_upright(content, header, at_least)
    return pixels.decode(content, header=header)
