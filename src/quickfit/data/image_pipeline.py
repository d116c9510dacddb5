"""`images`: image files in, batches for `fit` out."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quickfit import terminal
from quickfit.data import sources
from quickfit.data.cache import CachePlace, ImageCache, cached_batches, find_cache_place, new_shelf
from quickfit.data.entries import NO_LABEL, Entry, Reason, Rejection, Source, SourceImageError
from quickfit.data.epoch_order import EpochOrder, places_of
from quickfit.data.faults import ImageFaults, drop_faulty_images, format_rejection
from quickfit.data.finishing import (
    augment_batches,
    describe_dataset,
    end_pipeline,
    format_classes,
    format_elements,
    scale_images,
)
from quickfit.data.graph import Dataset, Tensor, tensor_from_python, without_autograph
from quickfit.data.image_decoding import image_loader, is_native, native_batch_loader
from quickfit.data.options import (
    Augment,
    PipelineOptions,
    check_image_options,
    check_source,
    check_split,
)
from quickfit.errors import PipelineError, UsageError
from quickfit.machine import whole_cores

_FORMATS = {
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".png": "PNG",
    ".gif": "GIF",
    ".bmp": "BMP",
    ".webp": "WebP",
    ".avif": "AVIF",
}
# A loop of links hides no image: what it leads to is listed already. An image beside class
# folders has no label to shift; Keras ignores it too.
_HARMLESS = (Reason.LINK_LOOP, Reason.NO_CLASS)
# Enough to see that nothing can be read at all, before all of it has been tried.
_SAMPLES = 5


@dataclass
class ImagePipeline:
    """The images of one dataset, and what is remembered of them between epochs.

    Args:
        source: reads them.
        entries: the images.
        classes: the name of each label.
        options: how they become batches.
        place: where decoded images are cached.
        listed: what listing has left out.
    """

    source: Source
    entries: Sequence[Entry]
    classes: tuple[str, ...]
    options: PipelineOptions
    place: CachePlace
    listed: Sequence[Rejection] = ()

    def __post_init__(self) -> None:
        self.epochs = EpochOrder(is_shuffled=bool(self.options.shuffle), seed=self.options.seed)
        self.load = image_loader(self.options.resize, *self.options.image_shape[:2])
        skips = self.options.skips
        self.faults = ImageFaults(
            self.source, self.entries, skips=skips, load=self.load, listed=self.listed
        )

    def labels(self) -> NDArray[np.int64 | np.int32] | None:
        """Return the label of each image; None if no image has one."""
        labels = np.fromiter((entry.label for entry in self.entries), np.int64, len(self.entries))
        return labels.astype(np.int32) if (labels != NO_LABEL).any() else None

    def read(self, index: np.int64) -> bytes:
        """Return the file of an image; nothing, which is no image, if it cannot be read."""
        try:
            return self.source.read(self.entries[int(index)])
        except SourceImageError:
            return b""


def build_dataset(images: ImagePipeline) -> Dataset:
    """Return the dataset of finished batches."""

    options = images.options
    batches = _decoded_batches(images)
    shelf = new_shelf(images.place, len(images.entries), options.image_shape)
    if shelf is not None:
        cache = ImageCache(shelf, len(images.entries))
        batches = cached_batches(batches, cache, images.epochs, images.faults, options)
    if options.drop_remainder:
        batches = _whole_batches(batches, options.batch)
    labels = images.labels()
    batches = _label_batches(batches, options, labels, len(images.classes))
    batches = augment_batches(batches, options, has_labels=labels is not None)
    count = None if options.skips else len(images.entries)
    dataset = end_pipeline(batches, count, options, has_files=False)
    # What is made of this dataset, and every iterator, holds on to it, and so to what is cached.
    # TensorFlow itself never lets go of a Python function that was once part of a pipeline.
    dataset._quickfit_shelf = shelf
    return dataset


def _decoded_batches(images: ImagePipeline) -> Dataset:
    """Return batches of `(index, image)` from the files."""
    import tensorflow as tf

    count = len(images.entries)
    if is_native(images.options):
        batches = _native_batches(images, count)
        return drop_faulty_images(batches, images.faults, images.epochs, count)
    read = _file_reader(images)

    @without_autograph
    def load(place: Tensor) -> tuple[Tensor, Tensor]:
        return place, images.load(read(place[2]))

    single = places_of(images.epochs, count).map(load, num_parallel_calls=tf.data.AUTOTUNE)
    if images.faults.skips:
        batches = single.ignore_errors(log_warning=False).batch(images.options.batch)
    else:
        # Nothing between `map` and `batch`, so that TensorFlow decodes into the batch itself.
        # The batch that a bad file is in is missing then, which is enough to find the file.
        batches = single.batch(images.options.batch).ignore_errors(log_warning=False)
    return drop_faulty_images(batches, images.faults, images.epochs, count)


def _native_batches(images: ImagePipeline, count: int) -> Dataset:
    """Return batches of `(place, image)`, without those that a bad file is in."""
    import tensorflow as tf

    options = images.options
    load = native_batch_loader(images.source, images.entries, options.image_shape[:2])

    @without_autograph
    def loaded(places: Tensor) -> tuple[Tensor, Tensor]:
        shape = (None, *options.image_shape)
        return places, tensor_from_python(load, [places[:, 2]], tf.uint8, shape)

    batches = places_of(images.epochs, count).batch(options.batch)
    # Of calls this long, AUTOTUNE tries one at a time for seconds at the start of every epoch.
    batches = batches.map(loaded, num_parallel_calls=whole_cores())
    return batches.ignore_errors(log_warning=False)


def _file_reader(images: ImagePipeline) -> Callable[[Tensor], Tensor]:
    """Return the function that reads the file of an image inside the graph."""
    import tensorflow as tf

    if any(entry.offset >= 0 for entry in images.entries):
        return lambda index: tensor_from_python(images.read, [index], tf.string, ())
    files = [os.fsencode(os.path.abspath(entry.file)) for entry in images.entries]
    with tf.device("CPU"):  # where pipelines run, also on a machine with a GPU
        paths = tf.constant(files)
    return lambda index: tf.io.read_file(tf.gather(paths, index))


def _label_batches(
    batches: Dataset, options: PipelineOptions, labels: NDArray[Any] | None, class_count: int
) -> Dataset:
    """Return batches of `(index, image)` as `(images, labels)`, or images alone without labels.

    Args:
        batches: decoded.
        options: how they are scaled, and what labels become.
        labels: of all images, by index (`Any`: the width of the numbers varies).
        class_count: the length of a one-hot label.
    """
    import tensorflow as tf

    with tf.device("CPU"):  # where pipelines run, also on a machine with a GPU
        all_labels = None if labels is None else tf.constant(labels)

    @without_autograph
    def finish(indices: Tensor, images: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        scaled = scale_images(images, options)
        if all_labels is None:
            return scaled
        own = tf.gather(all_labels, indices)
        return scaled, tf.one_hot(own, class_count) if options.one_hot else own

    return batches.map(finish, num_parallel_calls=tf.data.AUTOTUNE)


def _whole_batches(batches: Dataset, batch: int) -> Dataset:
    """Return the batches that are full, with their size in their shape."""
    import tensorflow as tf

    @without_autograph
    def shaped(indices: Tensor, images: Tensor) -> tuple[Tensor, Tensor]:
        whole = tf.ensure_shape(images, (batch, *images.shape[1:]))
        return tf.ensure_shape(indices, (batch,)), whole

    is_full = without_autograph(lambda indices, _images: tf.size(indices) == batch)
    return batches.filter(is_full).map(shaped)


def images(
    source: object,
    labels: object = None,
    *,
    size: int | tuple[int, int] = (224, 224),
    batch: int = 32,
    shuffle: bool = True,
    seed: int | None = None,
    split: float | Sequence[float] | None = None,
    augment: Augment | None = None,
    cache: str | os.PathLike[str] | bool | None = "auto",
    dtype: str = "uint8",
    scale: tuple[float, float] | None = None,
    resize: str = "bilinear",
    on_bad: str = "error",
    one_hot: bool = False,
    path_column: str | int | None = None,
    label_column: str | int | None = None,
    root: str | os.PathLike[str] | None = None,
    drop_remainder: bool = False,
    shard: tuple[int, int] | None = None,
    repeat: bool = False,
) -> Any:  # a tf.data.Dataset, which has no types, or a tuple of them
    """Return a `tf.data.Dataset` of batches from image files, as fast as TensorFlow can make it.

    Args:
        source: a folder of class folders, an archive of them (zip or plain tar; `pack` reads a
            compressed tar), a list of paths, a DataFrame, or a CSV or text file of paths.
        labels: one per image, where the source does not tell them; False for none.
        size: height and width of the batches, or one number for both.
        batch: the images in a batch.
        shuffle: whether each epoch has a random order of its own.
        seed: the same seed gives the same batches, in every process. With it, `augment` runs one
            batch at a time.
        split: the share of the validation part (`0.2`), or the shares of all parts; a dataset
            for each is returned. Each class is split in these shares, always in the same way
            for the same seed. Only the first part is shuffled and augmented.
        augment: a function of a batch of images, or of images and labels, or a Keras layer; it
            gets what the model would get, and its result is brought back to `dtype`.
        cache: where decoded images are kept for later epochs: "memory", "disk", a folder, None,
            or "auto", which looks at what is free.
        dtype: "uint8" (the least work; begin the model with `keras.layers.Rescaling(1 / 255)`),
            "float32", "float16" or "bfloat16".
        scale: what black and white become with a float dtype; (0, 1) by default.
        resize: "bilinear" (fastest), "antialias" (smooth), "crop" (keeps the proportions, cuts
            off what is too long) or "pil" (the pixels of `PIL.Image.resize`).
        on_bad: "error" ends at the first file that cannot be used and names it; "skip" goes on
            without such files and lists them in the attribute `bad_files`.
        one_hot: whether labels are vectors.
        path_column: the column of paths in a table.
        label_column: the column of labels in a table.
        root: the folder that relative paths of a table or list start from.
        drop_remainder: whether a last batch that is not full is left out.
        shard: `(index, count)`: only this worker's share of the images.
        repeat: whether the dataset begins again, forever.

    Returns:
        A dataset of `(images, labels)`, or of images alone without labels, with the attributes
        `class_names`, `class_counts`, `file_paths` and `bad_files`; with `split`, a tuple of them.

    Raises:
        UsageError: an option makes no sense.
        PipelineError: there is nothing to read, or a file cannot be used.
    """
    options = check_image_options(locals())
    shares = check_split(split)
    check_source(source)
    opened = sources.open_source(
        source,
        labels=labels,
        path_column=path_column,
        label_column=label_column,
        root=root,
        keep_odd_names=True,
    )
    _check_listing(opened, options)
    parts = _split_entries(opened, options, shares)
    needed_bytes = sum(len(part) for part in parts) * math.prod(options.image_shape)
    place = find_cache_place(cache, needed_bytes, function="images")
    datasets = []
    for number, part in enumerate(parts):
        own = options if number == 0 else _evaluation_options(options)
        listed = opened.rejected if number == 0 and options.skips else ()
        classes = tuple(opened.classes)
        datasets.append(_describe_images(ImagePipeline(opened, part, classes, own, place, listed)))
    return datasets[0] if shares is None else tuple(datasets)


def _check_listing(source: Source, options: PipelineOptions) -> None:
    """Say what listing found out: as an error, or in a line."""
    for note in getattr(source, "notes", ()):
        terminal.say(note)
    lost = [item for item in source.rejected if item.reason not in _HARMLESS]
    beside = [item for item in source.rejected if item.reason is Reason.NO_CLASS]
    if beside:
        more = f" and {len(beside) - 1:,} more" if len(beside) > 1 else ""
        terminal.say(f"left out: {format_rejection(beside[0])}{more}")
    if lost and not options.skips:
        more = f" (and {len(lost) - 1:,} more)" if len(lost) > 1 else ""
        raise PipelineError(
            f"{format_rejection(lost[0])}{more}.\n"
            'Repair or remove it, or leave such files out: images(..., on_bad="skip")'
        )
    if options.one_hot and not source.classes:
        raise UsageError("images(one_hot=True): these images have no labels; leave it out")


def _split_entries(
    source: Source, options: PipelineOptions, shares: tuple[float, ...] | None
) -> list[Sequence[Entry]]:
    """Return the images of each dataset: split first, then this worker's share of each part."""
    parts: list[Sequence[Entry]] = [source.entries]
    if shares is not None:
        # Without a seed the parts are the same in every run: no image wanders from one to another.
        parts = list(sources.split_entries(source.entries, shares, options.seed or 0))
    index, workers = options.shard
    if workers > 1:
        parts = [part[index::workers] for part in parts]
    if options.drop_remainder and 0 < len(parts[0]) < options.batch:
        raise UsageError(
            f"images(batch={options.batch}, drop_remainder=True): {len(parts[0]):,} images do not "
            "fill one batch, so nothing would be left"
        )
    for number, part in enumerate(parts):
        if not part:
            raise PipelineError(
                f"part {number + 1} of {len(parts)} gets none of the {len(source.entries):,} "
                "images. Give it a larger share, more images, or fewer workers"
            )
    return parts


