"""What a trial answers, and how it can fail."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class DataKind(StrEnum):
    """What the user's data are, which is where their batch size is set."""

    DATASET = "tf.data"
    ARRAYS = "arrays"
    PY_DATASET = "PyDataset"


@dataclass(frozen=True)
class Ready:
    """A trial that has built its model and run its first steps.

    Args:
        batch: samples per step, really fed.
        samples: in the data set, or None where it does not say.
        build_s: until the model and the data were there.
        compile_s: what the first call took beyond a later one: tracing, and XLA's compiling.
        step_s: one step after that, roughly.
        parameters: of the model.
        peak_bytes: the most memory the process held so far.
        base_bytes: what it held before there was a model: Python and TensorFlow alone.
        data_kind: a value of `DataKind`; None where it is not known.
        optimizer: the name of the model's optimizer in `keras.optimizers`, if it is one of those.
        learning_rate: of it, where that is a plain number.
        is_nan: the loss was not a number after the very first step.
        own: what the model was compiled with, by the names of `Setting`.
    """

    batch: int
    samples: int | None
    build_s: float
    compile_s: float
    step_s: float
    parameters: int
    peak_bytes: int
    base_bytes: int = 0
    data_kind: str | None = None
    optimizer: str | None = None
    learning_rate: float | None = None
    is_nan: bool = False
    own: dict[str, Any] = field(default_factory=dict)  # plain values of any type


@dataclass(frozen=True)
class Block:
    """Some steps in a row, without the first moments after a pause."""

    steps: int
    samples: int
    wall_s: float
    cpu_s: float
    peak_bytes: int

    @property
    def sample_s(self) -> float:
        """Wall time of one sample."""
        return self.wall_s / self.samples

    @property
    def sample_cpu_s(self) -> float:
        """CPU time of one sample."""
        return self.cpu_s / self.samples


@dataclass(frozen=True)
class Learned:
    """How far a training came: the loss on the same samples for every setting.

    Args:
        samples: trained on since the first weights.
        before: the loss with the first weights.
        after: the loss now.
    """

    samples: int
    before: float
    after: float


class Failure(StrEnum):
    """How a trial can end."""

    OUT_OF_MEMORY = "out of memory"
    HUNG = "hung"
    CRASHED = "crashed"
    ERROR = "error"


class TrialFailed(Exception):  # noqa: N818 - it is an answer about one setting, not our failure
    """A trial did not come to its end.

    Args:
        failure: how.
        text: what is known: the child's own traceback, the signal, the last lines it wrote.
    """

    def __init__(self, failure: Failure, text: str) -> None:
        super().__init__(f"{failure}: {text}")
        self.failure = failure
        self.text = text
