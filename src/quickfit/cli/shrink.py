"""`quickfit shrink`: a model made smaller and faster, as far as its accuracy allows."""

from __future__ import annotations

import os
import shutil
import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quickfit.cli._stdout import answer_json, answer_text
from quickfit.errors import UsageError

if TYPE_CHECKING:
    from quickfit.compression.shrinking.result import Shrunk
    from quickfit.compression.shrinking.session import ShrinkRequest

# Narrower than this, the table is unreadable; wider, the eye loses the line.
_MIN_WIDTH, _MAX_WIDTH = 80, 140
# The table is written, and nothing was good enough.
_NOTHING_CHOSEN = 1


class Format(StrEnum):
    """How the answer is written."""

    TEXT = "text"
    JSON = "json"


class Purpose(StrEnum):
    """What the model is to be fast at."""

    TRAINING = "training"
    INFERENCE = "inference"


def shrink(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A .keras or .h5 file.")],
    data: Annotated[
        str,
        typer.Option(
            metavar="DATA",
            help="Labelled samples: a folder of class folders, a pack, a .npz with x and y, or"
            " module:function.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where the models and the report go. [default: MODEL-shrunk beside the model]",
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="WORDS",
            help='What to reach: "2x faster, at most 1 point", "half the size", "3x fewer flops,'
            ' no loss". [default: at most 1 point, as fast as that allows]',
        ),
    ] = None,
    purpose: Annotated[
        Purpose,
        typer.Option(
            "--for", help="Choose by the latency of a prediction, or by the time of a training step"
        ),
    ] = Purpose.INFERENCE,
    budget: Annotated[
        str, typer.Option(metavar="TIME", help="About how long it may take: 90s, 10m, 1h.")
    ] = "10m",
    distill: Annotated[
        bool,
        typer.Option(
            "--distill", help="Also try to train smaller models on the answers of the original."
        ),
    ] = False,
    separable: Annotated[
        bool,
        typer.Option(
            "--separable", help="Try only separable convolutions (and LiteRT files), no pruning."
        ),
    ] = False,
    evaluate: Annotated[
        str | None,
        typer.Option(
            metavar="FUNCTION",
            help="Judge by module:function instead of labels: it takes a model and returns how good"
            " it is, 0 to 1. For several outputs, and for numbers instead of classes.",
        ),
    ] = None,
    samples: Annotated[
        int, typer.Option(metavar="N", min=1, help="Read no more samples than this.")
    ] = 20_000,
    modules: Annotated[
        list[str] | None,
        typer.Option(
            "--import",
            metavar="MODULE",
            help="Import this first: it defines layers of yours. A module or a .py file.",
        ),
    ] = None,
    allow_code: Annotated[
        bool,
        typer.Option(
            "--allow-code",
            help="Run code that is stored in the model file (Lambda layers). Only for files of"
            " people you trust.",
        ),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace what an earlier run has left in --out.")
    ] = False,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Another one, another split.")] = 0,
    shape: Annotated[
        Format, typer.Option("--format", help="A table, or JSON for a program.")
    ] = Format.TEXT,
) -> None:
    """Make a Keras model smaller and faster, and measure what each way brings here.

    \b
        quickfit shrink model.keras --data photos/
        quickfit shrink model.keras --data digits.npz --target "2x faster, at most 1 point"
        quickfit shrink model.keras --data train.py:validation --for training

    Tried are separable convolutions, pruned channels, both, each trained a little more, and files
    for LiteRT in float32, float16 and int8. All are measured in turn on this machine. What is
    neither smaller nor faster, or loses too much, is rejected; the last word has a part of the
    data that nothing else has seen. Give data that the model was not trained on.

    Written are: model.keras and model.tflite (what was chosen), report.md, report.json, chart.svg,
    and everything that was made in candidates/. The model file itself is only read. Ctrl-C leaves
    what is made by then. Ends with 1 where nothing reaches the target.
    """
    from quickfit.cli.run import time_of
    from quickfit.compression.shrinking.session import ShrinkRequest, check_request

    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # errors still show
    request = check_request(
        ShrinkRequest(
            model=Path(model),
            data=data,
            out=out if out is not None else _beside(Path(model)),
            target=target,
            for_training=purpose is Purpose.TRAINING,
            budget_s=time_of("--budget", budget),
            distill=distill,
            most_samples=samples,
            modules=tuple(modules or ()),
            allows_code=allow_code,
            replaces=force,
            seed=seed,
            separable=separable,
            evaluate=evaluate,
        )
    )
    if sys.stdout is None:
        raise UsageError("shrink: stdout is closed, so there is nowhere to write the table to.")
    shrunk = _shrunk(request)
    if shape is Format.JSON:
        answer_json(shrunk.as_json())
    else:
        answer_text(f"{_shown(shrunk)}\n")
    if shrunk.is_interrupted:
        raise KeyboardInterrupt
    if shrunk.chosen is None:
        raise typer.Exit(_NOTHING_CHOSEN)


def _shrunk(request: ShrinkRequest) -> Shrunk:
    """Shrink; what is going on is told on stderr, and what user code prints goes there too."""
    from quickfit.cli.bench import _apart_from_stdout
    from quickfit.compression.shrinking.session import answer_request
    from quickfit.data.interrupts import second_interrupt_ends
    from quickfit.fixing.progress import Ticker

    end_s = time.monotonic() + request.budget_s
    ticker = Ticker(sys.stderr, lambda: max(0.0, end_s - time.monotonic()))
    found: Shrunk | None = None
    try:
        with second_interrupt_ends() as check, _apart_from_stdout(), ticker.beating():

            def tell(text: str) -> None:
                check()
                ticker.begin(text)

            found = answer_request(request, tell)
    except KeyboardInterrupt:
        if found is None:  # nothing was made yet
            raise
    finally:
        ticker.clear()
    return found


def _shown(shrunk: Shrunk) -> str:
    from quickfit.compression.shrinking.report import text_report

    columns = shutil.get_terminal_size((_MAX_WIDTH, 24)).columns
    return text_report(shrunk, max(_MIN_WIDTH, min(_MAX_WIDTH, columns)))


def _beside(model: Path) -> Path:
    return model.with_name(f"{model.stem}-shrunk")
