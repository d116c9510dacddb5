"""`quickfit.Watch`: records and reports from inside a script or a notebook.

It is a Keras callback, and a context manager for loops that are written by hand:

    model.fit(data, callbacks=[quickfit.Watch()])

    with quickfit.Watch():
        for batch in data:
            step(batch)

TensorFlow and Keras may have been imported long before; they are patched where they are. What
was made earlier (datasets, a compiled model) has no line, and the report says so.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from quickfit import __version__, terminal
from quickfit.errors import QuickfitError
from quickfit.probes import session
from quickfit.recording import folder as folders
from quickfit.tuning.numerics.loss_scale import NanLookout


class Watch:
    """Watch this process from here on; report when a `fit` or the `with` block ends.

    Under `quickfit run` it does nothing: the run is recorded and reported anyway.

    Args:
        output: the folder of the recording; by default a new one in `.quickfit/runs`.
        report: print the report at the end; `write_report` prints it at any time.
        file: where to print; by default stderr. In a notebook the report is drawn below the cell.
        guard: leave updates of `fit` out whose numbers are not finite, also under `quickfit run`;
            what made the first of them is named after the report. A model that is compiled with
            a `GuardedOptimizer` gets this without being asked.
        log_to: where the run is logged when a `fit` or the block ends: `tensorboard`, `mlflow`,
            `wandb` or `perfetto`, or several, each with a place if need be
            (`"tensorboard:logs/run1"`). A run of MLflow or W&B that is active is the one that is
            logged to; otherwise W&B is offline. Not under `quickfit run`: export that recording.

    Raises:
        UsageError: there is no such place, or its package is not installed.
    """

    def __init__(
        self,
        output: str | Path | None = None,
        *,
        report: bool = True,
        file: TextIO | None = None,
        guard: bool = False,
        log_to: str | Sequence[str] = (),
    ) -> None:
        self._log = _RunLog(log_to)
        self.reports = report
        self.file = file
        self._lookout = NanLookout(guard=guard)
        self.folder: Path | None = None
        if not session.is_watched_from_outside():
            self.folder = _new_folder(output)
            session.start_inside(self.folder)
            session.after_loops(self._after_loop)

    def write_report(self) -> None:
        """Print what is known so far; in the output of a notebook's cell, draw it."""
        if self.folder is None:
            return
        from quickfit.diagnosis import diagnose
        from quickfit.report import write_report

        session.flush(cells=_cells())
        if self.file is None and is_notebook():
            from IPython.display import display

            display(self)
        else:
            write_report(diagnose(self.folder), self._stream())
        self._write_skips()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:  # IPython passes what it wants
        """Return the report so far as a notebook shows it: HTML, or text where there is none."""
        from quickfit.diagnosis import diagnose
        from quickfit.integrations.notebook import CellReport

        if self.folder is None:
            return {"text/plain": "quickfit.Watch: `quickfit run` watches this process and reports"}
        session.flush(cells=_cells())
        report = CellReport(diagnose(self.folder, with_details=True))
        return {"text/html": report._repr_html_(), "text/plain": repr(report)}

    def stop(self) -> None:
        """End the recording; a new `Watch` begins a new one."""
        self._stop(None)

    def _stop(self, error: type[BaseException] | None) -> None:
        session.flush(cells=_cells())
        if self.folder is not None and session.stop_inside(self.folder):
            _note_end(self.folder, error)

    def _after_loop(self) -> None:
        if self.reports:
            self.write_report()
        self._log_run()

    def _log_run(self) -> None:
        if self.folder is not None and self._log.places:
            session.flush(cells=_cells())
            self._log.write(self.folder)

    def _write_skips(self) -> None:
        for line in self._lookout.lines():
            terminal.write(self._stream(), f"{line}\n")

    def _stream(self) -> TextIO:
        if self.file is not None:
            return self.file
        return sys.stdout if is_notebook() else sys.stderr

    # -- as a context manager ---------------------------------------------------------------

    def __enter__(self) -> Watch:
        session.after_loops(None)  # one report, at the end of the block
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop(kind)
        if self.reports:
            self.write_report()
        self._log_run()

    # -- as a Keras callback: it only has to be there ------------------------------------------

    def on_train_end(self, logs: Any = None) -> None:
        """Say what was left out where no report of ours will."""
        if self.folder is None and self.reports:
            self._write_skips()

    def __getattr__(self, name: str) -> Any:  # the other hooks; the lookout has two of them
        if name.startswith("on_") or name in ("set_model", "set_params"):
            return getattr(self.__dict__.get("_lookout"), name, _nothing)
        raise AttributeError(f"'Watch' object has no attribute {name!r}")


