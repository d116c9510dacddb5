"""`Signals`: the only thing a cause may ask. It computes each quantity once, when it is asked for.

Asking for what nobody recorded raises `SignalMissing`; the engine turns that into "not checked".
A cause never catches it: unmeasured is not healthy.
"""

from __future__ import annotations

import bisect
import statistics
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from quickfit.errors import SignalMissing
from quickfit.findings import Location
from quickfit.pipeline_model.stages import input_period_s
from quickfit.recording.reader import ProcessRecording, Recording
from quickfit.signals import input as inputs
from quickfit.signals.gains import Work
from quickfit.signals.host import SampledStack, Samples, hottest_user_line, package_of
from quickfit.signals.loops import (
    CallbackTime,
    EagerOps,
    Epoch,
    Loop,
    Trace,
    WholeTime,
    loops_of,
    whole_time,
)
from quickfit.signals.machine import MachineUse, machine_use
from quickfit.signals.merging import with_merged_loops
from quickfit.signals.shuffle import ShuffleBuffer, fullest_shuffle
from quickfit.signals.steps import MIN_STEPS, Step, Steps, steps_of_loop


@dataclass(frozen=True)
class HotLine:
    """A user's line, and the share of the samples that were at or below it."""

    location: Location
    share: float
    samples: int


# "Where was it when last seen" looks at the samples of this long before the end.
LAST_SEEN_S = 1.5


