"""A run in MLflow: metrics over its steps, figures of the whole, tags, and the report."""

from __future__ import annotations

from typing import Any

from quickfit import terminal
from quickfit.errors import UsageError
from quickfit.exporting.series import details_of, figures_of, series_of, started_at, tags_of
from quickfit.findings import Diagnosis
from quickfit.report import text, to_markdown

EXPERIMENT = "quickfit"
# What MLflow takes in one request.
MOST_AT_ONCE = 1000


def write(
    diagnosis: Diagnosis, place: str, *, after_s: float = -1.0, replaces: bool = False
) -> str:
    """Log to the active run of this process, or to a new one of the experiment `quickfit`.

    Args:
        diagnosis: of the run, with its details.
        place: the address of the tracking server or its database; empty for the one MLflow is set
            to (`MLFLOW_TRACKING_URI`).
        after_s: what happened before was logged already.
        replaces: there is nothing to replace.
    """
    import mlflow
    from mlflow.exceptions import MlflowException

    details = details_of(diagnosis)
    try:
        client = mlflow.MlflowClient(tracking_uri=place or None)
        active = mlflow.active_run() if not place else None
        run_id = active.info.run_id if active else _new_run(client, diagnosis)
        metrics = _metrics(diagnosis, after_s)
        for first in range(0, len(metrics), MOST_AT_ONCE):
            client.log_batch(run_id, metrics=metrics[first : first + MOST_AT_ONCE])
        for key, value in tags_of(diagnosis).items():
            client.set_tag(run_id, key, value)
        client.log_text(run_id, to_markdown(diagnosis), "quickfit-report.md")
        if active is None:
            end_s = started_at(details) + details.total_s
            client.set_terminated(run_id, end_time=round(1000 * end_s))
    except (MlflowException, OSError) as error:
        said = terminal.escape(str(error), keep="")[:300]
        raise UsageError(
            f"MLflow does not take the run: {said}\nName a tracking server or database:"
            " --output URI, or MLFLOW_TRACKING_URI."
        ) from error
    return f"MLflow, run {run_id}"


def _new_run(client: Any, diagnosis: Diagnosis) -> str:  # of a package without types
    found = client.get_experiment_by_name(EXPERIMENT)
    experiment = found.experiment_id if found else client.create_experiment(EXPERIMENT)
    begin_ms = round(1000 * started_at(details_of(diagnosis)))
    name = text.path(diagnosis.script) or "a run"
    run = client.create_run(experiment, start_time=begin_ms, run_name=name)
    return str(run.info.run_id)


def _metrics(diagnosis: Diagnosis, after_s: float) -> list[Any]:
    from mlflow.entities import Metric

    details = details_of(diagnosis)
    series = series_of(diagnosis, after_s=after_s)
    end_ms = round(1000 * (started_at(details) + details.total_s))
    return [
        *(
            Metric(name, point.value, round(1000 * point.at_s), point.step)
            for name, points in series.items()
            for point in points
        ),
        *(Metric(name, v, end_ms, details.steps) for name, v in figures_of(diagnosis).items()),
    ]
