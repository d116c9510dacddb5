"""`quickfit tune`: which settings make this training faster, each of them measured."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quickfit import terminal
from quickfit.cli._stdout import answer_json, answer_text
from quickfit.cli.fix import TRUST_HELP, Accept
from quickfit.errors import UsageError

if TYPE_CHECKING:
    from quickfit.fixing.progress import Ticker
    from quickfit.launch.target import Target
    from quickfit.tuning.advice import Advice

# Which words before the target are ours, and whether a value follows.
OPTIONS = {
    "-m": True,
    "--budget": True,
    "--only": True,
    "--try": True,
    "--steps-left": True,
    "--format": True,
    "--accept": True,
    "--apply": False,
    "--diff": False,
    "--trust-script": False,
    "--undo": False,
    "--help": False,
}
# Narrower than this, the table is unreadable; wider, the eye loses the line.
_MIN_WIDTH, _MAX_WIDTH = 80, 140


class Format(StrEnum):
    """How the answer is written."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"


class Change(StrEnum):
    """The kinds of changes that are tried."""

    XLA = "xla"
    STEPS = "steps"
    BATCH = "batch"
    PRECISION = "precision"
    THREADS = "threads"


@dataclass(frozen=True)
class Asked:
    """What the options ask for.

    Args:
        budget: the time, as it was written, or None.
        only: kinds to try alone.
        also: kinds to try although the machine speaks against them.
        steps_left: that are still to be trained.
        shape: of the answer.
        trusts_script: try a script also where the kernel cannot confine it.
    """

    budget: str | None
    only: tuple[Change, ...]
    also: tuple[Change, ...]
    steps_left: int | None
    shape: Format
    trusts_script: bool = False

    def budget_s(self, usual_s: float) -> float:
        """Return the time for all trials.

        Raises:
            UsageError: what was written is no time.
        """
        from quickfit.cli.run import time_of

        return usual_s if self.budget is None else time_of("--budget", self.budget)


def tune(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="MODULE:FUNCTION | SCRIPT [ARGS]", hidden=True)
    ] = None,
    module: Annotated[
        str | None,
        typer.Option("-m", metavar="MODULE", help="A script, as `python -m MODULE` runs it."),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="The time for everything; it is kept: 90s, 5m, 1h. [default: 3m; 10m for a"
            " script]",
        ),
    ] = None,
    only: Annotated[
        list[Change] | None,
        typer.Option(metavar="KIND", help="Try this kind alone; may be given several times."),
    ] = None,
    also: Annotated[
        list[Change] | None,
        typer.Option(
            "--try",
            metavar="KIND",
            help="Try this kind although the machine speaks against it: `precision` on a CPU"
            " without 16-bit units measures what it costs.",
        ),
    ] = None,
    steps_left: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="How many steps you still train: what does not pay within them is not advised.",
        ),
    ] = None,
    shape: Annotated[
        Format, typer.Option("--format", help="For people, for a comment, or for programs.")
    ] = Format.TEXT,
    apply: Annotated[
        bool, typer.Option("--apply", help="Of a script: write what was proven, as `fix` does.")
    ] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Of a script: print what was proven as a patch.")
    ] = False,
    accept: Annotated[
        list[Accept] | None,
        typer.Option(help="Of a script: write changes of this class too."),
    ] = None,
    trust_script: Annotated[
        bool, typer.Option("--trust-script", help=f"Of a script: {TRUST_HELP}")
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", hidden=True)] = False,
) -> None:
    """Measure which settings make a training faster: on this machine, this model and its data.

    \b
        quickfit tune train:build                the function `build` of train.py
        quickfit tune --budget 10m train:build
        quickfit tune --only xla --only steps train:build
        quickfit tune train.py --epochs 3        a script that trains, with its arguments

    A function returns a compiled model and its data: `return model, dataset` or `return model,
    (x, y)`. A script is tried by edits of its own text, and with --apply they are written.

    Tried are: xla (jit_compile), steps (steps_per_execution 8 and 32), batch (twice and four
    times as large), precision (16 bits, where the hardware has units for it), threads; each alone,
    then the winners together. The training as it is and the changed one take turns in fresh
    processes until it is certain which is faster; a gain under 1.05× is none. No file of yours
    changes without --apply, and trained models are thrown away. Ctrl-C shows what is known by then.
    """
    if undo:
        raise UsageError(
            "tune: --undo is an option of `fix`; it takes back what tune has written too.\n"
            "    quickfit fix --undo"
        )
    if module is None and not words:
        raise UsageError(
            "tune: no function and no script was given.\nName one:\n"
            "    quickfit tune train:build\n    quickfit tune train.py"
        )
    asked = Asked(
        budget, tuple(only or ()), tuple(also or ()), steps_left, shape, trusts_script=trust_script
    )
    target = script_of(words or [], module)
    with _ended_cleanly():
        if target is not None:
            _tune_script(target, asked, (apply, diff, accept))
            return
        assert words
        _check_function(words, applies=apply or diff or bool(accept))
        _tune_function(words[0], asked)


@contextmanager
def _ended_cleanly() -> Iterator[None]:
    """End by the signal that asks for it, but only after children and folders are gone."""
    from quickfit.launch.process import Ending, end_as
    from quickfit.tuning.advice.session import EndedBySignal, ended_by_signals

    try:
        with ended_by_signals():
            yield
    except EndedBySignal as ended:
        end_as(Ending(None, ended.number))


