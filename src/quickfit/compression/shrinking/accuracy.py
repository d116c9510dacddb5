"""How often a model is right, whatever runs it: Keras or LiteRT."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from quickfit.compression.calibration import Samples
from quickfit.compression.graph import Graph, graph_of
from quickfit.compression.labelled_data import LabelClasses, LabelledSamples
from quickfit.compression.weighing.benchmark import without_tracing_advice
from quickfit.errors import UsageError
from quickfit.lab.statistics import NORMAL_95

# Models and arrays are `Any`: Keras has no types of its own, and arrays hold every type.

_BATCH = 128


class Predictor:
    """A `.tflite` file that is used like a Keras model: `model(x)` and `model.predict(x)`.

    Args:
        runner: runs the file.
    """

    def __init__(self, runner: Any) -> None:
        self._runner = runner

    def __call__(self, x: Any, training: bool = False) -> Any:
        """Return the outputs for a batch."""
        return self._runner(x)

    def predict(self, x: Any, **_: Any) -> Any:
        """Return the outputs for all samples."""
        return self._runner(x)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"evaluate() used .{name} of a .tflite file, which has only model(x) and"
            " model.predict(x). Compute the accuracy from what these return."
        )


def predict_outputs(model: Any, arrays: tuple[Any, ...]) -> Any:
    """Return the (single) output of a Keras model or a `Predictor` for all samples.

    A Keras model is only called: nothing of it changes, also not what `predict` would compile.
    """
    if isinstance(model, Predictor):
        return _in_batches(lambda some: model(some[0] if len(some) == 1 else list(some)), arrays)
    with without_tracing_advice():
        return _in_batches(_compile_predict(model), arrays)


def _compile_predict(model: Any) -> Callable[[tuple[Any, ...]], Any]:
    import tensorflow as tf

    graph: Graph = graph_of(model)
    function = tf.function(lambda x: model(x, training=False), reduce_retracing=True)
    return lambda some: function(_as_tensors(Samples(some).given_to(graph)))


def _as_tensors(structure: Any) -> Any:
    import keras

    return keras.tree.map_structure(keras.ops.convert_to_tensor, structure)


def _in_batches(run: Callable[[tuple[Any, ...]], Any], arrays: tuple[Any, ...]) -> Any:
    found = []
    for start in range(0, len(arrays[0]), _BATCH):
        output = run(tuple(array[start : start + _BATCH] for array in arrays))
        while isinstance(output, list | tuple | dict):
            output = next(iter(output.values() if isinstance(output, dict) else output))
        found.append(np.asarray(output))
    return np.concatenate(found)


def is_right(outputs: Any, classes: LabelClasses, *, threshold: float = 0.5) -> Any:
    """Return for each sample how much of it is right, 0 or 1 (between for pixels).

    Args:
        outputs: of a model, for all samples.
        classes: the right answers.
        threshold: from which a single number means class 1.
    """
    if classes.is_single:
        single = outputs[..., 0] if outputs.ndim > classes.codes.ndim else outputs
        found = (single > threshold).astype(np.int64)
    else:
        found = outputs.argmax(axis=-1)
    right = found == classes.codes
    # Not a number is no answer, and argmax takes it for one.
    finite = np.isfinite(outputs).reshape(len(outputs), -1).all(axis=1)
    share: Any = right.reshape(len(right), -1).mean(axis=1) * finite
    return share


def threshold_of(outputs: Any) -> float:
    """Return from where on a single number means class 1: of a probability, or of a logit."""
    is_probability = bool(np.all((outputs >= 0) & (outputs <= 1)))
    return 0.5 if is_probability else 0.0


class AccuracyMarks:
    """Marks models by how often they are right on some samples.

    Args:
        samples: what goes in.
        classes: what should come out.
        threshold: see `is_right`.
    """

    def __init__(
        self, samples: LabelledSamples, classes: LabelClasses, threshold: float = 0.5
    ) -> None:
        self.samples, self.classes, self.threshold = samples, classes, threshold

    def __call__(self, model: Any) -> float:
        """Return the share of right answers."""
        return float(self.each(model).mean())

    def __len__(self) -> int:
        return len(self.samples)

    def each(self, model: Any) -> Any:
        """Return for each sample how much of it is right."""
        outputs = predict_outputs(model, self.samples.arrays)
        return is_right(outputs, self.classes, threshold=self.threshold)


def checked_mark(value: Any, name: str) -> float:
    """Return what a function of the user's says about a model.

    Raises:
        UsageError: it is no number.
    """
    try:
        mark = float(value)
    except (TypeError, ValueError):
        mark = math.nan
    if not math.isfinite(mark):
        raise UsageError(
            f"evaluate() returned {value!r} for '{name}', and a number is needed, such as the share"
            " of right answers."
        )
    return mark


def half_width(differences: Any) -> float:
    """Return how far off a mean of differences between two models may be (95 %).

    Both saw the same samples: only those on which they differ count.
    """
    if len(differences) < 2:
        return math.inf
    width = NORMAL_95 * float(np.std(differences, ddof=1)) / math.sqrt(len(differences))
    # What has not happened in n samples may still happen in 3 of n ("rule of three", 95 %).
    return max(width, 3 / len(differences))
