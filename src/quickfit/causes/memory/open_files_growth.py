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

from quickfit.causes._cause import Cause, example, running_out
from quickfit.findings import Evidence, Finding, Fix, FixClass, Symptom
from quickfit.signals import Signals
from quickfit.signals.kept_objects import memory_command
from quickfit.signals.open_files import OpenFiles, open_files


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


CAUSE = Cause(
    title="Files are opened and not closed", symptom=Symptom.MEMORY, detect=detect, fix=fix
)
