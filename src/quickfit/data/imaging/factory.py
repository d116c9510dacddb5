"""`images`: image files in, batches for `fit` out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from quickfit import terminal
from quickfit.data import sources
from quickfit.data.entries import Entry, Reason, Source
from quickfit.data.imaging._graph import Dataset
from quickfit.data.imaging.choices import Augment, Choices, check_source, checked, checked_split
from quickfit.data.imaging.description import Description, described
from quickfit.data.imaging.faults import line
from quickfit.data.imaging.pipeline import Images, dataset_of
from quickfit.data.imaging.room import place_for
from quickfit.errors import PipelineError, UsageError

# A loop of links hides no image: what it leads to is listed already. An image beside class
# folders has no label to shift; Keras ignores it too.
_HARMLESS = (Reason.LINK_LOOP, Reason.NO_CLASS)


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
    options = dict(locals())
    choices = checked(options)
    shares = checked_split(split)
    check_source(source)
    opened = sources.open(
        source,
        labels=labels,
        path_column=path_column,
        label_column=label_column,
        root=root,
        keep_odd_names=True,
    )
    _check_listing(opened, choices)
    parts = _parts(opened, choices, shares)
    needed_bytes = sum(len(part) for part in parts) * choices.image_bytes
    place = place_for(cache, needed_bytes)
    datasets = []
    for number, part in enumerate(parts):
        own = choices if number == 0 else _unaltered(choices)
        listed = opened.rejected if number == 0 and choices.on_bad == "skip" else ()
        classes = tuple(opened.classes)
        datasets.append(_dataset(Images(opened, part, classes, own, place, listed)))
    return datasets[0] if shares is None else tuple(datasets)


def _check_listing(source: Source, choices: Choices) -> None:
    """Say what listing found out: as an error, or in a line."""
    for note in getattr(source, "notes", ()):
        terminal.say(note)
    lost = [item for item in source.rejected if item.reason not in _HARMLESS]
    beside = [item for item in source.rejected if item.reason is Reason.NO_CLASS]
    if beside:
        more = f" and {len(beside) - 1:,} more" if len(beside) > 1 else ""
        terminal.say(f"left out: {line(beside[0])}{more}")
    if lost and choices.on_bad == "error":
        more = f" (and {len(lost) - 1:,} more)" if len(lost) > 1 else ""
        raise PipelineError(
            f"{line(lost[0])}{more}.\n"
            'Repair or remove it, or leave such files out: images(..., on_bad="skip")'
        )
    if choices.one_hot and not source.classes:
        raise UsageError("images(one_hot=True): these images have no labels; leave it out")


def _parts(
    source: Source, choices: Choices, shares: tuple[float, ...] | None
) -> list[Sequence[Entry]]:
    """Return the images of each dataset: split first, then this worker's share of each part."""
    parts: list[Sequence[Entry]] = [source.entries]
    if shares is not None:
        # Without a seed the parts are the same in every run: no image wanders from one to another.
        parts = list(sources.split(source.entries, shares, choices.seed or 0))
    if choices.shard is not None:
        index, count = choices.shard
        parts = [part[index::count] for part in parts]
    if choices.drop_remainder and 0 < len(parts[0]) < choices.batch:
        raise UsageError(
            f"images(batch={choices.batch}, drop_remainder=True): {len(parts[0]):,} images do not "
            "fill one batch, so nothing would be left"
        )
    for number, part in enumerate(parts):
        if not part:
            raise PipelineError(
                f"part {number + 1} of {len(parts)} gets none of the {len(source.entries):,} "
                "images. Give it a larger share, more images, or fewer workers"
            )
    return parts


def _unaltered(choices: Choices) -> Choices:
    """Return the choices for data that a model is judged by: in order, as they are."""
    from dataclasses import replace

    return replace(choices, shuffle=False, augment=None, repeat=False, drop_remainder=False)


def _dataset(parts: Images) -> Dataset:
    choices = parts.choices
    _check_samples(parts)
    class_names = list(parts.classes)
    steps = [
        *(["shuffled"] if choices.shuffle else []),
        *(["augmented"] if choices.augment else []),
        f"resized ({choices.resize})",
        parts.place.reason,
    ]
    description = Description(
        parts.entries,
        class_names,
        parts.faults.rejections,
        lambda: parts.faults.left_out,
        steps,
    )
    return described(dataset_of(parts), description)


# Enough to see that nothing can be read at all, before all of it has been tried.
_SAMPLES = 5


def _check_samples(parts: Images) -> None:
    """Look at a few files at once: a wrong folder should not take an epoch to be noticed."""
    if parts.choices.on_bad == "skip":
        return
    step = max(1, len(parts.entries) // _SAMPLES)
    indices = list(range(0, len(parts.entries), step))[:_SAMPLES]
    for index in indices:
        parts.faults.check(index)
