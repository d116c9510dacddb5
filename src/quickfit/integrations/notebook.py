"""quickfit in a notebook: `%load_ext quickfit`, `%%quickfit` on a cell, `%quickfit report`.

While the cell runs, its output says how far it is, at most twice a second, and shows the report so
far, which a process beside the kernel makes; at the end it is the whole report. Jupyter and Colab
draw it as HTML without a frame or a script; whatever cannot draw it shows the text of the terminal.
"""

from __future__ import annotations

import ast
import contextlib
import contextvars
import html
import io
import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from quickfit import units
from quickfit.errors import QuickfitError
from quickfit.integrations.watch import Watch, is_notebook, numbers_of_cells
from quickfit.lab.child import DEVNULL, Child, ChildOptions, python_command
from quickfit.probes import session
from quickfit.recording.folder import newest_run

if TYPE_CHECKING:
    from quickfit.findings import Diagnosis

# The most often that an output changes.
UPDATE_EVERY_S = 0.5
# Where the report so far, as `live_reports` writes it, has the place for what the run is doing.
STATUS_MARK = "(the status of the run)"
_REPORTER = """
import sys
from quickfit.integrations.live_reports import renew_live_report
renew_live_report(*sys.argv[1:])
"""
# The rate that is shown is that of the last seconds.
RATE_OVER_S = 5.0


class CellReport:
    """A report as a notebook shows it: HTML, and text where there is none."""

    def __init__(self, diagnosis: Diagnosis) -> None:
        self.diagnosis = diagnosis

    def _repr_html_(self) -> str:
        from quickfit.report.page.small import render_small

        return render_small(self.diagnosis)

    def __repr__(self) -> str:
        from quickfit.report import write_report

        stream = io.StringIO()
        write_report(self.diagnosis, stream)
        return stream.getvalue()


class StatusLine:
    """What a cell shows while it runs.

    Args:
        status: what the run is doing.
        report: HTML and text of the report so far, with a mark where the status stands.
    """

    def __init__(self, status: str, report: Mapping[str, str] | None = None) -> None:
        self.status = status
        self.report = report

    def _repr_html_(self) -> str:
        from quickfit.report.page.small import render_status

        if self.report is None:
            return render_status(self.status)
        return self.report["html"].replace(STATUS_MARK, html.escape(self.status))

    def __repr__(self) -> str:
        return f"quickfit: {self.status}{self.report['text'] if self.report else ''}"


def load_ipython_extension(shell: Any) -> None:  # IPython's InteractiveShell
    """Add the magics to a shell; from here on, lines that make datasets and models are known."""
    magics = _Magics(shell)
    shell.register_magic_function(magics.quickfit, "line_cell", "quickfit")
    if not session.is_watched_from_outside():
        session.wait_inside()


class _Magics:
    """The magics of one shell."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.newest: Path | None = None

    def quickfit(self, line: str, cell: str | None = None) -> CellReport | None:
        """Watch a cell and show why its training is slow, or show a report again.

        ::

            %%quickfit                 watch this cell; the report is below it
            model.fit(...)

            %quickfit report           the report of the last cell that was watched
            %quickfit report RUN       of another recording, a .qfrun folder
        """
        try:
            if cell is None:
                return self._report(line.split())
            if line.strip():
                raise QuickfitError(
                    f"%%quickfit takes no arguments.\nReceived: {line.strip()}\n"
                    "Write %%quickfit alone in the first line of the cell."
                )
        except QuickfitError as error:
            raise _usage_error(str(error)) from None
        self._watch(cell)
        return None

    def _report(self, words: list[str]) -> CellReport:
        from quickfit.diagnosis import diagnose

        if len(words) not in (1, 2) or words[0] != "report":
            raise QuickfitError(
                f"%quickfit knows one command: report.\nReceived: {' '.join(words) or 'nothing'}\n"
                "Write `%quickfit report`, or `%%quickfit` in the first line of a cell."
            )
        run = Path(words[1]) if len(words) == 2 else self.newest
        return CellReport(diagnose(run or newest_run(Path(".quickfit/runs")), with_details=True))

    def _watch(self, cell: str) -> None:
        watch = Watch(report=False)
        if watch.folder is None:  # `quickfit run` watches the whole kernel
            _run_cell(self.shell, cell)
            return
        self.newest = watch.folder
        live = _LiveOutput(watch.folder)
        with watch:
            live.start()
            try:
                _run_cell(self.shell, cell)
            except BaseException as error:
                _hide_own_frames(error, self.shell)
                raise
            finally:
                live.stop()
                watch.stop()
                live.show_report()


def _usage_error(message: str) -> Exception:
    from IPython.core.error import UsageError

    error: Exception = UsageError(message)
    return error


def _run_cell(shell: Any, cell: str) -> None:
    """Run the code below the magic under the lines and the number that the notebook has for it."""
    code = shell.transform_cell(cell)
    # The magic is the first line of the cell, and no Python.
    whole = f"# %%quickfit\n{code}"
    name = shell.compile.cache(whole, _cell_number(shell), raw_code=f"%%quickfit\n{cell}")
    tree = shell.transform_ast(shell.compile.ast_parse(code, filename=name))
    ast.increment_lineno(tree)
    last = [tree.body.pop()] if tree.body and isinstance(tree.body[-1], ast.Expr) else []
    exec(shell.compile(tree, name, "exec"), shell.user_global_ns, shell.user_ns)
    if last:  # its value is shown, as that of any cell
        shown = ast.Interactive(body=last)
        exec(shell.compile(shown, name, "single"), shell.user_global_ns, shell.user_ns)


def _cell_number(shell: Any) -> int:
    """Return the number of the cell that runs; the shell counts on before or after, by version."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        number = numbers_of_cells(shell).get(frame.f_code.co_filename)
        if number is not None:
            return number
        frame = frame.f_back
    return int(shell.execution_count)


