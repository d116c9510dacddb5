"""`records`: the records of a pack, or of any TFRecord files, as a `tf.data.Dataset`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from quickfit.data.graph import Dataset
from quickfit.data.reading.files import Where, files_of, pack_in
from quickfit.data.reading.foreign import Reading, foreign_dataset
from quickfit.data.reading.options import checked
from quickfit.data.reading.packs import pack_dataset, whole_pack
from quickfit.errors import UsageError


def records(
    where: Where,
    *,
    batch: int = 32,
    shuffle: bool | int = True,
    seed: int | None = None,
    size: int | tuple[int, int] | None = None,
    resize: str = "antialias",
    features: Mapping[str, object] | None = None,
    parse: Callable[..., Any] | None = None,  # of tensors
    parse_batches: bool = False,
    compression: str | None = "auto",
    augment: Callable[..., Any] | None = None,  # of tensors, or a Keras layer
    cache: str | os.PathLike[str] | bool | None = "auto",
    dtype: str = "uint8",
    scale: tuple[float, float] | None = None,
    one_hot: bool | int = False,
    on_bad: str = "error",
    drop_remainder: bool = False,
    shard: tuple[int, int] | None = None,
    repeat: bool = False,
) -> Dataset:
    """Return a `tf.data.Dataset` of batches from a pack, or from any TFRecord files.

    A pack gives `(images, labels)`. Other files give `(images, labels)` if a `size` is asked for
    and it is obvious which fields those are (one image, and one whole number or one that is
    called label, class or target), and otherwise a dict of all fields.

    Args:
        where: a pack, a folder of TFRecord files, a pattern, or a list of files.
        batch: the records in a batch.
        shuffle: whether each epoch has an order of its own; a number says how many records are
            mixed with each other.
        seed: the same seed gives the same batches.
        size: height and width of images, or one number for both. Packs have a size of their own
            (raw) or 224 × 224; in other files images stay encoded without it.
        resize: "antialias" (smooth), "bilinear" (as `images` does by default; the fastest for
            original files), "crop" (keeps the proportions, cuts off what is too long) or "pil"
            (the pixels of `PIL.Image.resize`).
        features: the fields of other files: names and kinds ("int64", "float32[3]", "string[]",
            "image"), or features of `tf.io`. Without it they are found in the first records.
        parse: a function of one serialized record, instead of fields; what it returns is batched.
        parse_batches: whether `parse` takes a batch of serialized records at once.
        compression: "auto" looks at the files; or "GZIP", "ZLIB" or None.
        augment: a function of a batch of images, or of images and labels, or a Keras layer; of
            the whole element where it is no pair.
        cache: where decoded images of a pack are kept for later epochs: "memory", "disk", a
            folder, None, or "auto", which looks at what is free.
        dtype: "uint8" (the least work; begin the model with `keras.layers.Rescaling(1 / 255)`),
            "float32", "float16" or "bfloat16".
        scale: what black and white become with a float dtype; (0, 1) by default.
        one_hot: whether labels are vectors; for files other than packs, the number of classes.
        on_bad: "error" ends at the first damaged record and names it; "skip" goes on without
            such records and lists them in the attribute `bad_records`.
        drop_remainder: whether a last batch that is not full is left out.
        shard: `(index, count)`: only this worker's share of the records.
        repeat: whether the dataset begins again, forever.

    Returns:
        A dataset with the attribute `bad_records`, that of a pack also with `class_names` and
        `class_counts`, that of other files with `features`, to be pasted.

    Raises:
        UsageError: an option makes no sense.
        PipelineError: there is nothing to read, or it is damaged.
    """
    options = checked(
        batch=batch,
        shuffle=shuffle,
        seed=seed,
        size=size,
        resize=resize,
        shard=shard,
        cache=cache,
        dtype=dtype,
        scale=scale,
        augment=augment,
        on_bad=on_bad,
        drop_remainder=drop_remainder,
        one_hot=one_hot,
        repeat=repeat,
    )
    reading = Reading(
        features=features, parse=parse, parse_batches=parse_batches, compression=compression
    )
    folder = pack_in(where)
    if folder is None or features is not None or parse is not None:
        if cache not in ("auto", "none", None, False):
            raise UsageError(
                f"records(cache={cache!r}): only packs are cached by it. Add .cache() yourself."
            )
        return foreign_dataset(files_of(where), options, reading)
    return pack_dataset(folder, whole_pack(folder), options)