def script_of(words: list[str], module: str | None) -> Target | None:
    """Return the script that the words name; None where they name a function.

    Raises:
        UsageError: they name nothing.
    """
    from quickfit.launch.target import Target

    if module is not None:
        return Target(module=module, args=tuple(words))
    if ":" in words[0] and not Path(words[0]).is_file():
        return None
    if Path(words[0]).is_file() or words[0].endswith(".py"):
        return Target(script=words[0], args=tuple(words[1:]))
    if Path(words[0]).is_dir():
        raise UsageError(
            f"tune: {words[0]} is a folder. Name a script in it, or a function:\n"
            f"    quickfit tune {Path(words[0]) / 'train.py'}\n"
            f"    quickfit tune {Path(words[0]) / 'train.py'}:build"
        )
    raise UsageError(
        f"tune: {words[0]} is no file, and a function is named with a colon.\n"
        f"Name the function that returns a compiled model and its data:\n"
        f"    quickfit tune {words[0]}:build"
    )


def _check_function(words: list[str], *, applies: bool) -> None:
    if len(words) > 1:
        rest = " ".join(words[1:])
        text = f"tune: {rest} stands behind {words[0]}, and a function gets no arguments."
        if words[1].startswith("-"):
            raise UsageError(f"{text}\nOptions go first:\n    quickfit tune {rest} {words[0]}")
        raise UsageError(
            f"{text}\nLeave them out:\n    quickfit tune {words[0]}\n"
            f"or tune the script that takes them:\n"
            f"    quickfit tune {_script_of(words[0])} {rest}"
        )
    if applies:
        raise UsageError(
            "tune: --apply, --diff and --accept change a script's text; a function is only"
            f" measured.\nGive the script:\n    quickfit tune --apply {_script_of(words[0])}"
        )


def _script_of(name: str) -> str:
    place = name.partition(":")[0]
    return place if place.endswith(".py") else f"{place.replace('.', '/')}.py"


def _tune_script(
    target: Target, asked: Asked, writing: tuple[bool, bool, list[Accept] | None]
) -> None:
    """Tune a script; `writing` is whether to apply, to print a patch, and what is accepted."""
    from quickfit.fixing import tune as script_tuning
    from quickfit.fixing import write
    from quickfit.tuning.advice.request import check_numbers

    applies, prints, accept = writing
    accepted = frozenset(one.value for one in accept or ())
    budget_s = asked.budget_s(script_tuning.BUDGET_S)
    check_numbers(budget_s, asked.steps_left)
    request = script_tuning.TuneRequest(
        target,
        budget_s=budget_s,
        tries=frozenset(one.value for one in asked.also),
        only=frozenset(one.value for one in asked.only),
        steps_left=asked.steps_left,
        format=asked.shape.value,
        trusts_script=asked.trusts_script,
    )
    wanted = write.Asked(applies=applies, prints_patch=prints, accepted=accepted)
    code = script_tuning.tune(request, wanted, out=sys.stdout, err=sys.stderr)
    if code:
        raise typer.Exit(code)


def _tune_function(name: str, asked: Asked) -> None:
    from quickfit.fixing.progress import Ticker
    from quickfit.tuning.advice.change_table import ChangeKind
    from quickfit.tuning.advice.request import AdviceWishes, check_numbers
    from quickfit.tuning.advice.session import BUDGET_S, run_advice

    budget_s = asked.budget_s(BUDGET_S)
    check_numbers(budget_s, asked.steps_left)
    only, also = ([ChangeKind(one.value) for one in some] for some in (asked.only, asked.also))
    wanted = frozenset((*only, *also)) if only else AdviceWishes().kinds
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # errors still show
    ticker = Ticker(sys.stderr)
    try:
        advice = run_advice(
            name,
            None,
            AdviceWishes(wanted, frozenset((*only, *also))),
            budget_s=budget_s,
            steps_left=asked.steps_left,
            tell=in_stages(ticker),
            is_command=True,
        )
    except KeyboardInterrupt:
        ticker.clear()
        terminal.say("interrupted before anything was measured")
        raise
    finally:
        ticker.clear()
    if asked.shape is Format.JSON:
        answer_json(advice.as_json())
    elif asked.shape is Format.MARKDOWN:
        from quickfit.fixing.to_markdown import advice_markdown

        answer_text(advice_markdown(advice))
    else:
        answer_text(f"{_shown(advice)}\n", painted=terminal.wants_color(sys.stdout))
    if advice.is_interrupted:
        raise KeyboardInterrupt


def in_stages(ticker: Ticker) -> Callable[[str], None]:
    """Return how to tell of trials so that every round shows, also in a log with few lines."""
    stage = ""

    def tell(text: str) -> None:
        nonlocal stage
        title, colon, rest = text.partition(": ")
        if colon and title != stage:
            stage = title
            ticker.begin(title)
        ticker.tell(rest if colon else text)

    return tell


def _shown(advice: Advice) -> str:
    import shutil

    from quickfit.tuning.advice.report import advice_text, colored_advice

    if not terminal.wants_color(sys.stdout):
        return advice_text(advice)
    columns = shutil.get_terminal_size((_MAX_WIDTH, 24)).columns
    return colored_advice(advice, max(_MIN_WIDTH, min(_MAX_WIDTH, columns)))
