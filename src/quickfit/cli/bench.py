"""`quickfit bench`: how fast an input pipeline is, stage by stage, next to what is possible."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quickfit import terminal
from quickfit.cli._stdout import answer_json, answer_text
from quickfit.errors import UsageError

if TYPE_CHECKING:
    from quickfit.data.speed.race import Race
    from quickfit.data.speed.target import TargetOptions

_UNITS_S = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "": 1.0}
_RESIZES = ("bilinear", "antialias", "crop", "pil")
# The first line, the heads of tables, and what leads a sentence.
_LEADS = r"\A.*$|^(?:stage .*|time per .*|limit|model|try|note)(?= |$)"
# Narrower than this, a table is unreadable; wider, the eye loses the line.
_MIN_WIDTH, _MAX_WIDTH = 60, 120
_STDOUT, _STDERR = 1, 2


def bench(
    targets: Annotated[
        list[str],
        typer.Argument(
            metavar="TARGET [TARGET]",
            help="train.py:function, package.module:function, a folder of images, or a pack;"
            " two of them are compared.",
        ),
    ],
    seconds: Annotated[
        str, typer.Option(metavar="TIME", help="How long to measure, after the warm-up.")
    ] = "5",
    warmup: Annotated[str, typer.Option(metavar="TIME", help="How long to run before that.")] = "2",
    step: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="The time of a training step to compare with: 120ms."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="FUNCTION", help="Or a function that returns a compiled model; it is timed."
        ),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(metavar="N or HxW", help="Of a folder or a pack: the size of the images."),
    ] = None,
    batch: Annotated[int, typer.Option(help="Of a folder or a pack: images in a batch.")] = 32,
    resize: Annotated[
        str | None,
        typer.Option(metavar="HOW", help=f"Of a folder or a pack: {', '.join(_RESIZES)}."),
    ] = None,
    cache: Annotated[
        bool,
        typer.Option(
            "--cache/--no-cache", help="Of a folder or a pack: whether decoded images are kept."
        ),
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Write the figures as JSON.")] = False,
) -> None:
    """Measure how fast an input pipeline is, and where its time goes.

    \b
        quickfit bench train.py:make_dataset
        quickfit bench train.py:make_dataset --step 120ms
        quickfit bench photos --size 224 --batch 64
        quickfit bench photos.pack
        quickfit bench train.py:before train.py:after

    The function is called without arguments and returns a tf.data.Dataset, a PyDataset or a
    generator, or a dataset and a compiled model, whose step is then timed on one batch. To reach
    it, its file is imported: what stands at the top level of the file runs. The dataset is really
    run, for about ten seconds, and nothing is trained or written.

    Two targets run in turn, in processes of their own, so that a busy machine is unfair to
    neither.
    """
    from quickfit.data.speed.target import TargetOptions

    if sys.stdout is None:
        raise UsageError("bench: stdout is closed, so there is nowhere to write the figures to.")
    if sys.stderr is None:
        _open_stderr()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # errors still show
    times = (time_of("--seconds", seconds), time_of("--warmup", warmup, allow_zero=True))
    pixels = size_of(size) if size is not None else None
    options = TargetOptions(pixels, _batch(batch), _resize(resize), cache)
    if len(targets) > 2:
        raise UsageError(
            f"bench: {len(targets)} targets were given; one is measured, two are compared."
        )
    if len(targets) == 2:
        if step is not None or model is not None:
            raise UsageError("bench: --step and --model go with one target, not with two.")
        _compare((targets[0], targets[1]), options, times, as_json=as_json)
        return
    if step is not None and model is not None:
        raise UsageError("bench: give either --step or --model; both say how long a step takes.")
    step_s = time_of("--step", step) if step is not None else None
    _measure(targets[0], options, times, (step_s, model), as_json=as_json)


def _measure(
    target: str,
    options: TargetOptions,
    times: tuple[float, float],
    beside: tuple[float | None, str | None],
    *,
    as_json: bool,
) -> None:
    """Measure one target; `beside` is the step's time and the function that makes a model."""
    from quickfit.data.interrupts import second_interrupt_ends
    from quickfit.data.speed.figures import format_speed
    from quickfit.data.speed.measuring import measure_feed
    from quickfit.data.speed.target import open_target, target_model
    from quickfit.data.speed.timing import MeasurePlan

    with second_interrupt_ends() as check, _apart_from_stdout(), _telling(check) as tell:
        tell(f"opening {target}", 0.0)
        found = open_target(target, options)
        model = target_model(beside[1]) if beside[1] is not None else found.model
        plan = MeasurePlan(seconds=times[0], warmup_s=times[1], tell=tell)
        model = None if beside[0] is not None else model
        speed = measure_feed(found.feed, plan, step_s=beside[0], model=model)
    if as_json:
        answer_json(speed.as_json())
    else:
        answer_text(f"{painted(format_speed(speed, _width()))}\n", painted=True)


def _compare(
    targets: tuple[str, str], options: TargetOptions, times: tuple[float, float], *, as_json: bool
) -> None:
    from quickfit.data.speed.race import race_targets

    with _telling() as tell:
        found = race_targets(targets, options, seconds=times[0], warmup_s=times[1], tell=tell)
    if as_json:
        answer_json(_race_json(found))
    else:
        answer_text(f"{painted(race_text(found))}\n", painted=True)


