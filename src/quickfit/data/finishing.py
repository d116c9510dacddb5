"""The end of a pipeline: scaling, augmentation, length, sharding, prefetch and its repr."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence

import numpy as np

from quickfit.data.epoch_order import EpochOrder
from quickfit.data.graph import Dataset, Tensor, tensor_from_python, without_autograph
from quickfit.data.iterator_ends import end_iterators_aside
from quickfit.data.options import Augment, PipelineOptions
from quickfit.errors import UsageError

# More do not fit on a line.
_SHOWN_CLASSES = 6


def scale_images(images: Tensor, options: PipelineOptions) -> Tensor:
    """Return uint8 images in the type and range asked for."""
    import tensorflow as tf

    if options.scale is None:
        return images
    black, white = options.scale
    floats = tf.cast(images, tf.float32) * ((white - black) / 255)
    return tf.cast(floats + black if black else floats, options.dtype)


def augment_batches(batches: Dataset, options: PipelineOptions, *, has_labels: bool) -> Dataset:
    """Return the batches after the user's augmentation, in the dtype that was asked for."""
    import tensorflow as tf

    if options.augment is None:
        return batches
    images_spec = batches.element_spec[0] if has_labels else batches.element_spec
    augment = _Augmentation(options, tuple(images_spec.shape[1:]), has_labels=has_labels)
    if not has_labels:
        batches = batches.map(without_autograph(lambda images: (images,)))

    # AutoGraph stays on here: it rewrites the user's `if` and `for` on tensors.
    def step(batch: tuple[Tensor, ...], seed: Tensor) -> Tensor | tuple[Tensor, ...]:
        images, *labels = augment(batch, seed)
        images = augment.check(images, batch[0])
        return (images, *labels) if has_labels else images

    # Without seeds of their own, random numbers come in the order of the calls: then, if the
    # same are asked for, one call at a time.
    is_free = options.seed is None or augment.takes_seed
    zipped = tf.data.Dataset.zip((batches, _augment_seeds(options.seed)))
    return zipped.map(step, num_parallel_calls=tf.data.AUTOTUNE if is_free else None)


def _augment_seeds(seed: int | None) -> Dataset:
    """Return an endless dataset of seeds for random functions, others in every epoch."""
    import tensorflow as tf

    epochs = EpochOrder(is_shuffled=False, seed=seed)

    @without_autograph
    def begun(_: Tensor) -> Tensor:
        return tensor_from_python(epochs.draw, [], tf.int32, ())

    @without_autograph
    def counted(drawn: Tensor) -> Dataset:
        numbers = tf.data.Dataset.range(tf.int32.max)
        return numbers.map(
            without_autograph(lambda number: tf.stack([drawn, tf.cast(number, tf.int32)]))
        )

    return tf.data.Dataset.from_tensors(0).map(begun).flat_map(counted)


class _Augmentation:
    """The user's function or layer, called with what it takes."""

    def __init__(
        self, options: PipelineOptions, image_shape: tuple[int, ...], *, has_labels: bool
    ) -> None:
        assert options.augment is not None
        self._augment = options.augment
        self._dtype = options.dtype
        name = getattr(options.augment, "__name__", type(options.augment).__name__)
        self._name = f"{options.function}(augment={name})"
        self._is_layer = _is_layer(self._augment)
        required = [] if self._is_layer else _required_arguments(self._augment)
        self.takes_seed = "seed" in required
        self._takes_labels = len(required) - self.takes_seed > 1
        if len(required) - self.takes_seed > 2:
            raise UsageError(
                f"{self._name}: the function needs {', '.join(required)}. It may take images, or "
                "images and labels, and one argument named seed besides; give others a default"
            )
        if self._is_layer:
            # It makes its variables now: it may not inside a pipeline.
            self._augment(np.zeros((1, *image_shape), np.float32), training=True)
        if self._takes_labels and not has_labels:
            raise UsageError(
                f"{self._name}: the function takes images and labels, and this dataset has no "
                "labels. Give a function of the images alone"
            )

    def __call__(self, batch: tuple[Tensor, ...], seed: Tensor) -> tuple[Tensor, ...]:
        if self._is_layer:
            return (self._augment(batch[0], training=True), *batch[1:])
        options = {"seed": seed} if self.takes_seed else {}
        if not self._takes_labels:
            return (self._augment(batch[0], **options), *batch[1:])
        result = self._augment(*batch, **options)
        if isinstance(result, tuple | list) and len(result) == 2:
            return result[0], result[1]
        raise UsageError(
            f"{self._name}: the function takes images and labels, so it must return both; it "
            f"returned {type(result).__name__}"
        )

    def check(self, images: Tensor, before: Tensor) -> Tensor:
        """Return augmented images in the dtype of the dataset, as many as there were."""
        import tensorflow as tf

        if images is None:
            raise UsageError(f"{self._name}: the function returned None; let it return the batch")
        images = tf.convert_to_tensor(images)
        if images.shape.rank not in (None, 4):
            raise UsageError(
                f"{self._name}: a batch of shape {tuple(before.shape)} came back as "
                f"{tuple(images.shape)}. The function gets a batch and must return a batch"
            )
        same = tf.debugging.assert_equal(
            tf.shape(images)[0],
            tf.shape(before)[0],
            f"{self._name}: the function changed the number of images in the batch",
        )
        with tf.control_dependencies([same] if same is not None else []):
            if self._dtype == "uint8" and images.dtype != tf.uint8:
                images = tf.round(tf.clip_by_value(tf.cast(images, tf.float32), 0, 255))
            return tf.identity(tf.cast(images, self._dtype))


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


