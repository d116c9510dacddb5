"""What `tune` answers: the table, what to change, and the lines to put into a script."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from quickfit.tuning.advice.change_table import (
    ChangeRow,
    ChangeVerdict,
    finite_number,
    whole_bytes,
)
from quickfit.tuning.trials.settings import Setting, TrialBlock, TrialLearned, TrialReady

# Input that costs nothing makes a training this much faster where the input is its limit.
INPUT_LIMIT = 1.15


@dataclass(frozen=True)
class TrainingBaseline:
    """The training as it is; None is what is not known.

    Args:
        batch: samples per step.
        samples: in the data set.
        parameters: of the model.
        samples_per_s: how fast it trains.
        step_s: one step.
        peak_bytes: the most memory it held.
        learned: its loss before and after some samples.
        start_s: from the start of the process to its first step.
        steps_left: steps that are still to be trained.
    """

    batch: int | None = None
    samples: int | None = None
    parameters: int | None = None
    samples_per_s: float | None = None
    step_s: float | None = None
    peak_bytes: float | None = None
    learned: TrialLearned | None = None
    start_s: float | None = None
    steps_left: int | None = None

    @classmethod
    def of(
        cls,
        ready: TrialReady,
        blocks: Sequence[TrialBlock],
        learned: TrialLearned | None,
        *,
        start_s: float | None = None,
        steps_left: int | None = None,
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
            start_s,
            steps_left,
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
            "start_s": finite_number(self.start_s),
            "steps_left": self.steps_left,
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
        is_input_bound: it waits for its input, so that a faster step gains little.
        input_note: what that means, in words; empty where the input is not the limit.
        loss_note: what the losses in the table are.
        notes: what else to know.
        took_s: how long all of it took.
        is_interrupted: it was ended early.
        deciding_budget_s: about the budget that decides what was left open; None where nothing was.
        deciding_words: how to ask for that.
        patch: the edit of a script that makes the change; empty of a built model.
        patch_notes: what to know about that edit.
    """

    target: str
    device: str
    baseline: TrainingBaseline
    rows: tuple[ChangeRow, ...]
    chosen: ChangeRow | None = None
    input_gain: float | None = None
    is_input_bound: bool = False
    input_note: str = ""
    loss_note: str = ""
    notes: tuple[str, ...] = ()
    took_s: float = 0.0
    is_interrupted: bool = False
    deciding_budget_s: float | None = None
    deciding_words: str = ""
    patch: str = ""
    patch_notes: tuple[str, ...] = ()

    @property
    def setting(self) -> Setting:
        """What to change; nothing where nothing helps."""
        return Setting(**self.chosen.setting) if self.chosen else Setting()

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines to put into the script; none where nothing helps."""
        if not self.patch:
            return script_lines(self.setting)
        lines = [line for line in self.patch.splitlines() if not line.startswith("+++ ")]
        return tuple(line[1:].strip() for line in lines if line.startswith("+"))

    @property
    def remarks(self) -> tuple[str, ...]:
        """What to know about these lines."""
        return self.patch_notes or setting_remarks(self.setting, self.baseline.batch)

    @property
    def undecided(self) -> tuple[ChangeRow, ...]:
        """What may be a gain, and was not measured often enough; the most promising first."""
        rows = [row for row in self.rows if row.verdict is ChangeVerdict.NOT_DECIDED]
        return tuple(sorted(rows, key=lambda row: -(row.gain.mean if row.gain else 0.0)))

    @property
    def whole_gain(self) -> float | None:
        """How much faster the whole training is, from its start; None where that is not known.

        A change makes steps faster, and nothing that comes before the first of them.
        """
        gain = self.chosen.gain if self.chosen else None
        return self._whole_of(gain.mean) if gain is not None else None

    @property
    def whole_range(self) -> tuple[float, float] | None:
        """What the interval of the gain means for the whole training; None where not known."""
        gain = self.chosen.gain if self.chosen else None
        if gain is None or not gain.is_known:
            return None
        low, high = self._whole_of(gain.low), self._whole_of(gain.high)
        return (low, high) if low is not None and high is not None else None

    def _whole_of(self, gain: float) -> float | None:
        base, row = self.baseline, self.chosen
        if row is None or not base.start_s or not base.step_s or not base.steps_left:
            return None
        steps_s = base.steps_left * base.step_s
        after_s = base.start_s + (row.compile_s or 0.0) + steps_s / gain
        return (base.start_s + steps_s) / after_s

    def __repr__(self) -> str:
        from quickfit.tuning.advice.report import advice_text

        return advice_text(self)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values, for a file or a program."""
        return {
            "target": self.target,
            "device": self.device,
            "baseline": self.baseline.as_json(),
            "rows": [row.as_json() for row in self.rows],
            "advised": self.chosen and self.chosen.name,
            "setting": self.chosen.setting if self.chosen else {},
            "lines": list(self.lines),
            "remarks": list(self.remarks),
            "whole_gain": finite_number(self.whole_gain),
            "whole_range": self.whole_range and list(self.whole_range),
            "patch": self.patch,
            "is_input_bound": self.is_input_bound,
            "input_gain": finite_number(self.input_gain),
            "notes": [*([self.input_note] if self.input_note else []), *self.notes],
            "deciding_budget_s": finite_number(self.deciding_budget_s),
            "took_s": self.took_s,
            "is_interrupted": self.is_interrupted,
        }


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


def setting_remarks(setting: Setting, batch: int | None) -> tuple[str, ...]:
    """Return what whoever takes a setting over should know.

    Args:
        setting: that is taken over.
        batch: samples per step of the training as it is.
    """
    return tuple(_setting_remarks(setting, batch))


def _setting_remarks(setting: Setting, batch: int | None) -> Iterator[str]:
    if setting.batch is not None and batch is not None:
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
