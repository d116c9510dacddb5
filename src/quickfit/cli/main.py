"""The `quickfit` command: finds the subcommand, and turns our errors into messages.

Only typer is imported here and in the files of the commands; what a command needs it imports
when it is called, so that `--help` and `--version` answer at once.
"""

from __future__ import annotations

import difflib
import importlib
import io
import keyword
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from quickfit import __version__, terminal
from quickfit.cli.compare import OPTIONS as COMPARE_OPTIONS
from quickfit.cli.compare import REVISIONS
from quickfit.cli.fix import OPTIONS as FIX_OPTIONS
from quickfit.cli.run import OPTIONS as RUN_OPTIONS
from quickfit.cli.tune import OPTIONS as TUNE_OPTIONS
from quickfit.errors import QuickfitError, UsageError

# Each is a function in a file of its name, in the order in which `--help` lists them.
COMMANDS = (
    *("run", "check", "report", "watch", "fix", "attach", "import", "explain"),
    *("compare", "export", "bench", "pack", "tune", "shrink", "doctor", "demo"),
)
# Commands after whose script everything belongs to the script.
_SCRIPT_OPTIONS = {
    "run": RUN_OPTIONS,
    "fix": FIX_OPTIONS,
    "tune": TUNE_OPTIONS,
    "compare": COMPARE_OPTIONS,
}


# What is wrong with the words of a command line. Depending on its version, typer takes the class
# from click or has its own; the base of its errors is the same in both.
_WrongArguments: type[Any] = typer.BadParameter.__mro__[2]


def main() -> None:
    """Run the command line `sys.argv`; end the process with its exit code."""
    try:
        _run()
    except SystemExit as ending:
        if not sys.flags.inspect:
            raise
        # PYTHONINSPECT is for the script's Python; ours would ask for input in place of ending.
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        os._exit(ending.code if isinstance(ending.code, int) else int(bool(ending.code)))


def _run() -> NoReturn:
    # An error that is a bug of ours may quote anything too.
    sys.excepthook = terminal.show_exception
    try:
        _check_working_folder()
        command = typer.main.get_command(app())
        words = arranged(sys.argv[1:])
        sys.exit(command.main(args=words, prog_name="quickfit", standalone_mode=False) or 0)
    except QuickfitError as error:
        terminal.say(str(error))
        sys.exit(error.exit_code)
    except _WrongArguments as error:
        said = io.StringIO()
        error.show(said)
        terminal.write(sys.stderr, said.getvalue())
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        _end_by_interrupt()


def _check_working_folder() -> None:
    try:
        os.getcwd()
    except OSError as error:
        raise UsageError(
            f"the working folder cannot be used ({error.strerror}): it was removed or may not be"
            f" entered.\nReceived: {os.environ.get('PWD', 'a folder without a name')}\n"
            "Go to a folder that exists:\n    cd"
        ) from error


def app() -> typer.Typer:
    """Return the command line with all its commands."""
    commands = typer.Typer(
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    commands.callback()(_quickfit)
    for name in COMMANDS:
        # A word of Python cannot be the name of a function.
        own = f"{name}_" if keyword.iskeyword(name) else name
        module = importlib.import_module(f"quickfit.cli.{own}")
        commands.command(name)(getattr(module, own))
    return commands


def _print_version(wanted: bool) -> None:
    if wanted:
        terminal.write(sys.stdout, f"quickfit {__version__}\n")
        raise typer.Exit


def _quickfit(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and end.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Say why a Keras/TensorFlow training is slow, stuck or slowing down.

    \b
        quickfit run train.py --epochs 3     watch a script; its output stays its own
        quickfit train.py --epochs 3         the same, for short
        quickfit check train.py              certain mistakes, from its text alone
        quickfit report                      the report of the newest run again
        quickfit watch                       the same in a browser, while the run goes on
        quickfit fix train.py                make the fix, and prove that it helps
        quickfit attach 4711                 why a run that was started without it stands still
        quickfit import profile.sqlite       the report of what another profiler recorded
        quickfit explain sequential-map      what a cause means and how to remove it
        quickfit compare --base HEAD~1 t.py  which part got slower since then, and how surely
        quickfit export --to perfetto        a run where runs are logged: TensorBoard, MLflow, …
        quickfit bench train.py:make_data    the speed of an input pipeline, stage by stage
        quickfit pack photos/ packed/        image files into records that are read fast
        quickfit tune train.py               batch size, XLA, precision, threads: what gains here
        quickfit shrink model.keras --data d a smaller and faster model, as far as accuracy allows
        quickfit doctor                      is this machine set up to train fast
        quickfit demo                        the whole story on a small case

    The script runs unmodified, with its arguments, stdin, stdout and exit code. Recordings go
    to .quickfit/runs in the working directory, and nothing is sent anywhere.
    """


def arranged(args: Sequence[str]) -> list[str]:
    """Return the arguments with everything that belongs to the script kept out of our options.

    Raises:
        UsageError: the first word is neither a command nor a script.
    """
    words = list(args)
    if not words:
        return ["--help"]
    if words[0] not in COMMANDS and _means_run(words[0]):
        words.insert(0, "run")
    if words[0] in _SCRIPT_OPTIONS and not _names_function(words) and not _names_runs(words):
        own = _own_length(words[1:], _SCRIPT_OPTIONS[words[0]]) + 1
        return [*words[:own], "--", *words[own:]] if own < len(words) else words
    if not words[0].startswith("-") and words[0] not in COMMANDS:
        raise UsageError(_unknown(words[0]))
    return words


def _means_run(word: str) -> bool:
    if word.startswith("-"):
        option = "-m" if word.startswith("-m") else word.partition("=")[0]
        return option in RUN_OPTIONS and option != "--help"
    return word.endswith(".py") or Path(word).exists()


def _names_function(words: list[str]) -> bool:
    """Tell whether a function is tuned: it has no arguments that could be taken for options."""
    own = _own_length(words[1:], _SCRIPT_OPTIONS[words[0]]) + 1
    named = words[own] if own < len(words) else ""
    return words[0] == "tune" and ":" in named and not Path(named).is_file()


def _names_runs(words: list[str]) -> bool:
    """Tell whether recordings are compared: no word then belongs to a script."""
    options = [word.partition("=")[0] for word in words[1:]]
    return words[0] == "compare" and not any(option in REVISIONS for option in options)


def _own_length(words: list[str], options: dict[str, bool]) -> int:
    """Return how many words of a command come before the script's own."""
    position = 0
    while position < len(words) and words[position].startswith("-") and words[position] != "-":
        word = words[position]
        if word.startswith("-m"):
            return min(position + (2 if word == "-m" else 1), len(words))
        if word == "--":
            return len(words)  # arranged already
        position += 2 if options.get(word) else 1
    return min(position, len(words))


def _unknown(word: str) -> str:
    near = difflib.get_close_matches(word, COMMANDS, n=1)
    hint = f"Did you mean: quickfit {near[0]}\n" if near else ""
    return (
        f"{word}: there is no such command and no such script.\n{hint}"
        f"Commands: {', '.join(COMMANDS)}.\n"
        "To watch a script:\n    quickfit run train.py"
    )


def _end_by_interrupt() -> NoReturn:
    import signal

    from quickfit.launch.process import Ending, end_as

    end_as(Ending(None, signal.SIGINT))
