"""`records`: a pack, or any TFRecord files, in; batches for `fit` out."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from quickfit import units
from quickfit.data.finishing import (
    augment_batches,
    describe_dataset,
    end_pipeline,
    format_classes,
    format_elements,
    scale_images,
    set_known_length,
)
from quickfit.data.graph import Dataset, Tensor, tensor_from_python, without_autograph
from quickfit.data.options import PipelineOptions, Resize, check_record_options
from quickfit.data.pack_batches import PackDataset, fit_image, image_shape_of, open_indexed_pack
from quickfit.data.pack_index import check_shards, has_index, open_index
from quickfit.data.packing.manifest import Manifest, read_manifest
from quickfit.data.pixels import Pixels, Shape, empty_batch
from quickfit.data.record_fields import (
    RecordField,
    RecordSpec,
    check_features,
    infer_spec,
    spec_from_features,
)
from quickfit.data.record_files import (
    RecordSource,
    Where,
    files_of,
    open_record_files,
    pack_in,
    stream_records,
)
from quickfit.data.record_parsing import RecordParser
from quickfit.errors import PipelineError, UsageError

_Parse = Callable[..., Any]  # the user's, of tensors


def open_streamed_pack(folder: Path, manifest: Manifest, options: PipelineOptions) -> PackDataset:
    """Return the pipeline of a pack, made of TensorFlow's own reader.

    Raises:
        PipelineError: a shard is damaged.
    """
    shape = image_shape_of(manifest, options)
    source = open_record_files(
        [str(folder / shard.file) for shard in manifest.shards], None, options
    )
    records = stream_records(source.parts, options, source.faults, source.mean_bytes)
    stored = manifest.image_shape
    if stored is None:
        spec = RecordSpec({"image": RecordField("image"), "label": RecordField("int64")})
        parser = RecordParser(source, spec, replace(options, size=shape[:2]))
        dataset = parser.batches(records).map(without_autograph(_image_label_pair))
    else:
        spec = RecordSpec({"image": RecordField("string"), "label": RecordField("int64")})
        batches = RecordParser(source, spec, replace(options, size=None)).batches(records)
        dataset = batches.map(_raw_pixel_pairs(stored, shape, options.resize))
    notes = ("shuffled" if options.shuffle else "in the order of the pack", "read in order")
    return PackDataset(dataset, shape, source.count, source.faults, notes, has_files=True)


def _image_label_pair(fields: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    import tensorflow as tf

    return fields["image"], tf.cast(fields["label"], tf.int32)


def _raw_pixel_pairs(
    stored: Shape, shape: Shape, resize: Resize
) -> Callable[[dict[str, Tensor]], Tensor]:
    """Return the function that makes images of raw pixels."""
    import tensorflow as tf

    def resized(images: Pixels) -> Pixels:
        batch = empty_batch(len(images), shape)
        for image, out in zip(images, batch, strict=True):
            fit_image(image, out, resize)
        return batch

    @without_autograph
    def pair(fields: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        flat = tf.io.decode_raw(fields["image"], tf.uint8)
        images = tf.reshape(flat, (-1, *stored))
        if stored != shape:
            images = tensor_from_python(resized, [images], tf.uint8, (None, *shape))
        images.set_shape((fields["image"].shape[0], *shape))
        return images, tf.cast(fields["label"], tf.int32)

    return pair


def read_whole_pack(folder: Path) -> Manifest:
    """Return the manifest of a pack whose shards are all there.

    Raises:
        PipelineError: the pack is not whole, or empty.
    """
    manifest = read_manifest(folder)
    check_shards(folder, manifest)
    if not manifest.count:
        raise PipelineError(
            f"{folder}: the pack holds no images.\nMake another: quickfit pack SRC DST"
        )
    return manifest


def is_random_access(folder: Path, manifest: Manifest) -> bool:
    """Return whether records can be read at any place: Windows has no call for it."""
    return hasattr(os, "preadv") and has_index(folder, manifest)


def pack_dataset(folder: Path, manifest: Manifest, options: PipelineOptions) -> Dataset:
    """Return the dataset of a pack.

    Raises:
        PipelineError: its lists do not fit its shards.
    """
    if is_random_access(folder, manifest):
        pack = open_indexed_pack(open_index(folder, manifest), manifest, options)
    else:
        pack = open_streamed_pack(folder, manifest, options)
    is_labelled = any(manifest.class_counts)
    dataset = _finish_pack(
        pack.dataset, options, classes=len(manifest.classes), is_labelled=is_labelled
    )
    count = None if options.skips else pack.count
    dataset = end_pipeline(dataset, count, options, has_files=pack.has_files)
    if options.skips and not (options.repeat or options.drop_remainder):
        set_known_length(dataset, options.steps(pack.count))
    # As in `images`: what is made of this dataset holds on to what is cached.
    dataset._quickfit_shelf = pack.shelf
    text = _describe_pack(dataset, manifest, pack, options)
    return describe_dataset(
        dataset,
        lambda _: text,
        class_names=list(manifest.classes),
        class_counts=lambda: manifest.class_counts,
        bad_records=pack.faults.rejections,
    )


def _describe_pack(
    dataset: Dataset, manifest: Manifest, pack: PackDataset, options: PipelineOptions
) -> str:
    index, workers = options.shard
    part = f"worker {index} of {workers}: " if workers > 1 else ""
    stored = f"{units.size(manifest.bytes)} in {manifest.form} form"
    augmented = ("augmented",) if options.augment else ()
    steps = ", ".join((*pack.notes, *augmented))
    classes = format_classes(manifest.classes, manifest.class_counts)
    return (
        f"<records: {part}{pack.count:,} images{classes}, {stored} "
        f"→ {format_elements(dataset)}, {steps}>"
    )


def _finish_pack(
    dataset: Dataset, options: PipelineOptions, *, classes: int, is_labelled: bool
) -> Dataset:
    """Return batches of (images, labels), or of images where there are no labels.

    Args:
        dataset: of uint8 images and labels.
        options: what is done with them.
        classes: how many there are; 0 where nobody knows.
        is_labelled: whether the labels mean anything.
    """
    import tensorflow as tf

    depth = _label_depth(options, classes, is_labelled=is_labelled)

    @without_autograph
    def finish(images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor] | Tensor:
        images = scale_images(images, options)
        if not is_labelled:
            return images
        return images, tf.one_hot(labels, depth) if depth else labels

    if options.dtype != "uint8" or depth or not is_labelled:
        dataset = dataset.map(finish, num_parallel_calls=tf.data.AUTOTUNE)
    return augment_batches(dataset, options, has_labels=is_labelled)


def _label_depth(options: PipelineOptions, classes: int, *, is_labelled: bool) -> int:
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


@dataclass(frozen=True, kw_only=True)
class RecordReading:
    """How the user wants records to be read.

    Args:
        features: their fields, or None to find them.
        parse: a function of serialized records, instead of fields.
        parse_batches: whether it takes a batch of them.
        compression: of the files, or "auto".
    """

    features: object = None
    parse: _Parse | None = None
    parse_batches: bool = False
    compression: str | None = "auto"


def tfrecord_dataset(
    files: Sequence[str], options: PipelineOptions, reading: RecordReading
) -> Dataset:
    """Return the dataset of record files.

    Raises:
        PipelineError: the files, or records in them, cannot be read.
        UsageError: options do not go together.
    """
    if reading.parse is not None:
        _check_parse(options, reading)
    source = open_record_files(files, reading.compression, options)
    records = stream_records(source.parts, options, source.faults, source.mean_bytes)
    if reading.parse is not None:
        is_batched = reading.parse_batches
        dataset = _parsed_by_user(records, options, reading.parse, parse_batches=is_batched)
        spec = None
    else:
        spec = _find_spec(source, options, reading)
        dataset = _training_batches(
            RecordParser(source, spec, options).batches(records), spec, options
        )
    count = source.count if source.is_counted and not options.skips else None
    dataset = end_pipeline(dataset, count, options)
    if options.skips and source.is_counted and not (options.repeat or options.drop_remainder):
        set_known_length(dataset, options.steps(source.count))
    text = _describe_files(dataset, source, spec, options)
    return describe_dataset(
        dataset,
        lambda _: text,
        features=None if spec is None else {name: str(f) for name, f in spec.fields.items()},
        bad_records=source.faults.rejections,
    )


def _check_parse(options: PipelineOptions, reading: RecordReading) -> None:
    if not callable(reading.parse):
        raise UsageError(f"records(parse={reading.parse!r}): it must be a function of one record.")
    taken = {
        "features": reading.features is not None,
        "size": options.size is not None,
        "dtype": options.dtype != "uint8",
        "one_hot": options.one_hot is not False,
    }
    if others := [name for name, is_given in taken.items() if is_given]:
        raise UsageError(
            f"records(parse=..., {others[0]}=...): what parse returns is passed on as it is. "
            f"Do it in that function, and leave {' and '.join(others)} out."
        )


def _parsed_by_user(
    records: Dataset, options: PipelineOptions, parse: _Parse, *, parse_batches: bool
) -> Dataset:
    import tensorflow as tf

    parallel = {
        "num_parallel_calls": tf.data.AUTOTUNE,
        "deterministic": options.is_reproducible,
    }
    # AutoGraph stays on here: it rewrites the user's `if` and `for` on tensors.
    if parse_batches:
        batches = records.batch(options.batch, drop_remainder=options.drop_remainder)
        dataset = batches.map(parse, **parallel)
    else:
        single = records.map(parse, **parallel)
        dataset = single.batch(options.batch, drop_remainder=options.drop_remainder)
    return dataset if options.augment is None else dataset.map(options.augment, **parallel)


def _find_spec(
    source: RecordSource, options: PipelineOptions, reading: RecordReading
) -> RecordSpec:
    """Return the fields; which of those given as features of `tf.io` are images is looked up."""
    if reading.features is None:
        spec = infer_spec(source.compressions)
    else:
        spec = spec_from_features(reading.features)
        check_features(spec, source.compressions)
    if options.size is None:
        return spec
    if any(_may_be_image(field) for field in spec.fields.values()):
        found = infer_spec(source.compressions).fields
        image = RecordField("image")
        fields = {
            name: found[name] if _may_be_image(field) and found.get(name) == image else field
            for name, field in spec.fields.items()
        }
        spec = replace(spec, fields=fields)
    if not spec.images:
        raise UsageError(
            f"records(size={options.size}): no field holds an image. The fields are {spec}\n"
            'Name the image if there is one: features={"image": "image", "label": "int64"}.'
        )
    return spec


def _may_be_image(field: object) -> bool:
    import tensorflow as tf

    is_single = isinstance(field, tf.io.FixedLenFeature) and not list(field.shape)
    return is_single and field.dtype == tf.string  # type: ignore[attr-defined]


def _training_batches(batches: Dataset, spec: RecordSpec, options: PipelineOptions) -> Dataset:
    """Return the batches as the user trains on them: (image, label) if both are obvious."""
    import tensorflow as tf

    pair = spec.pair if options.size else None
    if pair is None:
        return _field_batches(batches, spec, options)
    image, label = pair
    depth = _label_depth(options, 0, is_labelled=True)

    @without_autograph
    def paired(fields: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        labels = tf.one_hot(fields[label], depth) if depth else fields[label]
        return scale_images(fields[image], options), labels

    dataset = batches.map(paired, num_parallel_calls=tf.data.AUTOTUNE)
    return augment_batches(dataset, options, has_labels=True)


def _field_batches(batches: Dataset, spec: RecordSpec, options: PipelineOptions) -> Dataset:
    import tensorflow as tf

    if options.one_hot is not False:
        raise UsageError(
            f"records(one_hot={options.one_hot}): there is no pair of an image and its label, so "
            f"records come as a dict of fields: {spec}\n"
            "Give size=(224, 224) to decode images, or the two fields you want in features."
        )
    if options.size and options.dtype != "uint8":

        @without_autograph
        def in_range(fields: dict[str, Tensor]) -> dict[str, Tensor]:
            return fields | {name: scale_images(fields[name], options) for name in spec.images}

        batches = batches.map(in_range, num_parallel_calls=tf.data.AUTOTUNE)
    if options.augment is None:
        return batches
    return batches.map(options.augment, num_parallel_calls=tf.data.AUTOTUNE)


def _describe_files(
    dataset: Dataset, source: RecordSource, spec: RecordSpec | None, options: PipelineOptions
) -> str:
    files = f"{len(source.parts):,} file{'s' if len(source.parts) != 1 else ''}"
    size = f" ({units.size(source.bytes)})" if source.bytes else ""
    count = f"{source.count:,} records" if source.is_counted else "records"
    order = "shuffled" if options.shuffle else "in the order of the files"
    fields = ""
    if spec is not None:
        fields = f"\n  fields{' found in the first records' if spec.is_found else ''}: {spec}"
    return f"<records: {count} in {files}{size} → {format_elements(dataset)}, {order}{fields}>"


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
    options = check_record_options(locals())
    reading = RecordReading(
        features=features, parse=parse, parse_batches=parse_batches, compression=compression
    )
    folder = pack_in(where)
    if folder is None or features is not None or parse is not None:
        if cache not in ("auto", "none", None, False):
            raise UsageError(
                f"records(cache={cache!r}): only packs are cached by it. Add .cache() yourself."
            )
        return tfrecord_dataset(files_of(where), options, reading)
    return pack_dataset(folder, read_whole_pack(folder), options)