def _evaluation_options(options: PipelineOptions) -> PipelineOptions:
    """Return the options for data that a model is judged by: in order, as they are."""
    from dataclasses import replace

    return replace(options, shuffle=False, augment=None, repeat=False, drop_remainder=False)


def _describe_images(images: ImagePipeline) -> Dataset:
    """Return the dataset with its attributes and its repr."""
    _check_samples(images)
    options, rejections = images.options, images.faults.rejections
    names = list(images.classes)
    shuffled = ["shuffled"] if options.shuffle else []
    augmented = ["augmented"] if options.augment else []
    steps = [*shuffled, *augmented, f"resized ({options.resize})", images.place.reason]

    def class_counts() -> list[int]:
        """Return the images of each class, without those that are known to be bad."""
        bad = images.faults.left_out
        labels = (entry.label for n, entry in enumerate(images.entries) if n not in bad)
        counts = Counter(labels)
        return [counts[label] for label in range(len(names))]

    def text(dataset: Dataset) -> str:
        count = len(images.entries) - len(images.faults.left_out)
        bad = len(rejections)
        left_out = f", {bad:,} {'file' if bad == 1 else 'files'} left out" if bad else ""
        return (
            f"<images: {count:,} {image_format_name(images.entries)}"
            f"{format_classes(names, class_counts())}{left_out}"
            f" → {', '.join([format_elements(dataset), *steps])}>"
        )

    return describe_dataset(
        build_dataset(images),
        text,
        class_counts=class_counts,
        class_names=names,
        bad_files=rejections,
        file_paths=[entry.file for entry in images.entries],
    )


def image_format_name(entries: Sequence[Entry]) -> str:
    """Return the format of all images, or `images` where they have several."""
    suffixes = {entry.name[entry.name.rfind(".") :].lower() for entry in entries}
    formats = {_FORMATS.get(suffix, "images") for suffix in suffixes}
    return formats.pop() if len(formats) == 1 else "images"


def _check_samples(parts: ImagePipeline) -> None:
    """Look at a few files at once: a wrong folder should not take an epoch to be noticed."""
    if parts.options.skips:
        return
    step = max(1, len(parts.entries) // _SAMPLES)
    indices = list(range(0, len(parts.entries), step))[:_SAMPLES]
    for index in indices:
        parts.faults.check(index)
