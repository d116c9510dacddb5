"""Writes the `tf.data` pipeline that makes the batches of an `ImageDataGenerator`."""

from __future__ import annotations

from dataclasses import dataclass

# The largest difference of a pixel, of 255, from what Pillow makes of JPEG and PNG files.
_DIFFERENCE = {"nearest": 0, "bilinear": 1}
_FLIPS = {"horizontal_flip": "left_right", "vertical_flip": "up_down"}

_NEAREST = """\
def nearest(size, new_size):
    # Pillow adds the step up, which decides where two pixels are equally near.
    step = {tf}.cast(size, {tf}.float64) / new_size
    steps = {tf}.concat([[step / 2], {tf}.fill([new_size - 1], step)], axis=0)
    return {tf}.cast({tf}.cumsum(steps), {tf}.int32)
"""


@dataclass(frozen=True)
class Loading:
    """How an iterator makes its batches.

    Args:
        is_array: its images are an array, not files.
        has_labels: it gives labels with the images.
        class_mode: which ones, for files.
        is_grey: images have one channel.
        resize: the filter.
        is_shuffled: each epoch has another order.
        seed: the code of the seed; may be empty.
        rescale: the code of the factor; may be empty.
        prepare: the code of the function for each image; may be empty.
        flips: the random flips, by the names of their arguments.
    """

    is_array: bool
    has_labels: bool
    class_mode: object
    is_grey: bool
    resize: str
    is_shuffled: bool
    seed: str
    rescale: str
    prepare: str
    flips: tuple[str, ...]

    @property
    def difference(self) -> int:
        """How far a pixel, of 255, may be from Pillow's."""
        return 0 if self.is_array else _DIFFERENCE[self.resize] + int(self.is_grey)

    @property
    def is_given_on(self) -> bool:
        """Whether nothing is done to an image."""
        return self.is_array and not (self.flips or self.rescale or self.prepare)

    @property
    def needs_helper(self) -> bool:
        """Whether the code calls a function of its own to resize."""
        return self.resize == "nearest" and not self.is_array


def code_of(
    loading: Loading, *, tf: str, iterator: str, dataset: str, function: str, has_helper: bool
) -> str:
    """Return the code that builds the pipeline, with the helper it needs unless that is there."""
    parts = []
    if loading.needs_helper and not has_helper:
        parts.append(_NEAREST.format(tf=tf).rstrip("\n"))
    if not loading.is_given_on:
        parts.append(_function(loading, tf=tf, iterator=iterator, function=function))
    parts.append(_pipeline(loading, tf, iterator, dataset, function))
    return "\n\n\n".join(parts)


def _has_labels(loading: Loading) -> bool:
    return loading.has_labels and (loading.is_array or loading.class_mode not in (None, "input"))


def _function(loading: Loading, *, tf: str, iterator: str, function: str) -> str:
    first = "image" if loading.is_array else "path"
    rows = [f"def {function}({first}{', label' if _has_labels(loading) else ''}):"]
    if not loading.is_array:
        rows += _reading(loading, tf, iterator)
    rows += [f"image = {tf}.image.random_flip_{_FLIPS[flip]}(image)" for flip in loading.flips]
    if not loading.is_array:
        rows.append(f"image = {tf}.cast(image, {tf}.float32)")
    if loading.prepare:
        rows.append(f"image = {loading.prepare}(image)")
    if loading.rescale:
        rows.append(f"image = image * ({loading.rescale})")
    rows.append(f"return {_result(loading, tf, iterator)}")
    return "\n    ".join(rows)


def _reading(loading: Loading, tf: str, iterator: str) -> list[str]:
    size = f"{iterator}.target_size"
    rows = [
        f"data = {tf}.io.read_file(path)",
        f'image = {tf}.io.decode_jpeg(data, channels=3, dct_method="INTEGER_ACCURATE")',
    ]
    if loading.is_grey:
        rows.append(f"image = {tf}.image.rgb_to_grayscale(image)")
    if loading.resize == "nearest":
        rows += [
            f"image = {tf}.gather(image, nearest({tf}.shape(image)[0], {size}[0]), axis=0)",
            f"image = {tf}.gather(image, nearest({tf}.shape(image)[1], {size}[1]), axis=1)",
        ]
    else:
        rows.append(f"image = {tf}.round({tf}.image.resize(image, {size}, antialias=True))")
    return rows


def _result(loading: Loading, tf: str, iterator: str) -> str:
    if loading.is_array:
        return "image, label" if loading.has_labels else "image"
    if loading.class_mode == "categorical":
        return f"image, {tf}.one_hot(label, len({iterator}.class_indices))"
    if loading.class_mode in ("binary", "sparse"):
        return f"image, {tf}.cast(label, {tf}.float32)"
    return {"input": "image, image", "raw": "image, label"}.get(str(loading.class_mode), "image")


def _pipeline(loading: Loading, tf: str, iterator: str, dataset: str, function: str) -> str:
    images, labels = ("x", "y") if loading.is_array else ("filepaths", "labels")
    data = f"{iterator}.{images}"
    if _has_labels(loading):
        data = f"({data}, {iterator}.{labels})"
    rows = [f"{dataset} = {tf}.data.Dataset.from_tensor_slices({data})"]
    if loading.is_shuffled:
        seed = f", seed={loading.seed}" if loading.seed else ""
        rows.append(f"{dataset} = {dataset}.shuffle({iterator}.n{seed})")
    if not loading.is_given_on:
        threads = f"num_parallel_calls={tf}.data.AUTOTUNE"
        rows.append(f"{dataset} = {dataset}.map({function}, {threads})")
    batch = f"batch({iterator}.batch_size)"
    rows.append(f"{dataset} = {dataset}.{batch}.prefetch({tf}.data.AUTOTUNE)")
    return "\n".join(rows)
