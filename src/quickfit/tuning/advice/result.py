"""What `advise` answers: the table, what to change, and the lines to put into a script."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from quickfit.lab.statistics import Measured
from quickfit.tuning.trials.settings import Setting, TrialBlock, TrialLearned, TrialReady


@dataclass(frozen=True)
class TrainingBaseline:
    """The training as it is.

    Args:
        batch: samples per step.
        samples: in the data set, or None where it does not say.
        parameters: of the model.
        samples_per_s: how fast it trains; None where that was not measured.
        step_s: one step; None likewise.
        peak_bytes: the most memory it held.
        learned: its loss before and after some samples, where that was asked for.
    """

    batch: int
    samples: int | None
    parameters: int
    samples_per_s: float | None
    step_s: float | None
    peak_bytes: float
    learned: TrialLearned | None = None

    @classmethod
    def of(
        cls, ready: TrialReady, blocks: Sequence[TrialBlock], learned: TrialLearned | None
    ) -> TrainingBaseline:
        """Return what a training has answered in all rounds."""
        paces_s = [block.wall_s / block.samples for block in blocks if block.samples]
        sample_s = statistics.median(paces_s) if paces_s else None
        # Of changes it is the blocks that count, too: building takes memory for a moment only.
        peak = max((block.peak_bytes for block in blocks), default=ready.peak_bytes)
        return cls(
            ready.batch,
            ready.samples,
            ready.parameters,
            1 / sample_s if sample_s else None,
            sample_s * ready.batch if sample_s else None,
            peak,
            learned,
        )

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "batch": self.batch,
            "samples": self.samples,
            "parameters": self.parameters,
            "samples_per_s": finite_number(self.samples_per_s),
            "step_s": finite_number(self.step_s),
            "peak_bytes": whole_bytes(self.peak_bytes),
            "loss": self.learned
            and {
                "samples": self.learned.samples,
                "before": finite_number(self.learned.before),
                "after": finite_number(self.learned.after),
            },
        }


@dataclass(frozen=True, repr=False)
class Advice:
    """What to change so that a training is faster, and all that was measured for it.

    Args:
        target: what was tuned, in words.
        device: what it trained on.
        baseline: the training as it is.
        rows: every change with its verdict.
        chosen: the row that is advised in the end, or None.
        input_gain: how much faster it trains when its input costs nothing.
        notes: what else to know.
        took_s: how long all of it took.
        is_interrupted: whether somebody ended it early.
        deciding_budget_s: about the budget that decides what was left open; None where nothing was.
        input_hint: how to find out where the time of the input goes.
        is_command: whether hints name options of the command line, or arguments in Python.
    """

    target: str
    device: str
    baseline: TrainingBaseline
    rows: tuple[ChangeRow, ...]
    chosen: ChangeRow | None = None
    input_gain: Measured | None = None
    notes: tuple[str, ...] = ()
    took_s: float = 0.0
    is_interrupted: bool = False
    deciding_budget_s: float | None = None
    input_hint: str = ""
    is_command: bool = False

    @property
    def setting(self) -> Setting:
        """What to change; nothing where nothing helps."""
        return Setting(**self.chosen.setting) if self.chosen else Setting()

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines to put into the script; none where nothing helps."""
        return script_lines(self.setting)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What to know about these lines."""
        return setting_remarks(self.setting, self.baseline.batch)

    @property
    def undecided(self) -> tuple[ChangeRow, ...]:
        """What may be a gain, and was not measured often enough; the most promising first."""
        rows = [row for row in self.rows if row.verdict is ChangeVerdict.NOT_DECIDED]
        return tuple(sorted(rows, key=lambda row: -(row.gain.mean if row.gain else 0.0)))

    @property
    def is_input_bound(self) -> bool:
        """Whether it waits for its input, so that a faster step gains little."""
        gain = self.input_gain
        if gain is None or gain.mean < INPUT_LIMIT:
            return False
        return gain.pairs == 1 or gain.low >= 1.0

    def __repr__(self) -> str:
        from quickfit.tuning.advice.report import advice_text

        return advice_text(self)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values, for a file or a program."""
        gain = self.input_gain
        return {
            "target": self.target,
            "device": self.device,
            "baseline": self.baseline.as_json(),
            "rows": [row.as_json() for row in self.rows],
            "advised": self.chosen and self.chosen.name,
            "setting": self.chosen.setting if self.chosen else {},
            "lines": list(self.lines),
            "remarks": list(self.remarks),
            "is_input_bound": self.is_input_bound,
            "input_gain": finite_number(gain.mean) if gain else None,
            "notes": list(self.notes),
            "deciding_budget_s": finite_number(self.deciding_budget_s),
            "took_s": self.took_s,
            "is_interrupted": self.is_interrupted,
        }


# Input that costs nothing makes a training this much faster where the input is its limit.
INPUT_LIMIT = 1.15


class ChangeVerdict(StrEnum):
    """What came of trying a change."""

    ADVISED = "advised"
    NO_GAIN = "no gain"
    SLOWER = "slower"
    OUTDONE = "outdone"
    LEARNS_LESS = "learns less"
    FAILED = "failed"
    NOT_DECIDED = "not decided"
    NOT_TRIED = "not tried"


class ChangeKind(StrEnum):
    """The kinds of changes; of each kind one at most is advised."""

    XLA = "xla"
    STEPS = "steps"
    BATCH = "batch"
    PRECISION = "precision"
    THREADS = "threads"
    TOGETHER = "together"
    INPUT = "input"


