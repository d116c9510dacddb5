"""Packs read as plain TFRecord files: where their lists, or reads at any place, are missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from quickfit.data.graph import Tensor, in_python, plain
from quickfit.data.packing.manifest import Manifest
from quickfit.data.pixels import empty_batch
from quickfit.data.reading.indexed import Opened, shape_of
from quickfit.data.reading.opening import source_of
from quickfit.data.reading.options import Options
from quickfit.data.reading.parsing import Parser
from quickfit.data.reading.rows import Pixels, Resize, Shape, fit
from quickfit.data.reading.spec import Field, Spec
from quickfit.data.reading.stream import streamed


def opened_as_stream(folder: Path, manifest: Manifest, options: Options) -> Opened:
    """Return the pipeline of a pack, made of TensorFlow's own reader.

    Raises:
        PipelineError: a shard is damaged.
    """
    shape = shape_of(manifest, options)
    source = source_of([str(folder / shard.file) for shard in manifest.shards], None, options)
    records = streamed(source.parts, options, source.faults, source.mean_bytes)
    stored = manifest.image_shape
    if stored is None:
        spec = Spec({"image": Field("image"), "label": Field("int64")})
        parser = Parser(source, spec, replace(options, size=shape[:2]))
        dataset = parser.batches(records).map(plain(_pair))
    else:
        spec = Spec({"image": Field("string"), "label": Field("int64")})
        batches = Parser(source, spec, replace(options, size=None)).batches(records)
        dataset = batches.map(_raw(stored, shape, options.resize))
    notes = ("shuffled" if options.shuffle else "in the order of the pack", "read in order")
    return Opened(dataset, shape, source.count, source.faults, notes, has_files=True)


def _pair(fields: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    import tensorflow as tf

    return fields["image"], tf.cast(fields["label"], tf.int32)


def _raw(stored: Shape, shape: Shape, resize: Resize) -> Callable[[dict[str, Tensor]], Tensor]:
    """Return the function that makes images of raw pixels."""
    import tensorflow as tf

    def resized(images: Pixels) -> Pixels:
        batch = empty_batch(len(images), shape)
        for image, out in zip(images, batch, strict=True):
            fit(image, out, resize)
        return batch

    @plain
    def pair(fields: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        flat = tf.io.decode_raw(fields["image"], tf.uint8)
        images = tf.reshape(flat, (-1, *stored))
        if stored != shape:
            (images,) = in_python(resized, [images], (tf.uint8, (None, *shape)))
        images.set_shape((fields["image"].shape[0], *shape))
        return images, tf.cast(fields["label"], tf.int32)

    return pair