class Signals:
    """The quantities of one run. Everything is about its main training loop: the longest one."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording

    # -- the run ----------------------------------------------------------------------------

    @cached_property
    def process(self) -> ProcessRecording:
        """The process that trains: the script, or the one it started that trains longest."""
        processes = [self.recording.main, *self.recording.others]
        busiest = max(processes, key=lambda p: (len(p.rows("steps")), p.is_main))
        return with_merged_loops(busiest)

    @cached_property
    def loops(self) -> list[Loop]:
        """Every loop of the training process."""
        return loops_of(self.process, self.location)

    @cached_property
    def loop(self) -> Loop:
        """The loop that took the most time."""
        if not self.loops:
            raise SignalMissing("a training loop (no `fit` was seen)")
        return max(self.loops, key=lambda loop: loop.duration_s)

    @cached_property
    def all_steps(self) -> Steps | None:
        """The steps after warm-up, however few; None where there are hardly any."""
        return steps_of_loop(self.process.rows("steps"), self.loop.id)

    @cached_property
    def steps(self) -> Steps:
        """The steps after warm-up; at least twenty."""
        steps = self.all_steps
        if steps is None or len(steps.steps) < MIN_STEPS:
            seen = 0 if steps is None else len(steps.steps)
            raise SignalMissing(f"{MIN_STEPS} steps after warm-up (seen: {seen})")
        return steps

    @property
    def steps_per_execution(self) -> int:
        """How many batches one call of the train function takes."""
        return int(self.loop.facts.get("steps_per_execution") or 1)

    @cached_property
    def cores(self) -> float:
        """The cores the script may use."""
        return float(self.process.facts.get("usable_cores") or 1.0)

    @property
    def has_accelerator(self) -> bool:
        """Whether TensorFlow computed on something other than the CPU."""
        devices = self.process.facts.get("tensorflow_devices") or []
        return any(device[0] in ("GPU", "TPU") for device in devices)

    def location(self, file: str | None, line: int | None) -> Location | None:
        """Return a place with the text its line had when the script ran."""
        if file is None or line is None:
            return None
        text = self._source_lines.get(file, [])
        return Location(file, line, text[line - 1].strip() if 0 < line <= len(text) else "")

    def source_text(self, file: str) -> str:
        """Return the text a file had when the script ran, or nothing."""
        return "\n".join(self._source_lines.get(file, []))

    @cached_property
    def _source_lines(self) -> dict[str, list[str]]:
        rows = [row for p in (self.process, *self.recording.others) for row in p.rows("sources")]
        # As Python counts lines: a form feed does not end one.
        return {row["file"]: row["text"].replace("\r\n", "\n").split("\n") for row in rows}

    # -- input ------------------------------------------------------------------------------

    @cached_property
    def wait(self) -> inputs.Wait:
        """How long a step waits for input."""
        steps, loop = self.steps, self.loop.id
        spe, start_s = self.steps_per_execution, sum(self._epoch_start_s(after=steps.begin_s))
        found = inputs.wait_from_pipeline(self.process, loop, steps, spe, start_s)
        found = found or inputs.wait_from_python(self.process, loop, steps)
        if found is None:
            raise SignalMissing("tf.data's model of the pipeline, or the time of a Python input")
        return found

    @cached_property
    def _pipeline(self) -> tuple[list[Any], int]:
        return inputs.pipeline(self.process, self.loop.id, self.steps)

    @cached_property
    def stages(self) -> list[inputs.Stage]:
        """The stages of the input pipeline from the consumer to the source."""
        costs, top = self._pipeline
        written = inputs.operations(self.process)
        return inputs.stages(costs, written, top, self.steps_per_execution, self.location)

    @cached_property
    def shuffle(self) -> ShuffleBuffer | None:
        """The shuffle of the pipeline that held the most; None without one."""
        if not inputs.snapshots_of(self.process, self.loop.id):
            raise SignalMissing("tf.data's model of the pipeline")
        return fullest_shuffle(self.process, self.loop.id, self.location)

    @cached_property
    def input_period_s(self) -> float:
        """The least time between two steps that the pipeline as it runs allows."""
        return input_period_s(self._pipeline[0]) * self.steps_per_execution

    @cached_property
    def input_limit_s(self) -> float | None:
        """The step time at which the input as it is would be the limit; None if not measured."""
        try:
            source = self.py_input
            if source is not None:
                return source.batch_s * self.steps_per_execution
            return self.input_period_s
        except SignalMissing:
            return None

    @cached_property
    def epoch_start_s(self) -> list[float]:
        """The extra time of each epoch's first step, without what tracing took of it."""
        return self._epoch_start_s(after=0.0)

    def _epoch_start_s(self, *, after: float) -> list[float]:
        rows = [r for r in self.process.rows("steps") if r["loop"] == self.loop.id]
        usual_s = statistics.median(row["call_s"] for row in rows) if rows else 0.0
        extra, epoch = [], None
        for row in rows:
            if row["epoch"] != epoch:
                epoch = row["epoch"]
                traced_s = self.traced_s(row["begin_s"], row["end_s"])
                if row["end_s"] > after:
                    extra.append(max(row["call_s"] - usual_s - traced_s, 0.0))
        return extra

    def traced_s(self, begin_s: float, end_s: float) -> float:
        """Return the time the training thread traced in a span, nested traces counted once."""
        spans = [t for t in self.traces if begin_s <= t.at_s <= end_s and t.is_in_loop]
        return sum(trace.duration_s for trace in spans if not trace.is_nested)

    @cached_property
    def py_input(self) -> inputs.PyInput | None:
        """The Python generator or PyDataset that feeds the loop; None if something else does."""
        if self.loop.input not in ("generator", "pydataset"):
            return None
        totals = inputs.py_input_totals(self.process, self.loop.id, self.steps)
        if totals is None or not totals["batches"]:
            raise SignalMissing("the time a Python input takes per batch")
        batches = totals["batches"]
        return inputs.PyInput(
            kind=totals["kind"],
            name=totals["name"],
            location=self.location(totals["file"], totals["line"]),
            workers=totals["workers"],
            batches=batches,
            batch_s=totals["wall_s"] / batches,
            batch_cpu_s=totals["cpu_s"] / batches,
            busy_share=min(totals["wall_s"] / totals["window_s"], 1.0),
        )

    # -- host -------------------------------------------------------------------------------

    @cached_property
    def _samples(self) -> list[SampledStack]:
        return Samples(self.process).between(self.steps.begin_s, self.steps.end_s)

    def hot_input_line(self) -> HotLine | None:
        """Return the user's line at which the input threads, here or in workers, spend the time."""
        return self._hot(self._input_stacks())

    def _input_stacks(self) -> list[SampledStack]:
        stacks = [s for s in self._samples if s.role == "input"]
        for process in self.recording.others:
            workers = Samples(process).between(self.steps.begin_s, self.steps.end_s)
            stacks += [s for s in workers if s.role in ("main", "input")]
        return stacks

    def input_libraries(self) -> set[str]:
        """Return the packages seen on the stacks of the input code, such as `PIL`."""
        stacks = self._input_stacks()
        return {name for s in stacks for f in s.frames if (name := package_of(f.file))}

    def hot_line_in(self, file: str, first_line: int) -> HotLine | None:
        """Return the hottest line of the function that begins at a place, on the main thread."""
        # The innermost user frame may be a helper; the function itself is on the stack.
        sources = self._source_lines
        return self._hot([s for s in self.main_stacks() if _runs(s, file, first_line, sources)])

    def last_seen(self) -> list[tuple[str, HotLine]]:
        """Return the user's line that each kind of thread was at when last looked at."""
        rows = self.process.rows("samples")
        if not rows:
            return []
        newest_s = rows[-1]["at_s"]
        stacks = Samples(self.process).between(newest_s - LAST_SEEN_S, newest_s)
        found = []
        for role in ("main", "input"):
            line = self._hot([stack for stack in stacks if stack.role == role])
            if line is not None:
                found.append((role, line))
        return found

    def main_stacks(self) -> list[SampledStack]:
        """Return the samples of the thread that runs the loop."""
        return [s for s in self._samples if s.role == "main"]

    def _hot(self, stacks: list[SampledStack]) -> HotLine | None:
        found = hottest_user_line(stacks)
        if found is None:
            return None
        frame, seen, total = found
        where = self.location(frame.file, frame.line)
        assert where is not None
        named = Location(where.file, where.line, where.text, frame.function)
        return HotLine(named, seen / total, total)

    @cached_property
    def callbacks(self) -> list[CallbackTime]:
        """What each callback's batch hooks take per step, the slowest first."""
        return self.loop.callbacks_per_step(self.process, self.location)

    @cached_property
    def traces(self) -> list[Trace]:
        """Every trace of the process, in order."""
        return [Trace.from_row(row, self.location) for row in self.process.rows("traces")]

    @cached_property
    def eager_ops(self) -> EagerOps:
        """The operations of an eager step."""
        rows = [r for r in self.process.rows("eager_ops") if r["loop"] == self.loop.id]
        if not rows:
            raise SignalMissing("a look at the operations of an eager step")
        return EagerOps.from_row(rows[-1])

    @cached_property
    def is_eager(self) -> bool:
        """Whether the train step runs eagerly."""
        facts = self.loop.facts
        return bool(facts.get("run_eagerly") or facts.get("functions_run_eagerly"))

    @cached_property
    def untraced_steps(self) -> tuple[Step, ...]:
        """The steps during which nothing was traced; all of them where each one traces."""
        times = sorted(trace.at_s for trace in self.traces)
        plain = tuple(
            step
            for step in self.steps.steps
            if bisect.bisect_left(times, step.end_s - step.cycle_s)
            == bisect.bisect_right(times, step.end_s)
        )
        return plain or self.steps.steps

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
        return whole_time(steps, self.epochs)

    # -- machine ----------------------------------------------------------------------------

    @cached_property
    def machine(self) -> MachineUse:
        """What the machine did while the steps ran."""
        found = machine_use(self.recording, self.steps)
        if found is None:
            raise SignalMissing("two readings of the machine while steps ran")
        return found

    @cached_property
    def work(self) -> Work:
        """What one step needs in wall time and CPU, for predicting gains."""
        steps, wait = self.steps, self.wait
        compute_s = max(steps.mean_s - wait.step_s - steps.mean_of("callbacks_s"), 0.0)
        input_cpu_s = self._input_cpu_s()
        process_cpu_s = self.machine.cpu_cores * steps.mean_s
        # TensorFlow's idle threads spin while they starve, so what is left over is an upper
        # limit; compute cannot use more than all cores for as long as it runs.
        compute_cpu_s = min(max(process_cpu_s - input_cpu_s, 0.0), compute_s * self.cores)
        # What others leave over now; the script may get more of it once it asks for more.
        left = max(self.cores - (self.machine.other_cores or 0.0), self.machine.cpu_cores, 0.5)
        return Work(
            step_s=steps.mean_s,
            compute_s=compute_s,
            compute_cpu_s=compute_cpu_s,
            input_cpu_s=input_cpu_s,
            cores=self.cores,
            free_cores=min(left, self.cores),
            is_shared=not self.has_accelerator,
        )

    def _input_cpu_s(self) -> float:
        if self.loop.input in ("generator", "pydataset"):
            source = self.py_input
            return source.batch_cpu_s * self.steps_per_execution if source else 0.0
        try:
            return sum(stage.work_s for stage in self.stages)
        except SignalMissing:
            return 0.0


def _runs(stack: SampledStack, file: str, first_line: int, sources: dict[str, list[str]]) -> bool:
    """Tell whether a function that begins at a line is on a stack."""
    last_line = _end_of_block(sources.get(file, []), first_line)
    return any(f.file == file and first_line <= f.line <= last_line for f in stack.frames)


def _end_of_block(lines: list[str], first_line: int) -> int:
    """Return the last line of the indented block that begins at a `def` line."""
    if not 0 < first_line <= len(lines):
        return first_line
    start = lines[first_line - 1]
    indent = len(start) - len(start.lstrip())
    last = first_line
    for number in range(first_line + 1, len(lines) + 1):
        text = lines[number - 1]
        is_inside = not text.strip() or len(text) - len(text.lstrip()) > indent
        is_header = text.lstrip().startswith((")", "def ", "@")) and number <= first_line + 3
        if not is_inside and not is_header:
            break
        last = number
    return last


__all__ = ["HotLine", "Signals"]