@dataclass(frozen=True)
class LossChange:
    """The loss on the same samples, before and after training on so many.

    Args:
        samples: trained on, equally many for every change.
        before: with the first weights.
        after: with the change.
        unchanged: after the same samples without it.
    """

    samples: int
    before: float
    after: float
    unchanged: float

    @property
    def is_worse(self) -> bool:
        """Whether it is clearly worse than without the change: by a tenth, or not a number."""
        if not math.isfinite(self.after):
            return math.isfinite(self.unchanged)
        return self.after > self.unchanged + max(0.1 * abs(self.unchanged), 1e-6)


@dataclass(frozen=True)
class ChangeRow:
    """One change, and what is known of it; `None` is what nobody has measured.

    Args:
        name: of the change, as the table shows it.
        kind: of which at most one is advised.
        verdict: what came of it.
        gain: how many times as many samples per second, over pairs.
        cpu: CPU time of a sample, as a multiple of what it was.
        peak_bytes: the most memory that the training held.
        more_bytes: how much more that is than without the change.
        compile_s: how much longer the first call took.
        pays_after: how many of the user's steps make up for that; 0 is at once.
        loss: after equally many samples.
        reason: for the verdict, in words.
        setting: what was changed, by name.
    """

    name: str
    kind: ChangeKind
    verdict: ChangeVerdict
    gain: Measured | None = None
    cpu: float | None = None
    peak_bytes: float | None = None
    more_bytes: float | None = None
    compile_s: float | None = None
    pays_after: int | None = None
    loss: LossChange | None = None
    reason: str = ""
    setting: dict[str, Any] = field(default_factory=dict)  # values of any plain type

    @property
    def is_advised(self) -> bool:
        """Whether it is worth having."""
        return self.verdict is ChangeVerdict.ADVISED

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values; what is not a finite number is None."""
        gain = self.gain
        return {
            "change": self.name,
            "kind": self.kind.value,
            "setting": self.setting,
            "verdict": self.verdict.value,
            "reason": self.reason,
            "gain": gain
            and {
                "low": finite_number(gain.low) or None,
                "mean": finite_number(gain.mean),
                "high": finite_number(gain.high),
                "pairs": gain.pairs,
            },
            "cpu_ratio": finite_number(self.cpu),
            "peak_bytes": whole_bytes(self.peak_bytes),
            "more_bytes": whole_bytes(self.more_bytes),
            "compile_s": finite_number(self.compile_s),
            "pays_after_steps": self.pays_after,
            "loss": self.loss
            and {
                "samples": self.loss.samples,
                "before": finite_number(self.loss.before),
                "after": finite_number(self.loss.after),
                "unchanged": finite_number(self.loss.unchanged),
            },
        }


def finite_number(value: float | None) -> float | None:
    """Return a number that JSON can hold."""
    return value if value is not None and math.isfinite(value) else None


def whole_bytes(value: float | None) -> int | None:
    """Return a number of bytes that JSON can hold."""
    return round(value) if value is not None and math.isfinite(value) else None


_THREADS = "tf.config.threading.set_{}_op_parallelism_threads({})"


def script_lines(setting: Setting) -> tuple[str, ...]:
    """Return lines of Python in the order in which they stand in a script."""
    return tuple(_setting_lines(setting))


def _setting_lines(setting: Setting) -> Iterator[str]:
    for name, count in (("inter", setting.inter_threads), ("intra", setting.intra_threads)):
        if count is not None:
            yield f"{_THREADS.format(name, count)}  # right after the imports"
    if setting.policy is not None:
        yield f'keras.config.set_dtype_policy("{setting.policy}")  # before the model is built'
        yield 'layers.Dense(10, dtype="float32")  # so on your last layer, and on a softmax'
    if setting.batch is not None:
        size = setting.batch
        yield f"dataset = dataset.batch({size})  # with arrays: model.fit(..., batch_size={size})"
    arguments = list(_compile_arguments(setting))
    if arguments:
        yield f"model.compile(..., {', '.join(arguments)})"


def _compile_arguments(setting: Setting) -> Iterator[str]:
    if setting.jit is not None:
        yield f"jit_compile={setting.jit}"
    if setting.steps_per_execution is not None:
        yield f"steps_per_execution={setting.steps_per_execution}"


def setting_remarks(setting: Setting, batch: int) -> tuple[str, ...]:
    """Return what whoever takes a setting over should know.

    Args:
        setting: that is taken over.
        batch: samples per step of the training as it is.
    """
    return tuple(_setting_remarks(setting, batch))


def _setting_remarks(setting: Setting, batch: int) -> Iterator[str]:
    if setting.batch is not None:
        factor = setting.batch / batch
        yield (
            f"Batch {setting.batch} takes {factor:g} times fewer steps per epoch. quickfit does"
            f" not change the learning rate; usual is to raise it (up to {factor:g} times with"
            f" SGD, {factor**0.5:.2g} times with Adam) and to look at the validation loss. Where"
            " you give steps_per_epoch, divide it."
        )
    if setting.steps_per_execution is not None:
        yield (
            f"steps_per_execution={setting.steps_per_execution}: callbacks see one batch in"
            f" {setting.steps_per_execution}; losses are the same."
        )
    if setting.jit:
        yield (
            "XLA compiles once for each shape: with batches of changing shape, or a smaller last"
            " one, it compiles again (drop_remainder=True avoids that)."
        )
    if setting.policy == "mixed_float16":
        yield (
            "mixed_float16: model.compile scales the loss by itself; a training loop of your own"
            " must do it (quickfit.tuning.make_train_step does)."
        )
