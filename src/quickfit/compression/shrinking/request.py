"""What `quickfit shrink` is asked for: files and words, checked before anything is loaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quickfit.compression.shrinking.targets import target_of
from quickfit.errors import UsageError

if TYPE_CHECKING:
    from quickfit.compression.graph import Graph
    from quickfit.compression.shrinking.shrunk import Shrunk
    from quickfit.compression.sources.labelled import Labelled


@dataclass(frozen=True)
class Request:
    """A command line.

    Args:
        model: the file of the model.
        data: what names the labelled samples.
        out: the folder of the result.
        target: what to reach, in words.
        for_training: whether steps count, and not predictions.
        budget_s: about how long it may take.
        distill: whether the original is also tried as a teacher.
        most_samples: to read.
        modules: to import before the model is loaded.
        allows_code: whether code in the model file may run.
        replaces: whether an earlier result is replaced.
        seed: of everything.
        separable: whether only separable convolutions are tried.
        evaluate: what names a function that says how good a model is.
    """

    model: Path
    data: str
    out: Path
    target: str | None = None
    for_training: bool = False
    budget_s: float = 600.0
    distill: bool = False
    most_samples: int = 20_000
    modules: tuple[str, ...] = ()
    allows_code: bool = False
    replaces: bool = False
    seed: int = 0
    separable: bool = False
    evaluate: str | None = None


def checked(request: Request) -> Request:
    """Return a request whose words are understood and whose files are there.

    Raises:
        UsageError: they are not.
        ModelError: the model file is none.
    """
    from quickfit.compression.shrinking.folder import check_folder

    target_of(request.target)
    if not request.model.exists():
        raise UsageError(f"shrink: {request.model}: there is no such file.")
    for file in (request.model, Path(request.data)):
        if file.exists() and not file.is_file() and not file.is_dir():
            raise UsageError(
                f"shrink: {file}: this is a pipe or a device, and files are read several times.\n"
                "Give an ordinary file."
            )
    if not Path(request.data).exists() and ":" not in request.data:
        raise UsageError(
            f"--data {request.data}: there is no such file or folder, and a function is named with"
            " a colon.\nGive a folder of class folders, a pack, a .npz file, or train.py:samples."
        )
    if request.evaluate is not None and ":" not in request.evaluate:
        raise UsageError(
            f"--evaluate {request.evaluate}: name a function with a colon, train.py:score."
        )
    check_folder(request.out, replaces=request.replaces)
    return request


def answered(request: Request, tell: Callable[[str], None]) -> Shrunk:
    """Load model and samples, and shrink."""
    from quickfit.compression.graph import graph_of
    from quickfit.compression.shrinking.story import shrink
    from quickfit.compression.sources.model_file import loaded
    from quickfit.compression.sources.opening import Limits, function_named, opened, without_labels

    tell(f"loading {request.model}")
    found = loaded(request.model, modules=request.modules, allows_code=request.allows_code)
    graph = graph_of(found.model)
    tell(f"reading {request.data}")
    limits = Limits(request.most_samples, request.seed)
    given: dict[str, Any] = {}
    if request.evaluate is not None:
        given["evaluate"] = function_named("--evaluate", request.evaluate)
    if given and len(graph.outputs) > 1:
        given["calibration"] = without_labels(request.data, graph, limits)
    else:
        accuracy = partial(_accuracy, graph)
        given["data"] = opened(request.data, graph, limits, accuracy)
    return shrink(
        found.model,
        **given,
        target=request.target,
        for_training=request.for_training,
        distill=request.distill,
        separable=request.separable,
        budget_s=request.budget_s,
        out=request.out,
        replaces=request.replaces,
        seed=request.seed,
        tell=tell,
        notes=found.notes,
    )


def _accuracy(graph: Graph, samples: Labelled) -> float:
    """Return how often the model is right, to find out how it wants its images."""
    from quickfit.compression.shrinking.accuracy import Marks, predictions, threshold_of
    from quickfit.compression.sources.classes import classes_of

    classes = classes_of(graph, samples.labels, names=samples.class_names)
    threshold = threshold_of(predictions(graph.model, samples.arrays)) if classes.is_single else 0.5
    return Marks(samples, classes, threshold)(graph.model)
