"""A run in Weights & Biases: always offline, so that nothing is sent before its user does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from quickfit.exporting.series import details_of, figures_of, series_of, tags_of
from quickfit.findings import Diagnosis
from quickfit.report import text

PROJECT = "quickfit"


def write(
    diagnosis: Diagnosis, place: str, *, after_s: float = -1.0, replaces: bool = False
) -> str:
    """Log to the active run of this process, or to a new one in a folder, which is offline.

    Args:
        diagnosis: of the run, with its details.
        place: the folder that `wandb` is made in.
        after_s: what happened before was logged already.
        replaces: there is nothing to replace.
    """
    import wandb

    details_of(diagnosis)
    if wandb.run is not None:
        _log(wandb.run, diagnosis, after_s)
        return f"Weights & Biases, run {wandb.run.name or wandb.run.id}"
    # What it would record besides is not about this run: it is over.
    quiet = wandb.Settings(
        silent=True, console="off", disable_git=True, disable_code=True, x_disable_stats=True,
        x_disable_meta=True,
    )  # fmt: skip
    name = text.path(diagnosis.script) or "a run"
    Path(place).mkdir(parents=True, exist_ok=True)
    run = wandb.init(mode="offline", project=PROJECT, name=name, dir=place, settings=quiet)
    folder = Path(run.dir).parent
    try:
        _log(run, diagnosis, after_s)
    finally:
        run.finish()
    return f"{folder}; to send it: wandb sync {folder}"


def _log(run: Any, diagnosis: Diagnosis, after_s: float) -> None:
    # The steps of a run of the user's own are counted by their calls, so ours have an axis of
    # their own.
    run.define_metric("quickfit/step")
    run.define_metric("quickfit/*", step_metric="quickfit/step")
    rows: dict[int, dict[str, float]] = {}
    for name, points in series_of(diagnosis, after_s=after_s).items():
        for point in points:
            rows.setdefault(point.step, {})[name] = point.value
    for step in sorted(rows):
        run.log({**rows[step], "quickfit/step": step})
    run.summary.update({**figures_of(diagnosis), **tags_of(diagnosis)})
