"""The last steps of a batch, after the cache: labels, scaling, and the user's augmentation."""

from __future__ import annotations

import inspect
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quickfit.data.imaging._graph import Dataset, Tensor, in_python, plain
from quickfit.data.imaging.choices import Augment, Choices
from quickfit.data.imaging.order import Epochs
from quickfit.errors import UsageError


def finished(
    batches: Dataset, choices: Choices, labels: NDArray[Any] | None, class_count: int
) -> Dataset:
    """Return batches of `(index, image)` as `(images, labels)`, or images alone without labels.

    Args:
        batches: decoded.
        choices: how they are finished.
        labels: of all images, by index (`Any`: the width of the numbers varies).
        class_count: the length of a one-hot label.
    """
    import tensorflow as tf

    with tf.device("CPU"):  # where pipelines run, also on a machine with a GPU
        all_labels = None if labels is None else tf.constant(labels)

    @plain
    def finish(indices: Tensor, images: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        scaled = _scaled(images, choices)
        if all_labels is None:
            return scaled
        own = tf.gather(all_labels, indices)
        return scaled, tf.one_hot(own, class_count) if choices.one_hot else own

    return batches.map(finish, num_parallel_calls=tf.data.AUTOTUNE)


def _scaled(images: Tensor, choices: Choices) -> Tensor:
    import tensorflow as tf

    if choices.scale is None:
        return images
    low, high = choices.scale
    wide = tf.cast(images, tf.float32) * ((high - low) / 255)
    return tf.cast(wide + low if low else wide, choices.dtype)


def augmented(batches: Dataset, choices: Choices, *, has_labels: bool) -> Dataset:
    """Return the batches after the user's augmentation, in the dtype that was asked for."""
    import tensorflow as tf

    if choices.augment is None:
        return batches
    augment = _Augmentation(choices.augment, choices, has_labels=has_labels)
    if not has_labels:
        batches = batches.map(plain(lambda images: (images,)))

    # Not `plain`: AutoGraph rewrites the user's `if` and `for` on tensors.
    def step(batch: tuple[Tensor, ...], seed: Tensor) -> Tensor | tuple[Tensor, ...]:
        images, *labels = augment(batch, seed)
        images = _like(images, batch[0], choices.dtype)
        return (images, *labels) if has_labels else images

    # Without seeds of their own, random numbers come in the order of the calls: then, if the
    # same are asked for, one call at a time.
    is_free = choices.seed is None or augment.takes_seed
    zipped = tf.data.Dataset.zip((batches, _seeds(choices.seed)))
    return zipped.map(step, num_parallel_calls=tf.data.AUTOTUNE if is_free else None)


def _seeds(seed: int | None) -> Dataset:
    """Return an endless dataset of seeds for random functions, others in every epoch."""
    import tensorflow as tf

    epochs = Epochs(is_shuffled=False, seed=seed)

    @plain
    def begun(_: Tensor) -> Tensor:
        return in_python(epochs.draw, [], tf.int32, ())

    @plain
    def counted(drawn: Tensor) -> Dataset:
        numbers = tf.data.Dataset.range(tf.int32.max)
        return numbers.map(plain(lambda number: tf.stack([drawn, tf.cast(number, tf.int32)])))

    return tf.data.Dataset.from_tensors(0).map(begun).flat_map(counted)


class _Augmentation:
    """The user's function or layer, called with what it takes."""

    def __init__(self, augment: Augment, choices: Choices, *, has_labels: bool) -> None:
        self._augment = augment
        self._is_layer = _is_layer(augment)
        required = [] if self._is_layer else _required_arguments(augment)
        self.takes_seed = "seed" in required
        self._takes_labels = len(required) - self.takes_seed > 1
        if len(required) - self.takes_seed > 2:
            raise UsageError(
                f"images(augment={_name(augment)}): the function needs {', '.join(required)}. It "
                "may take images, or images and labels, and one argument named seed besides; give "
                "others a default"
            )
        if self._is_layer:
            # It makes its variables now: it may not inside a pipeline.
            augment(np.zeros((1, *choices.image_shape), np.float32), training=True)
        if self._takes_labels and not has_labels:
            raise UsageError(
                f"images(augment={_name(augment)}): the function takes images and labels, and this "
                "dataset has no labels. Give a function of the images alone"
            )

    def __call__(self, batch: tuple[Tensor, ...], seed: Tensor) -> tuple[Tensor, ...]:
        if self._is_layer:
            return (self._augment(batch[0], training=True), *batch[1:])
        options = {"seed": seed} if self.takes_seed else {}
        if self._takes_labels:
            return _pair(self._augment, self._augment(*batch, **options))
        return (self._augment(batch[0], **options), *batch[1:])


def _pair(augment: Augment, result: object) -> tuple[Tensor, Tensor]:
    if isinstance(result, tuple | list) and len(result) == 2:
        return result[0], result[1]
    raise UsageError(
        f"images(augment={_name(augment)}): the function takes images and labels, so it must "
        f"return both; it returned {type(result).__name__}"
    )


def _like(images: Tensor, before: Tensor, dtype: str) -> Tensor:
    """Return augmented images in the dtype of the dataset, as many as there were."""
    import tensorflow as tf

    if images is None:
        raise UsageError("images(augment=...): the function returned None; let it return the batch")
    images = tf.convert_to_tensor(images)
    if images.shape.rank not in (None, 4):
        raise UsageError(
            f"images(augment=...): a batch of shape {tuple(before.shape)} came back as "
            f"{tuple(images.shape)}. The function gets a batch and must return a batch"
        )
    same = tf.debugging.assert_equal(
        tf.shape(images)[0],
        tf.shape(before)[0],
        "images(augment=...): the function changed the number of images in the batch",
    )
    with tf.control_dependencies([same] if same is not None else []):
        if dtype == "uint8" and images.dtype != tf.uint8:
            images = tf.round(tf.clip_by_value(tf.cast(images, tf.float32), 0, 255))
        return tf.identity(tf.cast(images, dtype))


def _is_layer(augment: Augment) -> bool:
    keras = sys.modules.get("keras")  # without it, nobody can have made a layer
    return keras is not None and isinstance(augment, keras.layers.Layer)


def _required_arguments(function: Augment) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some functions written in C have none
        return []
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        parameter.name
        for parameter in parameters
        if parameter.default is inspect.Parameter.empty and parameter.kind not in kinds
    ]


def _name(function: Augment) -> str:
    return getattr(function, "__name__", type(function).__name__)
