"""The short training of what was made: on the labelled samples that are there for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from quickfit.compression.graph import Graph
from quickfit.compression.made import Made
from quickfit.compression.sources.classes import Classes
from quickfit.compression.sources.labelled import Labelled
from quickfit.compression.walking.compiling import compile_like
from quickfit.compression.walking.private import compile_arguments

# Models, losses and arrays are `Any`: Keras has no types of its own.

EPOCHS = 3


@dataclass(frozen=True)
class Lessons:
    """What students learn from.

    Args:
        graph: of the original.
        samples: to train on.
        selection: tells which epoch was best; not trained on.
        classes: the labels of both, where they are classes.
        distill: whether the original is also tried as a teacher.
        seed: of the order of samples.
    """

    graph: Graph
    samples: Labelled
    selection: Labelled
    classes: tuple[Classes, Classes] | None
    distill: bool = False
    seed: int = 0

    def taught(self, student: Any) -> Made:
        """Return a student after a short training; the best of its epochs, also the 0th."""
        from quickfit.compression.distilling import fine_tuned

        self.set_up(student)
        training, validation = self.data(self.samples, 0), self.data(self.selection, 1)
        teacher = self.graph.model if self.distill else None
        made: Made = fine_tuned(
            student,
            training,
            teacher=teacher,
            epochs=EPOCHS,
            validation=validation,
            seed=self.seed,
        )
        return made

    def data(self, samples: Labelled, part: int) -> tuple[Any, Any]:
        """Return samples and labels as `fit` takes them."""
        labels = samples.labels
        if self.classes is not None:
            labels = labels_for(_loss(self.graph.model), self.classes[part], labels)
        return samples.given_to(self.graph), labels

    def set_up(self, student: Any) -> None:
        """Compile a student like the original; where that is not compiled, for its classes."""
        compile_like(self.graph.model, student)
        if student.compiled or self.classes is None:
            return
        student.compile(loss=_loss_for(self.classes[0], self._outputs()))

    def _outputs(self) -> Any:
        from quickfit.compression.shrinking.accuracy import predictions

        few = tuple(array[:64] for array in self.samples.arrays)
        return predictions(self.graph.model, few)


def labels_for(loss: Any, classes: Classes, labels: Any) -> Any:
    """Return the labels in the form that a loss takes.

    Args:
        loss: as the model was compiled with; None where it was not.
        classes: the labels as classes.
        labels: as they came, for a loss of the user's own.
    """
    name = _name(loss)
    if loss is None or name.startswith("sparse"):
        return classes.codes
    if classes.is_single:
        return classes.codes.astype(np.float32)[..., None]
    if "crossentropy" in name or name in ("kldivergence", "categoricalhinge", "meansquarederror"):
        return np.eye(classes.count, dtype=np.float32)[classes.codes]
    return labels


def _loss(model: Any) -> Any:
    return compile_arguments(model).get("loss") if model.compiled else None


def _name(loss: Any) -> str:
    import keras

    if isinstance(loss, str):
        loss = keras.losses.get(loss)
    name = getattr(loss, "__name__", type(loss).__name__)
    return str(name).replace("_", "").lower()


def _loss_for(classes: Classes, outputs: Any) -> Any:
    """Return the loss of a model that nobody has compiled, from what it gives."""
    import keras

    has_logits = not _are_probabilities(outputs, is_single=classes.is_single)
    make: Callable[..., Any] = keras.losses.SparseCategoricalCrossentropy
    if classes.is_single:
        make = keras.losses.BinaryCrossentropy
    return make(from_logits=has_logits)


def _are_probabilities(outputs: Any, *, is_single: bool) -> bool:
    if not bool(np.all((outputs >= 0) & (outputs <= 1))):
        return False
    return is_single or bool(np.all(np.abs(outputs.sum(axis=-1) - 1) < 1e-2))
