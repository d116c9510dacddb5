"""The lines that set a found batch, for the kind of data and the optimizer that the user has."""

from __future__ import annotations

from dataclasses import dataclass

from quickfit.tuning.trials.answers import DataKind, Ready


@dataclass(frozen=True)
class Script:
    """What is known of the user's script.

    Args:
        data_kind: a value of `DataKind`; None where it is not known.
        optimizer: its name in `keras.optimizers`; None where it is something else.
        learning_rate: of it; None where it is not a plain number.
    """

    data_kind: str | None = None
    optimizer: str | None = None
    learning_rate: float | None = None


def script_of(ready: Ready, data_kind: str | None) -> Script:
    """Return what a trial tells of the script; a kind of data that is known already counts."""
    return Script(data_kind or ready.data_kind, ready.optimizer, ready.learning_rate)


def batch_lines(script: Script, batch: int, own: int | None) -> list[str]:
    """Return the lines that set the samples per step; where the data are not known, for each kind.

    Args:
        script: what is known of it.
        batch: samples per step.
        own: as the user has it; None where it is not known.
    """
    before = f" instead of {own}" if own is not None else ""
    replaced = f"instead of your .batch({own})" if own is not None else "instead of your .batch(…)"
    lines = {
        DataKind.DATASET: f"dataset = dataset.batch({batch})  # {replaced}",
        DataKind.ARRAYS: f"model.fit(x, y, batch_size={batch})",
        DataKind.PY_DATASET: f"# in your PyDataset, its own batch size: {batch}{before}",
    }
    if script.data_kind is not None:
        return [lines[DataKind(script.data_kind)]]
    return [lines[DataKind.DATASET], f"{lines[DataKind.ARRAYS]}  # with arrays"]


def accumulation_line(script: Script, count: int) -> str:
    """Return the line that makes an optimizer add up the gradients of several steps."""
    steps = f"gradient_accumulation_steps={count}"
    if script.optimizer is None:
        return f"# in your optimizer, as one more argument: {steps}"
    rate, others = "", "and your other arguments, the learning rate too"
    if script.learning_rate is not None:
        rate = f"learning_rate={script.learning_rate:.4g}, "
        others = "and your other arguments"
    return f"optimizer = keras.optimizers.{script.optimizer}({rate}{steps})  # {others}"
