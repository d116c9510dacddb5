"""Samples for calibration, as the converter and a model take them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from quickfit.compression.calibration import Samples, samples_of
from quickfit.compression.quantizing.naming import input_names
from quickfit.compression.walking.kinds import graph_body
from quickfit.errors import UsageError

# Models and arrays are `Any`: Keras has no types of its own, arrays hold numbers of every type.


def finite_samples(model: Any, data: Any, limit: int) -> Samples:
    """Return samples that ranges can be learned from.

    Args:
        model: whose inputs they are for.
        data: everything that `samples_of` takes.
        limit: how many to take at most.

    Raises:
        UsageError: they do not fit the model, or some are not finite.
    """
    samples = samples_of(model, data, limit)
    for name, array in zip(input_names(model), samples.arrays, strict=True):
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            bad = int((~np.isfinite(array.reshape(len(array), -1)).all(axis=1)).sum())
            raise UsageError(
                f"{bad} of {len(array)} samples for calibration hold NaN or infinity (input "
                f"'{name}'): no range can be learned from them. Look for them in the data."
            )
    return samples


def feeds(model: Any, samples: Samples, size: int = 1) -> list[dict[str, Any]]:
    """Return samples by the names of the inputs, as those who calibrate take them.

    Args:
        model: whose inputs they are for.
        samples: to give.
        size: how many at a time; TensorFlow's converter takes them one by one.
    """
    names = input_names(model)
    return [dict(zip(names, arrays, strict=True)) for arrays in samples.batches(size)]


def batches(model: Any, samples: Samples, size: int) -> Iterator[Any]:
    """Yield samples in batches, in the structure that the model takes."""
    import keras

    structure = graph_body(model).input
    for arrays in samples.batches(size):
        yield keras.tree.pack_sequence_as(structure, list(arrays))
