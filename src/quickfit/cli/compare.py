"""`quickfit compare A B`: which part of a training got slower, by how much, and how surely."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quickfit import terminal
from quickfit.cli._stdout import answer_text
from quickfit.cli.fix import TRUST_HELP
from quickfit.cli.report import FORCE_HELP
from quickfit.errors import UsageError

if TYPE_CHECKING:
    from quickfit.findings import Comparison

# Which words before the script's name are ours, and whether a value follows.
OPTIONS = {
    "-m": True,
    "--base": True,
    "--head": True,
    "--budget": True,
    "--fail-if-slower": True,
    "--format": True,
    "--html": True,
    "--force": False,
    "--trust-script": False,
    "--help": False,
}
# What follows these belongs to a script; without one, two recordings are compared.
REVISIONS = ("--base", "--head")


class CompareFormat(StrEnum):
    """How a comparison is written."""

    TERMINAL = "terminal"
    JSON = "json"
    MARKDOWN = "markdown"


def compare(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUN RUN | SCRIPT [ARGS]", hidden=True),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(
            metavar="REVISION", help="Run the script as it is in this revision, against it here."
        ),
    ] = None,
    head: Annotated[
        str | None,
        typer.Option(metavar="REVISION", help="The newer revision. [default: the files here]"),
    ] = None,
    module: Annotated[
        str | None,
        typer.Option("-m", metavar="MODULE", help="A module, as `python -m MODULE` runs it."),
    ] = None,
    fail_if_slower: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="End with exit code 1 if it is slower by more than this, such as 10%, and the"
            " whole interval says so.",
        ),
    ] = None,
    format: Annotated[
        CompareFormat, typer.Option("--format", "-f", help="How the answer is written.")
    ] = CompareFormat.TERMINAL,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write it as a page, too.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help=FORCE_HELP)] = False,
    budget: Annotated[
        str, typer.Option(metavar="TIME", help="The time for all runs of revisions: 90s, 5m, 1h.")
    ] = "5m",
    trust_script: Annotated[bool, typer.Option("--trust-script", help=TRUST_HELP)] = False,
) -> None:
    """Say which part of a training got slower or faster, by how much, and how surely.

    \b
        quickfit compare OLD.qfrun NEW.qfrun             two recordings
        quickfit compare --base HEAD~1 train.py          a script as it was, against it here
        quickfit compare --base main --head new train.py --epochs 1
        quickfit compare --base main --fail-if-slower 10% train.py
        quickfit compare --html it.html OLD.qfrun NEW.qfrun

    Revisions are run in turns in this folder, with the data that is here: three to six fresh pairs,
    until the answer is clear. They write to a scratch folder only. Of two recordings there is one
    run each: what differs between runs by itself, and what other programs took, is allowed for.

    Exit code: 0; 1 with --fail-if-slower if it is slower; 2 and more for errors.
    """
    from quickfit.comparing.recordings import share_of

    limit = share_of("--fail-if-slower", fail_if_slower) if fail_if_slower is not None else None
    if html is not None:
        from quickfit.report.page import check_page_file

        check_page_file(html, replaces=force)
    if base is None:
        found = _recordings(words or [], module or head)
    else:
        found = _revisions(words or [], module, base, head or "", budget, limit, trust_script)
    _write(found, format)
    if html is not None:
        from quickfit.report.page import write_page

        terminal.say(f"page: {write_page(found, html, replaces=force)}")
    if limit is not None:
        _judge(found, limit, fail_if_slower or "")


def _recordings(words: list[str], other: str | None) -> Comparison:
    from quickfit.comparing.recordings import compare_recordings

    late = [word for word in words if word.startswith("-")]
    if len(words) != 2 or other or late:
        raise UsageError(
            "compare: two recordings, or a script with --base, are compared.\n"
            f"Received: {' '.join(words) or 'nothing'}\nName them, options first:\n"
            "    quickfit compare OLD.qfrun NEW.qfrun\n"
            "    quickfit compare --base HEAD~1 train.py"
        )
    return compare_recordings(Path(words[0]), Path(words[1]))


def _revisions(
    words: list[str],
    module: str | None,
    base: str,
    head: str,
    budget: str,
    limit: float | None,
    trusts_script: bool,
) -> Comparison:
    from quickfit.cli.run import time_of
    from quickfit.comparing.revisions import RevisionRequest, compare_revisions
    from quickfit.launch.target import Target

    if module is None and not words:
        raise UsageError(
            "compare: no script was given.\nName the script that trains:\n"
            f"    quickfit compare --base {base} train.py"
        )
    if module is not None:
        target = Target(module=module, args=tuple(words))
    else:
        target = Target(script=words[0], args=tuple(words[1:]))
    target.check()
    request = RevisionRequest(
        target=target,
        cwd=Path.cwd(),
        base=base,
        head=head,
        budget_s=time_of("--budget", budget),
        limit=limit,
        trusts_script=trusts_script,
    )
    line = terminal.StatusLine(sys.stderr)

    def tell(text: str) -> None:
        if sys.stderr.isatty():
            line.show(f"quickfit: {text}")

    try:
        return compare_revisions(request, tell=tell)
    finally:
        if sys.stderr.isatty():
            line.clear()


def _write(found: Comparison, format: CompareFormat) -> None:
    from quickfit.report import comparison

    if format == CompareFormat.JSON:
        answer_text(f"{comparison.comparison_dumps(found)}\n")
    elif format == CompareFormat.MARKDOWN:
        answer_text(comparison.comparison_to_markdown(found))
    else:
        answer_text(comparison.comparison_to_text(found))


def _judge(found: Comparison, limit: float, shown: str) -> None:
    """End with exit code 1 if it is surely slower than the limit; say what was decided.

    Raises:
        UsageError: there is nothing to judge by.
    """
    from quickfit.comparing.recordings import is_slower_than

    if found.slower is None:
        raise UsageError(
            f"--fail-if-slower {shown}: this cannot be judged: {found.headline}.\n"
            "Let both runs make more steps."
        )
    if is_slower_than(found.slower, limit):
        terminal.say(f"slower by more than {shown}: failed")
        raise typer.Exit(1)
    least = found.slower.high <= 1 + limit
    terminal.say(f"{'not' if least else 'not surely'} slower by more than {shown}")
