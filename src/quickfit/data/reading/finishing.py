"""The last steps of a batch: its type and range, label vectors, and the user's augmentation."""

from __future__ import annotations

from quickfit.data.graph import Dataset, Tensor, plain
from quickfit.data.imaging import finishing
from quickfit.data.imaging.choices import Choices
from quickfit.data.reading.options import Options
from quickfit.data.reading.wording import told_as_records
from quickfit.errors import UsageError

_WHITE = 255.0
# Black and white of float images, unless the user says another range.
_UNIT = (0.0, 1.0)


def finished(dataset: Dataset, options: Options, *, classes: int, is_labelled: bool) -> Dataset:
    """Return batches of (images, labels), or of images where there are no labels.

    Args:
        dataset: of uint8 images and labels.
        options: what is done with them.
        classes: how many there are; 0 where nobody knows.
        is_labelled: whether the labels mean anything.
    """
    import tensorflow as tf

    depth = label_depth(options, classes, is_labelled=is_labelled)

    @plain
    def finish(images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor] | Tensor:
        images = scaled(images, options)
        if not is_labelled:
            return images
        return images, tf.one_hot(labels, depth) if depth else labels

    if options.dtype != "uint8" or depth or not is_labelled:
        dataset = dataset.map(finish, num_parallel_calls=tf.data.AUTOTUNE)
    return augmented(dataset, options, is_labelled=is_labelled)


def scaled(images: Tensor, options: Options) -> Tensor:
    """Return uint8 images in the type and range asked for."""
    import tensorflow as tf

    if options.dtype == "uint8":
        return images
    black, white = options.scale or _UNIT
    floats = tf.cast(images, tf.float32) * ((white - black) / _WHITE) + black
    return tf.cast(floats, options.dtype)


def augmented(dataset: Dataset, options: Options, *, is_labelled: bool) -> Dataset:
    """Return the batches after the user's augmentation, as `images` does it."""
    if options.augment is None:
        return dataset
    first = dataset.element_spec[0] if is_labelled else dataset.element_spec
    choices = Choices(
        size=tuple(first.shape[1:3]),
        batch=options.batch,
        shuffle=bool(options.shuffle),
        seed=options.seed,
        augment=options.augment,
        dtype=options.dtype,
        scale=options.scale,
        resize="antialias",
        on_bad=options.on_bad,
        one_hot=bool(options.one_hot),
        drop_remainder=options.drop_remainder,
        shard=options.shard,
        repeat=options.repeat,
    )
    with told_as_records():
        return finishing.augmented(dataset, choices, has_labels=is_labelled)


def label_depth(options: Options, classes: int, *, is_labelled: bool) -> int:
    """Return how long a label vector is; 0 where labels stay numbers.

    Raises:
        UsageError: there are no labels, or nobody knows how many classes there are.
    """
    if options.one_hot is False:
        return 0
    depth = classes if options.one_hot is True else options.one_hot
    if not is_labelled or not depth:
        what = "do not say how many classes there are" if is_labelled else "have no labels"
        remedy = "Say it: one_hot=10." if is_labelled else "Leave it out."
        raise UsageError(f"records(one_hot={options.one_hot}): these records {what}. {remedy}")
    return depth