def _hide_own_frames(error: BaseException, shell: Any) -> None:
    """Let the notebook show the traceback of an error as it would be without the magic."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next

    def render() -> Any:  # what the shell prints: lines
        return shell.InteractiveTB.structured_traceback(type(error), error, trace)

    if trace is not None:
        with contextlib.suppress(AttributeError):  # an error that takes no attribute
            error._render_traceback_ = render  # type: ignore[attr-defined]


class _LiveOutput:
    """The output of a cell that is watched: it changes while the cell runs.

    Args:
        folder: of the recording.
        clock: tells the time.
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.perf_counter) -> None:
        self.folder = folder
        self._clock = clock
        self._begin_s = clock()
        self._done = threading.Event()
        self._thread: threading.Thread | None = None
        self._handle: Any = None
        self._scratch = tempfile.TemporaryDirectory(prefix="quickfit-cell-")
        self._reports = Path(self._scratch.name) / "report.json"
        self._reporter: Child | None = None
        self._report: dict[str, str] | None = None
        self._report_at = 0
        self._seen: list[tuple[float, int]] = []

    def start(self) -> None:
        """Show the output, and change it from now on; in a terminal there is nothing to change."""
        from IPython.display import display

        if not is_notebook():
            return
        self._handle = display(StatusLine("watching"), display_id=True)
        # In a process of its own: a diagnosis here would keep Python's lock from the training.
        command = python_command(_REPORTER, str(self.folder), str(self._reports))
        self._reporter = Child(command, ChildOptions(stdout=DEVNULL, stderr=DEVNULL))
        # Outputs belong to the cell that this context is of.
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._follow,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the changes."""
        self._done.set()
        if self._thread is not None:
            self._thread.join()
        if self._reporter is not None:
            self._reporter.end()
        self._scratch.cleanup()

    def show_report(self) -> None:
        """Show the report of the whole recording."""
        from IPython.display import display

        from quickfit.diagnosis import diagnose

        report = CellReport(diagnose(self.folder, with_details=True))
        if self._handle is not None:
            self._handle.update(report)
        else:
            display(report)

    def _follow(self) -> None:
        try:
            while not self._done.wait(UPDATE_EVERY_S):
                self._update()
        except Exception as error:  # noqa: BLE001 - a failing display must not touch the cell
            self._handle.update(StatusLine(f"no live report ({type(error).__name__}: {error})"))

    def _update(self) -> None:
        progress = session.progress_inside(self.folder)
        if progress is None:
            return
        self._read_report()
        status = self._status(self._clock(), *progress)
        self._handle.update(StatusLine(status, self._report))

    def _read_report(self) -> None:
        with contextlib.suppress(OSError):  # there is none yet
            changed_at = self._reports.stat().st_mtime_ns
            if changed_at != self._report_at:
                self._report_at = changed_at
                self._report = json.loads(self._reports.read_bytes())

    def _status(self, at_s: float, steps: int, epoch: int) -> str:
        self._seen = [seen for seen in self._seen if at_s - seen[0] <= RATE_OVER_S]
        self._seen.append((at_s, steps))
        (first_s, first), took_s = self._seen[0], at_s - self._begin_s
        facts = [f"running for {units.seconds(took_s)}"]
        if steps:
            facts.append(f"step {units.count(steps)}")
        if epoch:
            facts.append(f"epoch {epoch}")
        if steps > first:
            facts.append(f"{units.seconds((at_s - first_s) / (steps - first))} a step")
        return ", ".join(facts)