def end_pipeline(
    dataset: Dataset, count: int | None, options: PipelineOptions, *, has_files: bool = True
) -> Dataset:
    """Return the dataset with its length, which `fit` shows, and iterators that end aside.

    Args:
        dataset: of batches.
        count: the images of an epoch; None where nobody knows, or some may be left out.
        options: what the user asked for.
        has_files: whether TensorFlow finds file names in the pipeline, to share them out.
    """
    import tensorflow as tf

    if count is not None:
        length = tf.data.experimental.assert_cardinality(options.steps(count))
        dataset = dataset.apply(length)
    if options.repeat:
        dataset = dataset.repeat()
    # How TensorFlow may divide the dataset among workers.
    is_share = options.shard != (0, 1)
    if is_share or not has_files:
        policies = tf.data.experimental.AutoShardPolicy
        settings = tf.data.Options()
        policy = policies.OFF if is_share else policies.DATA
        settings.experimental_distribute.auto_shard_policy = policy
        dataset = dataset.with_options(settings)
    return end_iterators_aside(dataset.prefetch(tf.data.AUTOTUNE))


def describe_dataset(
    dataset: Dataset,
    text: Callable[[Dataset], str],
    *,
    class_counts: Callable[[], Sequence[int]] | None = None,
    **facts: object,
) -> Dataset:
    """Return the same dataset, with a repr that a person can read and facts as attributes.

    Its class becomes one of its own that differs in nothing else: it stays a `tf.data.Dataset`.

    Args:
        dataset: to be described.
        text: its repr.
        class_counts: the attribute of this name, where it changes while the dataset is read.
        facts: other attributes.
    """
    kind = type(dataset)
    words: dict[str, object] = {"__repr__": text, "__str__": text}
    if class_counts is not None:
        words["class_counts"] = property(lambda _: list(class_counts()))
    dataset.__class__ = type(kind.__name__, (kind,), words)
    for name, value in facts.items():
        setattr(dataset, name, value)
    return dataset


def set_known_length(dataset: Dataset, batches: int) -> Dataset:
    """Return the same dataset; it tells a length that TensorFlow need not hold it to.

    Where damaged records are left out, nobody knows the exact one. Without any, `fit` warns that
    the data ran out.
    """
    import tensorflow as tf

    def cardinality(_: Dataset) -> object:
        return tf.constant(batches, tf.int64)

    kind = type(dataset)
    dataset.__class__ = type(kind.__name__, (kind,), {"cardinality": cardinality})
    return dataset


def format_classes(names: Sequence[str], counts: Sequence[int]) -> str:
    """Return the classes of a dataset: ` in 2 classes (cat 6, dog 4)`, or that there are none."""
    if not names or not any(counts):
        return " without labels"
    shown = [f"{name} {count:,}" for name, count in zip(names, counts, strict=True)]
    more = ["…"] if len(shown) > _SHOWN_CLASSES else []
    plural = "class" if len(names) == 1 else "classes"
    return f" in {len(names):,} {plural} ({', '.join(shown[:_SHOWN_CLASSES] + more)})"


def format_elements(dataset: Dataset) -> str:
    """Return what one element of the dataset is: `(?, 224, 224, 3) uint8 and (?,) int32`."""
    import tensorflow as tf

    parts = [_format_element(spec) for spec in tf.nest.flatten(dataset.element_spec)]
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def _format_element(spec: object) -> str:
    shape, dtype = getattr(spec, "shape", None), getattr(spec, "dtype", None)
    if shape is None or dtype is None or shape.rank is None:
        return str(spec)
    sides = ", ".join("?" if side is None else str(side) for side in shape)
    return f"({sides}{',' if shape.rank == 1 else ''}) {dtype.name}"
