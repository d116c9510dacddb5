"""What ran: the process that trains, its loops, steps, epochs, callbacks, calls and traces."""

from __future__ import annotations

import dataclasses
import re
from functools import cached_property
from typing import Any, Self

from quickfit.code.lines import loop_line
from quickfit.errors import SignalMissing
from quickfit.findings import Location
from quickfit.recording.reader import ProcessRecording, Recording
from quickfit.signals.endings import Silence, silences
from quickfit.signals.loops import (
    BATCH_HOOKS,
    EPOCH_HOOKS,
    Call,
    CallbackTime,
    Epoch,
    Loop,
    loops_of,
    with_inner_steps,
    with_merged_loops,
)
from quickfit.signals.stacks import StackClock
from quickfit.signals.steps import (
    Steps,
    WholeTime,
    after_warmup,
    copies_per_step_s,
    every_step_of_loop,
    whole_time,
)
from quickfit.signals.traces import Trace, traced_again

LIBRARY_FOLDERS = ("site-packages", "dist-packages")


class RunSignals:
    """The quantities of a run that say what happened, before anything is concluded from them."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        # What others compute once for a run, whichever loop is asked about.
        self.shared: dict[str, Any] = {}

    @cached_property
    def process(self) -> ProcessRecording:
        """The process that trains: the script, or the one it started that trains longest."""
        processes = [self.recording.main, *self.recording.others]
        busiest = max(processes, key=lambda p: (len(p.rows("steps")), p.is_main))
        return with_merged_loops(with_inner_steps(busiest))

    @property
    def recorded_process(self) -> ProcessRecording:
        """The same process as it was recorded, with every call of a loop by itself."""
        processes = (self.recording.main, *self.recording.others)
        return next(one for one in processes if one.path == self.process.path)

    @cached_property
    def loops(self) -> list[Loop]:
        """Every loop of the training process."""
        found = loops_of(self.process, self.location)
        return [loop if loop.kind != "custom" else self._at_its_line(loop) for loop in found]

    def _at_its_line(self, loop: Loop) -> Loop:
        """Return a loop of the script with the line of its `for` or `while`."""
        where = loop.location
        if where is None:
            return loop
        line = loop_line(self.source_text(where.file), where.line)
        return dataclasses.replace(loop, location=self.location(where.file, line))

    @cached_property
    def loop(self) -> Loop:
        """The training loop that took the most time; where nothing trains, any loop."""
        if not self.loops:
            raise SignalMissing("a training loop (no `fit` and no loop of the script was seen)")
        # What a script measures or predicts beside its training is not what it is slow at.
        return max(self.loops, key=lambda loop: (loop.trains, loop.duration_s))

    def about(self, loop: Loop) -> Self:
        """Return the quantities of the same run with another loop as the one they are about."""
        if loop.id == self.loop.id:
            return self
        other = type(self)(self.recording)
        # What does not depend on the loop is not computed again.
        for name in ("process", "loops", "traces", "calls", "_source_lines", "stack_clock"):
            if name in vars(self):
                vars(other)[name] = vars(self)[name]
        other.loop, other.shared = loop, self.shared
        return other

    @cached_property
    def stack_clock(self) -> StackClock:
        """The main thread's stacks with their seconds."""
        return StackClock(self.process)

    @cached_property
    def every_step(self) -> Steps | None:
        """All steps of the loop, the warm-up among them; None without any."""
        return every_step_of_loop(self.process.rows("steps"), self.loop.id)

    @cached_property
    def all_steps(self) -> Steps | None:
        """The steps after warm-up; of very few steps all but the first, of one that one."""
        every = self.every_step
        return None if every is None else after_warmup(every, traced_again(self.traces))

    @cached_property
    def steps(self) -> Steps:
        """The steps after warm-up, however few; the first of all is never among them."""
        steps = self.all_steps
        if steps is None or not steps.warmup:
            raise SignalMissing("a second step: the first one traces and warms up")
        return steps

    @property
    def steps_per_execution(self) -> int:
        """How many batches one call of the train function takes."""
        return int(self.loop.facts.get("steps_per_execution") or 1)

    @cached_property
    def cores(self) -> float:
        """The cores the script may use."""
        return float(self.process.facts.get("usable_cores") or 1.0)

    @cached_property
    def machine_cores(self) -> float:
        """The cores of the machine, on which others run too, also outside of a limit."""
        return max(float(self.process.facts.get("cores") or 0.0), self.cores)

    @property
    def has_accelerator(self) -> bool:
        """Whether TensorFlow computed on something other than the CPU."""
        devices = self.process.facts.get("tensorflow_devices") or []
        return any(device[0] in ("GPU", "TPU") for device in devices)

    @cached_property
    def silences(self) -> list[Silence]:
        """The times that the run was quiet, and why, as it was said then."""
        return silences(self.recording.run, self.location)

    def location(self, file: str | None, line: int | None) -> Location | None:
        """Return a place with the text its line had when the script ran."""
        if file is None or line is None:
            return None
        text = self._source_lines.get(file, [])
        cell = (self.process.facts.get("cells") or {}).get(file, "")
        said = text[line - 1].strip() if 0 < line <= len(text) else ""
        return Location(file, line, said, cell=cell)

    def is_users(self, place: Location) -> bool:
        """Tell whether a place is in a file of the user.

        The recording has the text of the user's files, and marks their frames; of any other file
        its folder tells.
        """
        file = place.file
        if place.cell or file in self._source_lines or file in self._user_files:
            return True
        is_installed = any(f"/{part}/" in file for part in LIBRARY_FOLDERS)
        is_standard = re.search(r"/lib(64)?/python3(\.\d+)?/", file) is not None
        return not (is_installed or is_standard or file.startswith("<"))

    @cached_property
    def _user_files(self) -> set[str]:
        processes = (self.process, *self.recording.others)
        rows = (row for process in processes for row in process.rows("frames"))
        return {row["file"] for row in rows if row["is_user"]}

    def source_text(self, file: str) -> str:
        """Return the text a file had when the script ran, or nothing."""
        return "\n".join(self._source_lines.get(file, []))

    def source_files(self) -> list[str]:
        """Return the user's files of which the text is known."""
        return list(self._source_lines)

    @cached_property
    def _source_lines(self) -> dict[str, list[str]]:
        rows = [row for p in (self.process, *self.recording.others) for row in p.rows("sources")]
        # As Python counts lines: a form feed does not end one.
        return {row["file"]: row["text"].replace("\r\n", "\n").split("\n") for row in rows}

    @cached_property
    def callbacks(self) -> list[CallbackTime]:
        """What each callback's batch hooks take per step, the slowest first."""
        return self.loop.callback_times(self.process, self.location, BATCH_HOOKS)

    @cached_property
    def epoch_callbacks(self) -> list[CallbackTime]:
        """What each callback's epoch hooks take per epoch, the slowest first."""
        return self.loop.callback_times(self.process, self.location, EPOCH_HOOKS)

    @cached_property
    def calls(self) -> list[Call]:
        """What the lines of the script call, in its main loop or anywhere, the longest first."""
        found = [Call.from_row(row, self.location) for row in self.process.rows("calls")]
        return sorted(found, key=lambda call: call.wall_s, reverse=True)

    @cached_property
    def traces(self) -> list[Trace]:
        """Every trace of the process, in order."""
        return [Trace.from_row(row, self.location) for row in self.process.rows("traces")]

    @cached_property
    def epochs(self) -> list[Epoch]:
        """The epochs of the loop that ended."""
        return [Epoch.from_row(r) for r in self.process.rows("epochs") if r["loop"] == self.loop.id]

    @cached_property
    def whole_time(self) -> WholeTime:
        """The time of training with validation and what else lies between its steps."""
        steps = self.all_steps
        if steps is None:
            raise SignalMissing("steps after warm-up")
        return whole_time(self.process, self.loop, steps, self.epochs)

    @cached_property
    def copies_s(self) -> float | None:
        """How long arrays and numbers became tensors per step; None where nobody looked."""
        return copies_per_step_s(self.process.rows("copies"), self.loop.id)

    @cached_property
    def copies_between_s(self) -> float:
        """The part of that between the calls of a loop."""
        return copies_per_step_s(self.process.rows("copies"), self.loop.id, "outside_s") or 0.0