class _RunLog:
    """Logs a run to where its user wants it, each part of it once.

    Args:
        log_to: destinations, each a name or `name:place`.
    """

    def __init__(self, log_to: str | Sequence[str]) -> None:
        from quickfit.exporting import destination_of

        given = [log_to] if isinstance(log_to, str) else log_to
        self.places = [(to, place) for to, _, place in (one.partition(":") for one in given)]
        for to, _ in self.places:
            destination_of(to)
        self._logged_s = -1.0

    def write(self, folder: Path) -> None:
        """Log what is new in the recording in a folder; what fails is said, and ends nothing."""
        from quickfit.diagnosis import diagnose
        from quickfit.exporting import export

        try:
            diagnosis = diagnose(folder, with_details=True)
        except QuickfitError as error:
            terminal.say(str(error))
            return
        for to, place in self.places:
            try:
                export(diagnosis, to, place, after_s=self._logged_s, replaces=True)
            except Exception as error:  # noqa: BLE001 - anything: the user's training comes first
                terminal.say(f"the run was not logged to {to} ({type(error).__name__}: {error})")
        if diagnosis.details is not None:
            self._logged_s = diagnosis.details.total_s


def _nothing(*_: Any, **__: Any) -> None:
    """Do nothing, as a callback without hooks does."""


def _cells() -> dict[str, str]:
    """Return the names of a notebook's cells by the files that Python takes them for."""
    numbers = numbers_of_cells(_shell())
    return {file: f"cell {number}" for file, number in numbers.items()}


def numbers_of_cells(shell: Any) -> dict[str, int]:  # IPython's InteractiveShell, or None
    """Return the numbers of a notebook's cells by the files that Python takes them for."""
    numbers = getattr(getattr(shell, "compile", None), "_filename_map", None)
    if not isinstance(numbers, dict):
        return {}
    return {str(file): int(number) for file, number in numbers.items()}


def is_notebook() -> bool:
    """Tell whether this process is the kernel of a notebook."""
    return hasattr(_shell(), "kernel")


def _shell() -> Any:
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None


def _new_folder(output: str | Path | None) -> Path:
    script = Path(getattr(sys.modules.get("__main__"), "__file__", None) or "notebook.ipynb")
    folder = Path(output).absolute() if output else folders.default_run_folder(script.name)
    folder = folder.absolute()
    folders.create(folder)
    if output is None:
        folders.drop_old_runs(folder.parent)
    facts = {
        "command": list(sys.orig_argv),
        "script": script.name,
        "argv": sys.argv[1:],
        "cwd": str(Path.cwd()),
        "python": sys.version.split()[0],
        "quickfit": __version__,
        "started_at": time.time(),
        "inside": True,
    }
    folders.write_run_file(folder, folders.seal_launch(facts, folder))
    return folder


def _note_end(folder: Path, error: type[BaseException] | None) -> None:
    facts = {**folders.read_run_file(folder), "ended_at": time.time()}
    # How the script itself ends is not known yet: an error may be caught outside the block.
    facts |= {"exit_code": 0} if error is None else {"left_by": error.__name__}
    folders.write_run_file(folder, facts)
