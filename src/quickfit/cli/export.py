"""`quickfit export RUN --to …`: a recording where runs are logged."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from quickfit.cli._stdout import answer_text


class To(StrEnum):
    """Where a run is exported to."""

    TENSORBOARD = "tensorboard"
    MLFLOW = "mlflow"
    WANDB = "wandb"
    PERFETTO = "perfetto"


def export(
    to: Annotated[To, typer.Option("--to", help="Where it goes.", show_default=False)],
    run: Annotated[
        Path | None,
        typer.Argument(
            help="A recording: its .qfrun folder. Without it, the newest run in .quickfit/runs.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        str,
        typer.Option(
            metavar="PLACE",
            help="tensorboard: a log folder. perfetto: a file. wandb: the folder of its offline"
            " runs. mlflow: a tracking URI. [default: NAME.tensorboard, NAME.perfetto.json, here,"
            " MLFLOW_TRACKING_URI]",
            show_default=False,
        ),
    ] = "",
    force: Annotated[
        bool, typer.Option("--force", help="Replace a file that is no trace of quickfit.")
    ] = False,
) -> None:
    """Write a recording where runs are logged: step times, memory, parts of the time, findings.

    \b
        quickfit export --to perfetto                        a trace for ui.perfetto.dev
        quickfit export --to tensorboard --output logs/run1  beside what TensorBoard has
        quickfit export RUN.qfrun --to mlflow
        quickfit export RUN.qfrun --to wandb                 offline; wandb sync sends it

    Series are thinned to some hundred points, as those of the page are. Nothing is sent by
    quickfit itself; MLflow logs to where it is set to.
    """
    from quickfit import diagnosis
    from quickfit.cli.report import announced
    from quickfit.exporting import destination_of
    from quickfit.exporting import export as export_to
    from quickfit.recording.folder import newest_run

    destination_of(to.value)
    chosen = run or announced(newest_run(Path(".quickfit") / "runs"))
    diagnosed = diagnosis.diagnose(chosen, with_details=True)
    written = export_to(diagnosed, to.value, output, replaces=force)
    answer_text(f"exported: {written}\n")
