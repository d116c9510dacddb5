"""The records of any TFRecord files as batches: of (image, label), or of fields by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from quickfit import units
from quickfit.data.graph import Dataset, Tensor, plain
from quickfit.data.reading.agreement import check_given
from quickfit.data.reading.described import described, elements, with_length
from quickfit.data.reading.ending import ended, steps
from quickfit.data.reading.finishing import augmented, label_depth, scaled
from quickfit.data.reading.inference import inferred
from quickfit.data.reading.opening import Source, source_of
from quickfit.data.reading.options import Options
from quickfit.data.reading.parsing import Parser
from quickfit.data.reading.spec import Field, Spec, given
from quickfit.data.reading.stream import streamed
from quickfit.errors import UsageError

Parse = Callable[..., Any]  # the user's, of tensors


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How the user wants records to be read.

    Args:
        features: their fields, or None to find them.
        parse: a function of serialized records, instead of fields.
        parse_batches: whether it takes a batch of them.
        compression: of the files, or "auto".
    """

    features: object = None
    parse: Parse | None = None
    parse_batches: bool = False
    compression: str | None = "auto"


def foreign_dataset(files: Sequence[str], options: Options, reading: Reading) -> Dataset:
    """Return the dataset of record files.

    Raises:
        PipelineError: the files, or records in them, cannot be read.
        UsageError: options do not go together.
    """
    if reading.parse is not None:
        _check_parse(options, reading)
    source = source_of(files, reading.compression, options)
    records = streamed(source.parts, options, source.faults, source.mean_bytes)
    if reading.parse is not None:
        is_batched = reading.parse_batches
        dataset = _by_user(records, options, reading.parse, parse_batches=is_batched)
        spec = None
    else:
        spec = _spec(source, options, reading)
        dataset = _shaped(Parser(source, spec, options).batches(records), spec, options)
    count = source.count if source.is_counted and not options.skips else None
    dataset = ended(dataset, count, options)
    if options.skips and source.is_counted and not (options.repeat or options.drop_remainder):
        with_length(dataset, steps(source.count, options))
    return described(
        dataset,
        _text(dataset, source, spec, options),
        features=None if spec is None else {name: str(f) for name, f in spec.fields.items()},
        bad_records=source.faults.found,
    )


def _check_parse(options: Options, reading: Reading) -> None:
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


def _by_user(records: Dataset, options: Options, parse: Parse, *, parse_batches: bool) -> Dataset:
    import tensorflow as tf

    parallel = {
        "num_parallel_calls": tf.data.AUTOTUNE,
        "deterministic": options.is_reproducible,
    }
    # Not `plain`: AutoGraph rewrites the user's `if` and `for` on tensors.
    if parse_batches:
        batches = records.batch(options.batch, drop_remainder=options.drop_remainder)
        dataset = batches.map(parse, **parallel)
    else:
        single = records.map(parse, **parallel)
        dataset = single.batch(options.batch, drop_remainder=options.drop_remainder)
    return dataset if options.augment is None else dataset.map(options.augment, **parallel)


def _spec(source: Source, options: Options, reading: Reading) -> Spec:
    """Return the fields; which of those given as features of `tf.io` are images is looked up."""
    if reading.features is None:
        spec = inferred(source.compressions)
    else:
        spec = given(reading.features)
        check_given(spec, source.compressions)
    if options.size is None:
        return spec
    if any(_may_be_image(field) for field in spec.fields.values()):
        found = inferred(source.compressions).fields
        fields = {
            name: found[name] if _may_be_image(field) and _is_image(found.get(name)) else field
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


def _is_image(field: object) -> bool:
    return field == Field("image")


def _shaped(batches: Dataset, spec: Spec, options: Options) -> Dataset:
    """Return the batches as the user trains on them: (image, label) if both are obvious."""
    import tensorflow as tf

    pair = spec.pair if options.size else None
    if pair is None:
        return _fields(batches, spec, options)
    image, label = pair
    depth = label_depth(options, 0, is_labelled=True)

    @plain
    def paired(fields: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        labels = tf.one_hot(fields[label], depth) if depth else fields[label]
        return scaled(fields[image], options), labels

    dataset = batches.map(paired, num_parallel_calls=tf.data.AUTOTUNE)
    return augmented(dataset, options, is_labelled=True)


def _fields(batches: Dataset, spec: Spec, options: Options) -> Dataset:
    import tensorflow as tf

    if options.one_hot is not False:
        raise UsageError(
            f"records(one_hot={options.one_hot}): there is no pair of an image and its label, so "
            f"records come as a dict of fields: {spec}\n"
            "Give size=(224, 224) to decode images, or the two fields you want in features."
        )
    if options.size and options.dtype != "uint8":

        @plain
        def in_range(fields: dict[str, Tensor]) -> dict[str, Tensor]:
            return fields | {name: scaled(fields[name], options) for name in spec.images}

        batches = batches.map(in_range, num_parallel_calls=tf.data.AUTOTUNE)
    if options.augment is None:
        return batches
    return batches.map(options.augment, num_parallel_calls=tf.data.AUTOTUNE)


def _text(dataset: Dataset, source: Source, spec: Spec | None, options: Options) -> str:
    files = f"{len(source.parts):,} file{'s' if len(source.parts) != 1 else ''}"
    size = f" ({units.size(source.bytes)})" if source.bytes else ""
    count = f"{source.count:,} records" if source.is_counted else "records"
    order = "shuffled" if options.shuffle else "in the order of the files"
    fields = ""
    if spec is not None:
        fields = f"\n  fields{' found in the first records' if spec.is_found else ''}: {spec}"
    return f"<records: {count} in {files}{size} → {elements(dataset)}, {order}{fields}>"
