"""Labelled samples from what a command line names: a folder, a pack, a file or a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from quickfit.arrays import DamagedArraysError, open_arrays
from quickfit.compression.calibration import (
    ModelInput,
    Samples,
    fit_inputs,
    model_inputs,
    samples_of,
)
from quickfit.compression.graph import Graph
from quickfit.compression.labelled_data import LabelledSamples, misfit_text, read_labelled
from quickfit.data.speed import target as user_code
from quickfit.errors import UsageError

# Samples to find the scale of images with: enough to tell a trained model from one that guesses.
_SCALE_SAMPLES = 256

# Returns how often the model is right: takes images and labels.
Accuracy = Callable[[LabelledSamples], float]


@dataclass(frozen=True)
class SampleLimits:
    """How much is read, and by which chance."""

    most_samples: int
    seed: int = 0


def read_samples(
    target: str, graph: Graph, limits: SampleLimits, accuracy: Accuracy
) -> LabelledSamples:
    """Read what a target names.

    Args:
        target: a folder of class folders, a pack, a `.npz` file, or `module:function`.
        graph: of the model that the samples are for.
        limits: of what is read.
        accuracy: of the model, to find out how it wants its images scaled.

    Raises:
        UsageError: there is nothing that could be samples with labels.
        PipelineError: images or the user's function fail.
    """
    wanted = model_inputs(graph)
    if user_code.looks_like_code(target):
        found = user_code.call_target(target)
        return read_labelled(graph, found, limits.most_samples, seed=limits.seed, where=target)
    path = Path(target)
    if not path.exists():
        raise UsageError(
            f"--data {target}: there is no such file or folder, and a function is named with a"
            " colon.\nGive a folder of class folders, a pack, a .npz file, or train.py:samples."
        )
    if path.suffix == ".npz":
        return _samples_from_npz(path, wanted, graph, limits)
    if path.suffix == ".py":
        raise UsageError(
            f"--data {target}: which function of it returns the samples?\n"
            f"Name it: --data {target}:samples"
        )
    return _samples_from_images(path, wanted, graph, limits, accuracy)


def function_named(option: str, target: str) -> Callable[..., Any]:
    """Return the function that `module:function` names, without calling it.

    Args:
        option: what it was given for, as messages name it.
        target: where it is.

    Raises:
        UsageError: there is no such function.
        PipelineError: its module cannot be imported.
    """
    place, _, name = target.rpartition(":")
    if not place or not name:
        raise UsageError(f"{option} {target}: name a function with a colon, train.py:score.")
    found = user_code.call_target(f"{place}:__dict__").get(name)
    if not callable(found):
        raise UsageError(f"{option} {target}: there is no function '{name}' in {place}.")
    function: Callable[..., Any] = found
    return function


def without_labels(target: str, graph: Graph, limits: SampleLimits) -> Samples:
    """Read what a target names and leave its labels out, whatever form they have.

    Raises:
        UsageError: it is neither a `.npz` file nor a function, or does not fit the model.
    """
    if user_code.looks_like_code(target):
        return samples_of(graph, user_code.call_target(target), seed=limits.seed)
    if Path(target).suffix == ".npz":
        return samples_of(graph, read_npz(Path(target), model_inputs(graph))[0], seed=limits.seed)
    raise UsageError(
        f"--data {target}: the labels of folders and packs are classes, and the model has"
        f" {len(graph.outputs)} outputs.\nGive a .npz file, or --data train.py:samples."
    )


def _samples_from_npz(
    path: Path, wanted: list[ModelInput], graph: Graph, limits: SampleLimits
) -> LabelledSamples:
    x, y = read_npz(path, wanted)
    if fit_inputs(wanted, x) is None:
        raise UsageError(misfit_text(wanted, x, str(path)))
    return read_labelled(graph, (x, y), limits.most_samples, seed=limits.seed, where=str(path))


def _samples_from_images(
    path: Path, wanted: list[ModelInput], graph: Graph, limits: SampleLimits, accuracy: Accuracy
) -> LabelledSamples:
    dataset = dataset_of(path, wanted, seed=limits.seed)
    spec = dataset.element_spec
    if not isinstance(spec, tuple) or len(spec) < 2:
        raise UsageError(
            f"{path}: there are no labels. Put the images of each class into a folder of its own:"
            f" {path}/cats, {path}/dogs."
        )
    channels = wanted[0].shape[3]
    batches = (
        (in_channels(images.numpy(), channels), labels.numpy()) for images, labels in dataset
    )
    found = read_labelled(graph, batches, limits.most_samples, seed=limits.seed, where=str(path))
    names = tuple(map(str, getattr(dataset, "class_names", ()) or ()))
    found = replace(found, class_names=names)
    # Who takes bytes has said so; who takes floats may want them in any scale.
    return _in_scale(found, accuracy) if "float" in wanted[0].dtype else found


def _in_scale(found: LabelledSamples, accuracy: Accuracy) -> LabelledSamples:
    places = np.arange(min(len(found), _SCALE_SAMPLES))
    few = found.at(places)
    name, tried = best_scale(few.arrays[0], lambda images: accuracy(replace(few, arrays=(images,))))
    images = scale_images(found.arrays[0], SCALES[name])
    shown = ", ".join(f"{one}: {value:.1%}" for one, value in tried.items())
    note = (
        f"Images go in with values from {name}: so the original is right most often ({shown} of"
        f" {len(few)} samples)."
    )
    return replace(found, arrays=(images,), notes=(*found.notes, note))


# Arrays are `Any`: numbers of every type.

# Pairs of names that people use, in the order of what says most about a model: samples that it was
# not trained on come first.
_PAIRS = (
    *(("x", "y"), ("x_val", "y_val"), ("x_valid", "y_valid"), ("x_test", "y_test")),
    *(("images", "labels"), ("data", "labels"), ("data", "target"), ("features", "labels")),
    *(("x", "labels"), ("test_images", "test_labels"), ("x_train", "y_train")),
    *(("train_images", "train_labels"), ("arr_0", "arr_1")),
)
_LABELS = ("y", "labels", "label", "target", "y_val", "y_test")


def read_npz(path: Path, wanted: list[ModelInput]) -> tuple[Any, Any]:
    """Return what a model takes in (a dict by input name, or an array), and the labels.

    Raises:
        UsageError: it is no such file, or has no pair of arrays in it.
    """
    try:
        with open_arrays(path) as file:
            if not hasattr(file, "files"):
                raise UsageError(f"{path}: this is a single array. {_npz_usage()}")
            return _read_pair(file, path, wanted)
    except DamagedArraysError as error:
        raise UsageError(f"{path}: it cannot be read ({error}). {_npz_usage()}") from error


def _read_pair(file: Any, path: Path, wanted: list[ModelInput]) -> tuple[Any, Any]:
    names = {name.lower(): name for name in file.files}
    inputs = {key: names[key.lower()] for one in wanted for key in one.keys if key.lower() in names}
    labels = next((names[key] for key in _LABELS if key in names), None)
    if inputs and labels is not None and len(wanted) > 1:
        return {key: file[name] for key, name in inputs.items()}, file[labels]
    for x, y in _PAIRS:
        if x in names and y in names:
            return file[names[x]], file[names[y]]
    found = ", ".join(file.files[:8]) or "nothing"
    raise UsageError(
        f"{path}: which arrays of it are samples and labels? It has {found}. {_npz_usage()}"
    )


def _npz_usage() -> str:
    return "Write it with np.savez('data.npz', x=samples, y=labels)."


# Arrays and datasets are `Any`: they have no types of their own.

# What black and white become. Nobody can see in a model file which of them it was trained with.
SCALES = {"0 to 255": (0.0, 255.0), "0 to 1": (0.0, 1.0), "-1 to 1": (-1.0, 1.0)}
# Brightness as television has it, and as Pillow and TensorFlow compute it.
_GREY = np.array([0.299, 0.587, 0.114], np.float32)
_BATCH = 64


def dataset_of(path: Path, wanted: list[ModelInput], *, seed: int) -> Any:
    """Return a dataset of (images, labels) in the size that the model takes, mixed.

    Raises:
        UsageError: the model takes no images, or none of a certain size.
        PipelineError: there are no images, or one cannot be used.
    """
    from quickfit import data

    size = image_size(wanted, path)
    options: dict[str, Any] = {"size": size, "batch": _BATCH, "seed": seed, "cache": None}
    if is_pack(path):
        return data.records(path, **options)
    return data.images(path, **options)


def is_pack(path: Path) -> bool:
    """Tell whether a path is a record file, or a folder that has some."""
    files = [path] if path.is_file() else path.iterdir() if path.is_dir() else []
    return any(".tfrecord" in file.name for file in files)


def image_size(wanted: list[ModelInput], path: Path) -> tuple[int, int]:
    """Return height and width of the images that a model takes."""
    takes = ", ".join(f"'{one.keys[0]}' {one.shape}" for one in wanted)
    if len(wanted) != 1 or len(wanted[0].shape) != 4 or wanted[0].shape[3] not in (1, 3):
        raise UsageError(
            f"{path}: these are images, and the model takes something else: {takes}.\n"
            "Give a .npz file, or a function that returns what it takes: --data train.py:samples"
        )
    height, width = wanted[0].shape[1:3]
    if height is None or width is None:
        raise UsageError(
            f"{path}: the model takes images of any size ({takes}), so somebody has to say which.\n"
            "Give a function that returns them: --data train.py:samples"
        )
    return height, width


def in_channels(images: Any, channels: int | None) -> Any:
    """Return RGB images with the number of channels that a model takes."""
    if channels != 1 or images.shape[-1] == 1:
        return images
    return np.round(images.astype(np.float32) @ _GREY)[..., None].astype(images.dtype)


def scale_images(images: Any, scale: tuple[float, float]) -> Any:
    """Return images with black and white as given instead of 0 and 255."""
    low, high = scale
    if (low, high) == (0.0, 255.0):
        return images.astype(np.float32)
    return images.astype(np.float32) * np.float32((high - low) / 255) + np.float32(low)


def best_scale(images: Any, accuracy: Callable[[Any], float]) -> tuple[str, dict[str, float]]:
    """Return the scale with which the model is right most often, and how often with each.

    Args:
        images: some of them, with values from 0 to 255.
        accuracy: of the model on images of a scale.
    """
    found = {name: accuracy(scale_images(images, scale)) for name, scale in SCALES.items()}
    return max(found, key=lambda name: found[name]), found
