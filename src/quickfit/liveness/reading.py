"""Makes scenes of a run that is being recorded: from its rows, and from the system's tables."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from quickfit.findings import Location
from quickfit.liveness import system
from quickfit.liveness.counters import Counters
from quickfit.liveness.pipelines import running_stages
from quickfit.liveness.rows import Row, value_of
from quickfit.liveness.scene import Input, Loop, Machine, Raised, Scene, Thread, Tracing
from quickfit.liveness.threads import Processes, recorded_by
from quickfit.signals.stacks import CUT_DEPTH

# Stacks and rates are of this long.
WINDOW_S = 3.0
# A process that has written nothing for this long does not answer.
_NO_ANSWER_S = 6.0
# Rates of the machine's counters that a scene has, by their column.
_RATES = {
    "cores": "cpu_s",
    "main_cores": "main_cpu_s",
    "read_bytes_per_s": "read_bytes",
    "chars_read_per_s": "chars_read",
    "major_faults_per_s": "major_faults",
    "swapped_bytes_per_s": "system_swapped_bytes",
    "disk_wait_threads": "disk_wait_s",
}


class SceneReader:
    """Looks at a run again and again.

    Args:
        folder: where the run is recorded.
        pid: the script's process.
        log_lines: what was read of TensorFlow's log.
        clock: the clock of the recording.
        look: asks the system about a process.
    """

    def __init__(
        self,
        folder: Path,
        pid: int,
        *,
        log_lines: Callable[[], list[Row]] = list,
        clock: Callable[[], float] = time.perf_counter,
        look: Callable[[int], system.Look | None] = system.look_inside,
    ) -> None:
        self._rows = recorded_by(folder, system.number_inside(pid))
        self._processes = Processes(folder, pid, look=look)
        self._clock, self._log_lines = clock, log_lines
        self._counters = Counters()
        self._sources: dict[str, str] = {}
        self._facts: Row = {}

    def quiet_s(self) -> float | None:
        """Return for how long no step was taken; None before anything was recorded."""
        now_s = self._clock()
        self._facts = self._facts or self._rows.facts()
        if "started_s" not in self._facts:
            return None
        self._counters.read_steps(self._rows, self._facts["started_s"])
        return max(now_s - self._counters.moved_s, 0.0)

    def scene(self) -> Scene | None:
        """Return what is known now; None before anything was recorded."""
        quiet_s = self.quiet_s()
        if quiet_s is None:
            return None
        now_s = self._clock()
        self._read_sources()
        phase, stages = running_stages(self._rows, now_s, self._at)
        machine = self._rows.since("machine", now_s - WINDOW_S - 1.0, 12)
        tracing, inputs = self._tracing(now_s), self._inputs(now_s)
        loop = self._loop(now_s, phase)
        quiet_s = min(quiet_s, self._counters.validated(now_s, loop, stages))
        self._processes.look()
        threads = self._processes.threads(now_s, WINDOW_S)
        answered_s = self._answered_s()
        if loop is not None and has_left(loop, threads):
            loop = None
        return Scene(
            at_s=now_s,
            window_s=WINDOW_S,
            steps=self._counters.steps,
            quiet_s=quiet_s,
            still_s=self._counters.still_s(now_s, stages, inputs, tracing),
            longest_s=self._counters.longest_s,
            is_answering=answered_s is not None and now_s - answered_s < _NO_ANSWER_S,
            answered_s=answered_s,
            ended_s=self._ended_s(),
            loop=loop,
            threads=threads,
            children=self._processes.children(now_s, WINDOW_S),
            children_born=self._processes.born,
            stages=stages,
            inputs=inputs,
            raised=self._raised(now_s),
            tracing=tracing,
            compiled=self._compiled(),
            machine=_machine(machine, self._groups(now_s)),
            environment=self._environment(),
            log_lines={row["pattern"]: tuple(row["numbers"]) for row in self._log_lines()},
            sources=self._sources,
        )

    # -- the script -----------------------------------------------------------------------------

    def _loop(self, now_s: float, phase: str) -> Loop | None:
        rows = self._rows.ask("SELECT * FROM loops WHERE end_s IS NULL ORDER BY id DESC LIMIT 1")
        if not rows:
            return None
        row, facts = rows[0], value_of(rows[0]["facts"])
        epoch = self._rows.ask(
            "SELECT epoch, end_s FROM epochs WHERE loop = ? ORDER BY rowid DESC LIMIT 1", row["id"]
        )
        began_s = epoch[0]["end_s"] if epoch else row["begin_s"]
        validating = self._rows.ask(
            "SELECT created_s FROM iterators WHERE loop = ? AND phase = 'validation'"
            " ORDER BY rowid DESC LIMIT 1",
            row["id"],
        )
        # The pipeline that was asked last may be of the validation of an earlier `fit`.
        is_validating = phase == "validation" and bool(validating)
        if is_validating:
            began_s = max(began_s, validating[0]["created_s"])
        steps = self._counters.steps_of(row["id"])
        return Loop(
            kind=row["kind"],
            location=self._at(row["file"], row["line"]),
            begin_s=row["begin_s"],
            steps=steps,
            per_s=self._counters.per_s(now_s, f"loop {row['id']}", steps, began_s=row["begin_s"]),
            epoch_steps=self._counters.epoch_steps_of(row["id"]),
            epoch=epoch[0]["epoch"] + 1 if epoch else 1,
            phase="validation" if is_validating else "train",
            lasted_s=now_s - began_s,
            facts=facts if isinstance(facts, dict) else {},
        )

    def _inputs(self, now_s: float) -> tuple[Input, ...]:
        newest: dict[int, Row] = {}
        for row in self._rows.newest("py_inputs", 40):
            newest[row["id"]] = row
        recent = [
            row for row in newest.values() if row["busy"] or row["at_s"] > now_s - 2 * WINDOW_S
        ]
        return tuple(
            Input(
                kind=row["kind"],
                name=row["name"],
                location=self._at(row["file"], row["line"]),
                workers=row["workers"],
                batches=row["batches"],
                since_batch_s=self._counters.since(now_s, f"input {row['id']}", row["batches"]),
                is_busy=bool(row["busy"]),
            )
            for row in sorted(recent, key=lambda row: row["at_s"])
        )

    def _tracing(self, now_s: float) -> Tracing | None:
        rows = self._rows.since("tracing", now_s - WINDOW_S, 12)
        if not rows:
            return None
        first, last = rows[0], rows[-1]
        span_s = last["at_s"] - first["at_s"]
        grown = last["operations"] - first["operations"]
        same = first["since_s"] == last["since_s"]
        return Tracing(
            name=last["name"],
            place=self._at(last["file"], last["line"]),
            since_s=last["since_s"],
            operations=last["operations"],
            per_s=max(grown, 0) / span_s if span_s and same else 0.0,
        )

    def _compiled(self) -> Location | None:
        """Return the function that was traced for XLA since the last step."""
        # Keras wraps the one that is compiled in others, which are traced after it.
        for row in reversed(self._rows.newest("traces", 8)):
            arguments = value_of(row["arguments"])
            is_for_xla = isinstance(arguments, dict) and arguments.get("jit")
            if is_for_xla and row["at_s"] > self._counters.moved_s:
                caller = (row["caller_file"], row["caller_line"])
                return self._at(row["file"], row["line"]) or self._at(*caller)
        return None

    def _raised(self, now_s: float) -> tuple[Raised, ...]:
        # One look in fifteen seconds.
        rows = self._rows.since("raises", now_s - 20.0, 40)
        if not rows:
            return ()
        last_s = rows[-1]["at_s"]
        if self._counters.moved_any_s > last_s:
            return ()  # something was given since
        return tuple(
            Raised(
                name=row["name"],
                message=row["message"],
                place=self._at(row["file"], row["line"]),
                caught=self._at(row["caught_file"], row["caught_line"]),
                count=row["count"],
                window_s=row["window_s"],
            )
            for row in rows
            if row["at_s"] == last_s
        )

    def _groups(self, now_s: float) -> dict[str, float]:
        """Return the cores that each group of threads used in the last seconds."""
        first: dict[str, Row] = {}
        cores: dict[str, float] = {}
        # Read every two seconds.
        for row in self._rows.since("thread_groups", now_s - 3 * WINDOW_S, 60):
            before = first.setdefault(row["name"], row)
            span_s = row["at_s"] - before["at_s"]
            cores[row["name"]] = (row["cpu_s"] - before["cpu_s"]) / span_s if span_s else 0.0
        return cores

    def _ended_s(self) -> float | None:
        rows = self._rows.ask("SELECT value FROM meta WHERE key = 'ended_s'")
        return float(rows[0]["value"]) if rows else None

    def _answered_s(self) -> float | None:
        rows = self._rows.newest("machine", 1)
        return rows[-1]["at_s"] if rows else None

    def _environment(self) -> dict[str, str]:
        # The script may set it up long after its start.
        rows = self._rows.ask("SELECT value FROM meta WHERE key = 'cluster'")
        told = value_of(rows[0]["value"]) if rows else None
        return {"TF_CONFIG": told} if isinstance(told, str) else {}

    # -- text -----------------------------------------------------------------------------------

    def _read_sources(self) -> None:
        for row in self._rows.ask("SELECT file, sha256 FROM sources"):
            if row["file"] not in self._sources:
                told = self._rows.ask("SELECT text FROM sources WHERE file = ?", row["file"])
                self._sources[row["file"]] = told[0]["text"].replace("\r\n", "\n") if told else ""

    def _at(self, file: str | None, line: int | None) -> Location | None:
        return Scene(0.0, 0.0, sources=self._sources).at(file, line)


def has_left(loop: Loop, threads: tuple[Thread, ...]) -> bool:
    """Tell whether no thread is inside a loop of the script any more.

    The probes hear of its end only when the script calls TensorFlow somewhere else.
    """
    body = loop.facts.get("body")
    if not isinstance(body, list) or len(body) != 3 or not threads:
        return False
    if any(len(thread.frames) >= CUT_DEPTH for thread in threads):
        return False  # the loop may be below the end of such a stack
    file, first, last = body
    frames = (frame for thread in threads for frame in thread.frames)
    return not any(frame.file == file and first <= frame.line <= last for frame in frames)


def _machine(rows: list[Row], groups: dict[str, float]) -> Machine:
    if len(rows) < 2:
        return Machine(groups=groups)
    first, last = rows[0], rows[-1]
    span_s = last["at_s"] - first["at_s"]
    found: dict[str, Any] = {  # numbers by name
        name: (last[column] - first[column]) / span_s
        for name, column in _RATES.items()
        if last[column] is not None and first[column] is not None and span_s > 0
    }
    busy = (last["system_busy_s"], first["system_busy_s"])
    if None not in busy and span_s > 0:
        found["other_cores"] = max((busy[0] - busy[1]) / span_s - found.get("cores", 0.0), 0.0)
    for name in ("memory_pressure", "io_pressure"):
        found[name] = last[name]
    return Machine(**found, groups=groups)
