"""Labelled samples from what a command line names: a folder, a pack, a file or a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from quickfit.compression.calibrating.inputs import Wanted, fitted, inputs_of
from quickfit.compression.calibration import Samples, samples_of
from quickfit.compression.graph import Graph
from quickfit.compression.sources import pictures
from quickfit.compression.sources.labelled import Labelled, labelled_of, misfit_text
from quickfit.compression.sources.npz import read_npz
from quickfit.data.speed import user_code
from quickfit.errors import UsageError

# Samples to find the scale of images with: enough to tell a trained model from one that guesses.
_SCALE_SAMPLES = 256

# Returns how often the model is right: takes images and labels.
Accuracy = Callable[[Labelled], float]


@dataclass(frozen=True)
class Limits:
    """How much is read, and by which chance."""

    most_samples: int
    seed: int = 0


def opened(target: str, graph: Graph, limits: Limits, accuracy: Accuracy) -> Labelled:
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
    wanted = inputs_of(graph)
    if user_code.looks_like_code(target):
        found = user_code.called(target)
        return labelled_of(graph, found, limits.most_samples, seed=limits.seed, where=target)
    path = Path(target)
    if not path.exists():
        raise UsageError(
            f"--data {target}: there is no such file or folder, and a function is named with a"
            " colon.\nGive a folder of class folders, a pack, a .npz file, or train.py:samples."
        )
    if path.suffix == ".npz":
        return _from_npz(path, wanted, graph, limits)
    if path.suffix == ".py":
        raise UsageError(
            f"--data {target}: which function of it returns the samples?\n"
            f"Name it: --data {target}:samples"
        )
    return _from_images(path, wanted, graph, limits, accuracy)


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
    found = user_code.called(f"{place}:__dict__").get(name)
    if not callable(found):
        raise UsageError(f"{option} {target}: there is no function '{name}' in {place}.")
    function: Callable[..., Any] = found
    return function


def without_labels(target: str, graph: Graph, limits: Limits) -> Samples:
    """Read what a target names and leave its labels out, whatever form they have.

    Raises:
        UsageError: it is neither a `.npz` file nor a function, or does not fit the model.
    """
    if user_code.looks_like_code(target):
        return samples_of(graph, user_code.called(target), seed=limits.seed)
    if Path(target).suffix == ".npz":
        return samples_of(graph, read_npz(Path(target), inputs_of(graph))[0], seed=limits.seed)
    raise UsageError(
        f"--data {target}: the labels of folders and packs are classes, and the model has"
        f" {len(graph.outputs)} outputs.\nGive a .npz file, or --data train.py:samples."
    )


def _from_npz(path: Path, wanted: list[Wanted], graph: Graph, limits: Limits) -> Labelled:
    x, y = read_npz(path, wanted)
    if fitted(wanted, x) is None:
        raise UsageError(misfit_text(wanted, x, str(path)))
    return labelled_of(graph, (x, y), limits.most_samples, seed=limits.seed, where=str(path))


def _from_images(
    path: Path, wanted: list[Wanted], graph: Graph, limits: Limits, accuracy: Accuracy
) -> Labelled:
    dataset = pictures.dataset_of(path, wanted, seed=limits.seed)
    spec = dataset.element_spec
    if not isinstance(spec, tuple) or len(spec) < 2:
        raise UsageError(
            f"{path}: there are no labels. Put the images of each class into a folder of its own:"
            f" {path}/cats, {path}/dogs."
        )
    channels = wanted[0].shape[3]
    batches = (
        (pictures.in_channels(images.numpy(), channels), labels.numpy())
        for images, labels in dataset
    )
    found = labelled_of(graph, batches, limits.most_samples, seed=limits.seed, where=str(path))
    names = tuple(map(str, getattr(dataset, "class_names", ()) or ()))
    found = replace(found, class_names=names)
    # Who takes bytes has said so; who takes floats may want them in any scale.
    return _in_scale(found, accuracy) if "float" in wanted[0].dtype else found


def _in_scale(found: Labelled, accuracy: Accuracy) -> Labelled:
    places = np.arange(min(len(found), _SCALE_SAMPLES))
    few = found.at(places)
    name, tried = pictures.best_scale(
        few.arrays[0], lambda images: accuracy(replace(few, arrays=(images,)))
    )
    images = pictures.scaled(found.arrays[0], pictures.SCALES[name])
    shown = ", ".join(f"{one}: {value:.1%}" for one, value in tried.items())
    note = (
        f"Images go in with values from {name}: so the original is right most often ({shown} of"
        f" {len(few)} samples)."
    )
    return replace(found, arrays=(images,), notes=(*found.notes, note))
