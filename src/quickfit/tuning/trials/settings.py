"""What goes to a trial and comes back: settings, recipes, orders, answers and failures."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Setting:
    """What differs from the user's own way; `None` is as the user has it.

    Args:
        batch: samples per step.
        jit: compile the step with XLA.
        steps_per_execution: steps per call from Python.
        policy: the dtype policy, for example "mixed_bfloat16".
        intra_threads: threads inside one operation.
        inter_threads: operations at the same time.
        in_memory: feed batches that were made before, so that the input costs nothing.
    """

    batch: int | None = None
    jit: bool | None = None
    steps_per_execution: int | None = None
    policy: str | None = None
    intra_threads: int | None = None
    inter_threads: int | None = None
    in_memory: bool | None = None

    @property
    def is_as_it_was(self) -> bool:
        """Whether nothing is changed at all."""
        return self == Setting()

    def with_all(self, other: Setting) -> Setting:
        """Return this setting with everything that the other one changes."""
        return replace(self, **other.changed())

    def changed(self) -> dict[str, Any]:
        """Return what is changed, by name."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in named.items() if value is not None}

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values, for `from_json` on the other side of a pipe."""
        return asdict(self)

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> Setting:
        """Return what `as_json` gave."""
        return cls(**plain)


class RecipeKind(StrEnum):
    """Where the model and the data come from."""

    NAME = "name"
    FUNCTION = "function"
    MODEL = "model"


@dataclass(frozen=True)
class TrialRecipe:
    """What every child of a comparison builds anew.

    Args:
        kind: where it comes from.
        name: what to call it in messages; for `Kind.NAME` also where it is.
        cwd: the folder the child works in.
        payload: a function, pickled.
        folder: holds samples of the data, and for `Kind.MODEL` the saved model.
        batch_size: samples per step where the data are arrays; 32 as `fit` has it otherwise.
    """

    kind: RecipeKind
    name: str
    cwd: Path
    payload: bytes = b""
    folder: Path | None = None
    batch_size: int | None = None

    @property
    def keeps_input(self) -> bool:
        """Whether the child's input is the user's own pipeline, not samples kept of it."""
        return self.folder is None


@dataclass(frozen=True)
class TrialOrder:
    """One recipe and one setting, as a child knows them.

    Args:
        kind: where the model and the data come from.
        name: what to call it in messages; for `Kind.NAME` also where it is.
        path: of the pickled function, or of the folder with the model and its data.
        batch_size: samples per step where the data are arrays.
        setting: what is different from the user's own way.
        scratch: a folder that is removed afterwards.
        limit_bytes: how much memory may be taken beyond what Python and TensorFlow need.
        parent: the number of the process that asked.
    """

    kind: RecipeKind
    name: str
    path: Path
    batch_size: int | None
    setting: Setting
    scratch: Path
    limit_bytes: int | None
    parent: int


def read_order(plain: dict[str, Any]) -> TrialOrder:  # Any: JSON
    """Return the order that came as JSON."""
    recipe = plain["recipe"]
    return TrialOrder(
        kind=RecipeKind(recipe["kind"]),
        name=recipe["name"],
        path=Path(recipe["path"]),
        batch_size=recipe["batch_size"],
        setting=Setting.from_json(plain["setting"]),
        scratch=Path(plain["scratch"]),
        limit_bytes=plain["limit_bytes"],
        parent=plain["parent"],
    )


class DataKind(StrEnum):
    """What the user's data are, which is where their batch size is set."""

    DATASET = "tf.data"
    ARRAYS = "arrays"
    PY_DATASET = "PyDataset"


@dataclass(frozen=True)
class TrialReady:
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
class TrialBlock:
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
class TrialLearned:
    """How far a training came: the loss on the same samples for every setting.

    Args:
        samples: trained on since the first weights.
        before: the loss with the first weights.
        after: the loss now.
    """

    samples: int
    before: float
    after: float


class TrialFailure(StrEnum):
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

    def __init__(self, failure: TrialFailure, text: str) -> None:
        super().__init__(f"{failure}: {text}")
        self.failure = failure
        self.text = text

    @property
    def line(self) -> str:
        """How it failed in one line: what a traceback ends with, or the first line."""
        lines = [line.strip() for line in without_style(self.text).splitlines()]
        lines = [line for line in lines if line]
        errors = [place for place, line in enumerate(lines) if _ERROR.match(line)]
        is_error = bool(errors) and self.failure is TrialFailure.ERROR
        is_traceback = is_error or "Traceback" in self.text
        first = (errors or [len(lines) - 1])[-1] if is_traceback else 0
        # The first line of Keras's errors only says in which layer, the second one says what.
        count = 2 if is_traceback and lines[first].endswith("().") else 1
        text = ": ".join([self.failure.value, *lines[first : first + count]])
        return text if len(text) <= _MAX_LINE else f"{text[:_MAX_LINE]}…"


_MAX_LINE = 300
_ERROR = re.compile(r"[\w.]*(Error|Exception|Warning|Exit|Interrupt)\b")
_STYLE = re.compile(r"\x1b\[[0-9;]*m")


def without_style(text: str) -> str:
    """Return text without the colours that libraries put into their messages."""
    return _STYLE.sub("", text)