def _open_stderr() -> None:
    """Let what nobody wants to read go nowhere; what is told goes there, and user code prints."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    if nowhere != _STDERR:
        os.dup2(nowhere, _STDERR)
        os.close(nowhere)
    os.set_inheritable(_STDERR, True)
    sys.stderr = os.fdopen(_STDERR, "w")


def race_text(race: Race) -> str:
    """Return what came of a comparison, in a few lines."""
    from quickfit import units
    from quickfit.data.speed.figures import format_bar

    wide = max(map(len, race.names))
    fastest = max(span.examples_per_s for span in race.spans)
    lines = [
        f"{name:<{wide}}  {units.rate(span.examples_per_s).removesuffix('/s'):>8} examples/s"
        f"  {format_bar(span.examples_per_s / fastest):<20}"
        f"  {units.seconds(span.cpu_s / max(span.examples, 1))} CPU per example"
        for name, span in zip(race.names, race.spans, strict=True)
    ]
    ratio = race.ratio
    span = f"{ratio.low:.2f}–{ratio.high:.2f}×, {ratio.pairs} rounds in turn"
    if race.is_different:
        lines.append(f"the second is {ratio.mean:.2f}× as fast as the first ({span})")
    else:
        lines.append(f"no difference that this measurement can tell ({span})")
    return "\n".join(lines)


def _race_json(race: Race) -> dict[str, Any]:
    sides = [
        {
            "name": name,
            "examples": span.examples,
            "examples_per_s": span.examples_per_s,
            "example_cpu_s": span.cpu_s / max(span.examples, 1),
        }
        for name, span in zip(race.names, race.spans, strict=True)
    ]
    ratio = race.ratio
    told = {"low": ratio.low, "mean": ratio.mean, "high": ratio.high, "rounds": ratio.pairs}
    return {"targets": sides, "second_over_first": told, "is_different": race.is_different}


@contextlib.contextmanager
def _apart_from_stdout() -> Iterator[None]:
    """Let what the user's code and its child processes print go to stderr, not to the answer."""
    sys.stdout.flush()
    kept = os.dup(_STDOUT)
    os.dup2(_STDERR, _STDOUT)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        _flush_all()
        os.dup2(kept, _STDOUT)
        os.close(kept)


def _flush_all() -> None:
    """Write out what user code has left in buffers, also in those of C, which end at exit."""
    import ctypes

    for stream in (sys.stdout, sys.__stdout__):
        if stream is not None:
            stream.flush()
    with contextlib.suppress(OSError, AttributeError, TypeError):  # no C library to be found
        ctypes.CDLL(None).fflush(None)


@contextlib.contextmanager
def _telling(
    check: Callable[[], None] = lambda: None,
) -> Iterator[Callable[[str, float], None]]:
    """Yield a function that says on stderr what is going on; on a terminal the line goes away.

    `check` is called each time before, and may raise.
    """
    from quickfit import units
    from quickfit.fixing.progress import Ticker

    ticker = Ticker(sys.stderr)

    def tell(what: str, share: float) -> None:
        check()
        ticker.tell(f"{what}, {units.share(round(share, 2))}" if share > 0 else what)

    try:
        yield tell
    finally:
        ticker.clear()


def painted(text: str, *, color: bool | None = None) -> str:
    """Return a report with its bars and the words that lead lines in colour.

    Args:
        text: the plain report.
        color: whether to; by default only on a terminal that wants it.
    """
    text = terminal.escape(text)
    if not (terminal.wants_color(sys.stdout) if color is None else color):
        return text
    text = re.sub(r"(?<= )#+(?= |$)", lambda found: f"\x1b[36m{found[0]}\x1b[0m", text, flags=re.M)
    return re.sub(_LEADS, lambda found: f"\x1b[1m{found[0]}\x1b[0m", text, flags=re.M)


def _width() -> int:
    import shutil

    if not sys.stdout.isatty():
        return 100
    return max(_MIN_WIDTH, min(_MAX_WIDTH, shutil.get_terminal_size((100, 24)).columns))


def time_of(option: str, text: str, *, allow_zero: bool = False) -> float:
    """Return the seconds that the value of an option means.

    Raises:
        UsageError: it is not a length of time.
    """
    match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]*)?|\.[0-9]+) ?(us|µs|ms|s|)", text.strip())
    seconds = float(match[1]) * _UNITS_S[match[2]] if match else -1.0
    if seconds < 0 or (seconds == 0 and not allow_zero):
        raise UsageError(
            f"{option} {text}: this is not a length of time.\n"
            f"Give seconds or milliseconds: {option} 5, {option} 0.12s, {option} 120ms."
        )
    return seconds


def size_of(text: str) -> tuple[int, int]:
    """Return the height and width that `--size` means.

    Raises:
        UsageError: it is not a size.
    """
    match = re.fullmatch(r"([0-9]{1,5})(?:[x×,]([0-9]{1,5}))?", text.strip())
    height, width = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if height < 1 or width < 1:
        raise UsageError(
            f"--size {text}: this is not a size of images.\n"
            "Give pixels: --size 224, or height and width: --size 180x320."
        )
    return height, width


def _batch(count: int) -> int:
    if count < 1:
        raise UsageError(f"--batch {count}: a batch has at least one image.")
    return count


def _resize(how: str | None) -> str | None:
    if how is not None and how not in _RESIZES:
        raise UsageError(f"--resize {how}: choose one of {', '.join(_RESIZES)}.")
    return how
