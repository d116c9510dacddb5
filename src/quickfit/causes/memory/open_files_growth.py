"""Files are opened and never closed, until the system allows no more.

Why it is slow: every open file takes a place in a table of the process, which has 1,024 by
default, and memory for its buffer. When the table is full, the next `open` fails with "Too many
open files", wherever that happens to be. Until then every look at the table, and every new
process, gets slower.

How it shows: the number of open files grows with the steps, in every part of the run and to its
end, and so does the number of Python's own file objects, where it is Python that opens them.

Example:
    def batches():
        for path in paths:
            file = open(path, "rb")
            handles.append(file)
            yield decode(file.read())

Use instead:
    def batches():
        for path in paths:
            with open(path, "rb") as file:
                yield decode(file.read())

Fix class: same results. `with` closes the file when its block ends. For `h5py.File`, `np.memmap`
and writers of logs, one object that is opened before the loop serves all steps.

When it is wrong: a reader that opens all its shards once stops growing when it has, and nothing is
reported then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from quickfit.causes._cause import Cause, example, running_out
from quickfit.code.keras_models import functions_of_training, loop_lines
from quickfit.code.leaks import UnclosedFile, unclosed_files
from quickfit.errors import SignalMissing
from quickfit.findings import Evidence, Exhaustion, Finding, Fix, FixClass, Location, Symptom
from quickfit.signals import Signals
from quickfit.signals.holders import memory_command
from quickfit.signals.leaks import after_warm_up, by_steps, goes_on, per_batch
from quickfit.signals.memory import Growth, Point, growth, inside, points_of, time_left_s

if TYPE_CHECKING:
    from quickfit.signals._facade import Signals


def detect(signals: Signals) -> Finding | None:
    """Report open files that become more with every step."""
    files = open_files(signals)
    if files is None:
        return None
    summary = "files are opened and not closed"
    return running_out(files.exhaustion(), summary, files.opened_at, *_evidence(files, signals))


def _evidence(files: OpenFiles, signals: Signals) -> tuple[Evidence, ...]:
    grown = files.growth
    span = f"in {grown.window_s:.0f} s, {grown.per_step or 0:.2f} with every step"
    limit = f"of {files.limit:,} that are allowed" if files.limit is not None else ""
    found = [
        Evidence("more files are open", grown.total, "count", span),
        Evidence("files are open at the end", files.now, "count", limit),
    ]
    if files.objects is not None and files.objects.total > 0:
        what = "more file objects of Python are alive"
        found.append(Evidence(what, files.objects.total, "count", files.folder))
    if files.opened_at is None:
        told = f"to see lines: {memory_command(signals)}"
        found.append(Evidence("lines known that open and do not close", 0, "count", told))
    return tuple(found)


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show how to close them."""
    return Fix(
        title="Open files in a `with` block, or once before the loop",
        kind=FixClass.SAME_RESULTS,
        example=example(__doc__ or "", "Use instead"),
    )


# Readers of a pipeline open some files and close them again; a few more at the end are no leak.
MIN_FILES = 30
# A script with a limit of 1,024 files does not live long.
MIN_WINDOW_S = 4.0
# When the function that trains returns, Python closes what only it kept.
LET_GO = 0.5


@dataclass(frozen=True)
class OpenFiles:
    """Open files that become more and more.

    Args:
        now: how many are open at the end.
        limit: how many may be; None where the system does not tell.
        objects: growth of Python's own file objects; None where nobody counted twice.
        folder: the folder that most open files were seen in; empty where none was.
        opened_at: the line that opens them, as its text says.
    """

    growth: Growth
    now: int
    limit: int | None
    objects: Growth | None
    folder: str
    opened_at: Location | None

    def exhaustion(self) -> Exhaustion:
        """Return what a finding says of it."""
        grown = self.growth
        in_s = time_left_s(grown.per_s, self.limit, self.now)
        told = ("open files", "count", grown.total, grown.per_step, grown.per_s)
        return Exhaustion(*told, self.limit, in_s)


def open_files(signals: Signals) -> OpenFiles | None:
    """Return the open files of a run where they grow to its end; None where they do not.

    Raises:
        SignalMissing: the system does not tell, or the steps ran for too short a time.
    """
    steps = signals.steps
    points = points_of(inside(signals.process.rows("machine"), steps), "open_files")
    points = _while_it_ran(points)
    late = after_warm_up(points) if points else []
    if not late or late[-1][0] - late[0][0] < MIN_WINDOW_S:
        raise SignalMissing("the number of open files over some seconds of steps")
    grown = growth(points, steps)
    if grown is None or grown.total < MIN_FILES or not goes_on(by_steps(late, steps)):
        return None
    limit = signals.process.facts.get("open_files_limit")
    folders = signals.data_folders
    return OpenFiles(
        per_batch(grown, signals),
        int(late[-1][1]),
        limit if isinstance(limit, int) else None,
        signals.memory.objects.get("files"),
        folders[0].folder if folders else "",
        _opened_at(signals),
    )


def _while_it_ran(points: list[Point]) -> list[Point]:
    """Return readings without a last one at which the script had let go of nearly everything."""
    if len(points) > 1 and points[-1][1] < LET_GO * points[-2][1]:
        return points[:-1]
    return points


def _opened_at(signals: Signals) -> Location | None:
    """Return the line that opens files and keeps them, where text tells a single one."""
    if signals.is_memory_run:
        lines = [line.location for line in signals.growing_lines if "open" in line.location.text]
        if lines:
            return lines[0]
    found: list[tuple[Location, UnclosedFile]] = []
    loop = signals.loop.location
    for file in signals.source_files():
        text = signals.source_text(file)
        is_here = loop is not None and loop.file == file and signals.loop.kind != "fit"
        first, last = loop_lines(text, loop.line) if is_here and loop is not None else (0, -1)
        functions = functions_of_training(text, first, last)
        for one in unclosed_files(text):
            where = signals.location(file, one.line)
            if where and (first <= one.line <= last or one.function in functions):
                found.append((where, one))
    kept = [where for where, one in found if one.is_kept]
    return kept[0] if kept else found[0][0] if len(found) == 1 else None


CAUSE = Cause(
    title="Files are opened and not closed", symptom=Symptom.MEMORY, detect=detect, fix=fix
)
