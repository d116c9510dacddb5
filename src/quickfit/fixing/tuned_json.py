"""What came of the settings of a script as plain values, under the names that `advise` has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quickfit.fixing.to_terminal import diff_of
from quickfit.fixing.tuned_input import input_gain, input_text, is_limit
from quickfit.fixing.tuned_rows import row_of
from quickfit.fixing.tuned_trials import Training, Tried
from quickfit.tuning.advice.result import ChangeRow, ChangeVerdict

if TYPE_CHECKING:
    from quickfit.fixing.tuned import Tuned


def as_json(tuned: Tuned) -> dict[str, Any]:  # plain values of any type
    """Return what was found as plain values."""
    story, advised = tuned.story, tuned.advised
    share = tuned.watched.wait_share
    patch = diff_of(story.outcomes, story.sources, story.cwd)
    rows = [(one, row_of(one, tuned.training)) for one in tuned.all_tried]
    return {
        "target": story.target.name,
        "device": story.diagnosis.device.summary,
        "baseline": _baseline(tuned.training, [row for _, row in rows]),
        "rows": [row.as_json() | {"class": class_text(one)} for one, row in rows],
        "advised": " + ".join(one.offer.name for one in advised) or None,
        "setting": {name: value for one in advised for name, value in one.offer.setting.items()},
        "lines": _added(patch),
        "remarks": [o.change.note for one in advised if (o := one.outcome) and o.change.note],
        "patch": patch,
        "is_input_bound": is_limit(share),
        "input_gain": input_gain(share),
        "notes": [text] if (text := input_text(share, story.target)) else [],
        "deciding_budget_s": deciding_budget_s(tuned),
        "took_s": tuned.took_s,
        "is_interrupted": story.is_interrupted,
    }


def class_text(tried: Tried) -> str | None:
    """Return the class of a setting that was proven or measured; None of any other."""
    outcome = tried.outcome
    return outcome.kind.value if outcome is not None and outcome.measured is not None else None


def deciding_budget_s(tuned: Tuned) -> float | None:
    """Return about the budget that decides what was measured too little; None where nothing was."""
    verdicts = [row_of(one, tuned.training).verdict for one in tuned.all_tried]
    return 2 * tuned.budget_s if ChangeVerdict.NOT_DECIDED in verdicts else None


def samples_per_s(training: Training) -> float | None:
    """Return how fast a script trains as it is."""
    return training.batch / training.batch_s if training.batch and training.batch_s else None


def peak_bytes(rows: list[ChangeRow]) -> int | None:
    """Return the most memory that the script held without any change."""
    known = [
        row.peak_bytes - row.more_bytes
        for row in rows
        if row.peak_bytes is not None and row.more_bytes is not None
    ]
    return round(max(known)) if known else None


def _baseline(training: Training, rows: list[ChangeRow]) -> dict[str, Any]:  # plain values
    batch, steps = training.batch, training.epoch_steps
    losses = [row.loss for row in rows if row.loss is not None]
    loss = max(losses, key=lambda one: one.samples, default=None)
    return {
        "batch": batch,
        "samples": batch * steps if batch and steps else None,
        "parameters": None,
        "samples_per_s": samples_per_s(training),
        "step_s": training.batch_s,
        "peak_bytes": peak_bytes(rows),
        "loss": loss and {"samples": loss.samples, "before": loss.before, "after": loss.unchanged},
        "steps_left": training.steps_left,
    }


def _added(patch: str) -> list[str]:
    """Return the lines that a patch adds, as they stand in the script."""
    lines = [line for line in patch.splitlines() if not line.startswith("+++ ")]
    return [line[1:].strip() for line in lines if line.startswith("+")]
