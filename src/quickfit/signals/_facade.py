"""`Signals`: the only thing a cause may ask. It computes each quantity once, when it is asked for.

Asking for what nobody recorded raises `SignalMissing`; the engine turns that into "not checked".
A cause never catches it: unmeasured is not healthy.
"""

from __future__ import annotations

import bisect
import statistics
from functools import cached_property
from typing import TYPE_CHECKING, Any

from quickfit.errors import SignalMissing
from quickfit.pipeline_model.stages import input_period_s
from quickfit.recording.reader import ProcessRecording
from quickfit.signals import input as inputs
from quickfit.signals._host import HostSignals, HotLine
from quickfit.signals.drift import EPOCH_PARTS, HOST_PARTS, PARTS, Drift, Slowdown, better_explained
from quickfit.signals.drift_series import all_series, epoch_series
from quickfit.signals.endings import LogLine, log_lines
from quickfit.signals.first_step import first_wait
from quickfit.signals.gains import Work
from quickfit.signals.gpus import GpuUse, gpu_uses
from quickfit.signals.loops import EagerOps
from quickfit.signals.machine import DataFolder, MachineUse, data_folders, machine_use
from quickfit.signals.memory import GrowingLine, MemoryUse, growing_lines, memory_use
from quickfit.signals.python_input import held_s, held_up
from quickfit.signals.shuffle import ShuffleBuffer, fullest_shuffle
from quickfit.signals.spikes import Spikes, spikes_of
from quickfit.signals.steps import WARMUP_STEPS, Step, Steps

if TYPE_CHECKING:
    from quickfit.signals.leaks import Leak

# With XLA, a call this many times as long as the others compiled.
RECOMPILED = 10.0


class Signals(HostSignals):
    """The quantities of one run. Everything is about its main training loop: the longest one."""

    # -- input ------------------------------------------------------------------------------

    @cached_property
    def wait(self) -> inputs.Wait:
        """How long a step waits for input."""
        single = self._wait_of_first_step()
        if single is not None:
            return single
        steps, loop = self.steps, self.loop.id
        spe, start_s = self.steps_per_execution, sum(self._epoch_start_s(after=steps.begin_s))
        found = inputs.wait_of_steps(steps)
        found = found or inputs.wait_from_pipeline(self.process, loop, steps, spe, start_s)
        found = found or inputs.wait_from_python(self.process, loop, steps)
        if found is None and self.loop.input == "python":
            found = inputs.no_wait(steps)
        if found is None:
            raise SignalMissing("tf.data's model of the pipeline, or the time of a Python input")
        return held_up(found, self._held_s(), steps)

    def _wait_of_first_step(self) -> inputs.Wait | None:
        """Return the wait of a training of a single step, by what its first batch took."""
        steps = self.all_steps
        if steps is None or steps.warmup or not inputs.snapshots_of(self.process, self.loop.id):
            return None
        first = first_wait(self.process, self.loop, self.traces)
        wait_s = min(first.fill_s + first.batch_s, steps.mean_s)
        source = "what tf.data's model says of the first batch"
        return inputs.Wait(wait_s, wait_s / steps.mean_s, 1, source, 0.25 * wait_s / steps.mean_s)

    def _held_s(self) -> float:
        """Return how long a step waits for Python's lock, which a generator holds."""
        try:
            source = self.py_input
            if source is None or source.workers > 1:
                return 0.0
            return held_s(source, self.machine, self.steps, self.steps_per_execution)
        except SignalMissing:
            return 0.0

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
        usual_s = statistics.median(map(_busy_s, rows)) if rows else 0.0
        extra, epoch = [], None
        for row in rows:
            if row["epoch"] != epoch:
                epoch = row["epoch"]
                traced_s = self.traced_s(row["begin_s"], row["end_s"])
                if row["end_s"] > after:
                    extra.append(max(_busy_s(row) - usual_s - traced_s, 0.0))
        return extra

    def traced_s(self, begin_s: float, end_s: float) -> float:
        """Return the time the training thread traced in a span, nested traces counted once."""
        spans = [t for t in self.traces if begin_s <= t.at_s <= end_s and t.is_in_loop]
        return sum(trace.duration_s for trace in spans if not trace.is_nested)

    def compiled_s(self, steps: Steps) -> float:
        """Return the time of tracing and compiling in steps.

        A new trace is optimised, and with XLA compiled, when it first runs: what such a step
        takes longer than the others belongs to it, and no probe sees it otherwise. XLA compiles
        again for a batch of another size, without a new trace.
        """
        calls = [step.call_s for step in steps.steps if step.call_s is not None]
        usual_s = statistics.median(calls or [0.0])
        # A loop of the script is known to be one only after its first step.
        first_s = steps.steps[0].end_s if self.loop.kind != "fit" else 0.0
        times = sorted(
            (t.at_s, t.duration_s)
            for t in self.traces
            if (t.is_in_loop or t.at_s <= first_s) and not t.is_nested
        )
        ends = [at_s for at_s, _ in times]
        is_jit = bool(self.loop.facts.get("jit_compile"))
        total_s = 0.0
        for step in steps.steps:
            first = bisect.bisect_left(ends, step.end_s - step.cycle_s)
            traced_s = sum(s for _, s in times[first : bisect.bisect_right(ends, step.end_s)])
            is_recompiled = is_jit and (step.call_s or 0.0) > max(RECOMPILED * usual_s, 0.2)
            if traced_s or is_recompiled:
                total_s += min(max(traced_s, (step.call_s or 0.0) - usual_s), step.cycle_s)
        return total_s

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
            made_at=self.location(totals.get("made_file"), totals.get("made_line")),
            busy_share=min(totals["wall_s"] / totals["window_s"], 1.0),
        )

    # -- the step ---------------------------------------------------------------------------

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
    def spikes(self) -> Spikes | None:
        """The sporadic slow steps; None without."""
        blocks = [r for r in self.process.rows("step_blocks") if r["loop"] == self.loop.id]
        return spikes_of(self.steps, self.whole_time.total_s, blocks)

    @cached_property
    def whole_turns(self) -> Steps:
        """The steps that were seen to their end.

        Of the last turn of a loop that the script wrote, only the end of its call is.
        """
        steps = self.steps
        if self.loop.kind == "fit" or len(steps.steps) < 2:
            return steps
        return Steps(steps.steps[:-1], steps.warmup)

    @cached_property
    def drift(self) -> Drift:
        """How the steps and their parts went over the run."""
        others = [p for p in (self.recording.main, *self.recording.others) if not self._is_own(p)]
        plain, spe, steps = self.untraced_steps, self.steps_per_execution, self.whole_turns
        series = all_series([self.process, *others], self.loop.id, steps, plain, spe)
        # Where operations run one by one, the call of the step is Python of the script's, too.
        looked = [row["loop"] for row in self.process.rows("eager_ops")]
        is_host = self.is_eager or self.loop.id in looked
        return Drift(series, self.machine_cores, HOST_PARTS if is_host else PARTS)

    @cached_property
    def slowdown(self) -> Slowdown | None:
        """Whether the training gets slower as it runs, and what explains it."""
        series = epoch_series(self.recording, self.process, self.loop.id, self.epochs)
        epochs = Drift(series, self.machine_cores, EPOCH_PARTS, "epoch")
        return better_explained(self.drift.slowdown, epochs.slowdown)

    def _is_own(self, process: ProcessRecording) -> bool:
        return process.path == self.process.path

    # -- machine ----------------------------------------------------------------------------

    @cached_property
    def machine(self) -> MachineUse:
        """What the machine did while the steps ran."""
        found = machine_use(self.recording, self.steps)
        if found is None:
            raise SignalMissing("two readings of the machine while steps ran")
        return found

    @cached_property
    def gpus(self) -> list[GpuUse]:
        """How NVIDIA's GPUs were used while the steps ran."""
        found = gpu_uses(self.process, self.steps)
        if not found:
            raise SignalMissing("readings of a GPU while steps ran (NVIDIA's driver and library)")
        return found

    @cached_property
    def step_cores(self) -> float:
        """The cores that are in use while steps run; while iterators end, nothing runs."""
        whole = self.whole_time
        ends = whole.iterator_ends_s / whole.total_s if whole.total_s else 0.0
        return min(self.machine.cpu_cores / max(1 - ends, 0.2), max(self.cores, 1.0))

    @cached_property
    def memory(self) -> MemoryUse:
        """Level and growth of memory while the steps ran."""
        rows = [r["end_s"] for r in self.process.rows("steps") if r["loop"] == self.loop.id]
        begun_s = rows[WARMUP_STEPS - 1] if len(rows) >= WARMUP_STEPS else None
        found = memory_use(self.process, self.steps, begun_s=begun_s)
        if found is None:
            raise SignalMissing("a reading of memory while steps ran")
        return found

    @cached_property
    def leak(self) -> Leak | None:
        """Memory that goes on growing to the end, and what it is that grows; None without."""
        # It asks for other signals, and so cannot be imported before they are there.
        from quickfit.signals.leak_kinds import leak_with_kind

        return leak_with_kind(self)

    @cached_property
    def growing_lines(self) -> list[GrowingLine]:
        """The user's lines that hold more and more memory; only a run with `--memory` tells."""
        if not self.is_memory_run:
            raise SignalMissing("a run with --memory")
        return growing_lines(self.process, self.steps, self.location)

    @property
    def is_memory_run(self) -> bool:
        """Whether allocations were followed, which makes steps several times slower."""
        return bool(self.process.facts.get("memory_run"))

    @cached_property
    def data_folders(self) -> list[DataFolder]:
        """Where the files lie that the run read, and on which file system."""
        return data_folders(self.recording)

    @cached_property
    def log_lines(self) -> dict[str, LogLine]:
        """What TensorFlow's log said, by name; it confirms and never decides."""
        return log_lines(self.recording.run)

    @cached_property
    def work(self) -> Work:
        """What one step needs in wall time and CPU, for predicting gains."""
        steps, wait = self.steps, self.wait
        busy_s = max(steps.mean_s - wait.step_s, 0.0)
        beside_s = min(self._beside_s(), busy_s)
        compute_s = busy_s - beside_s
        input_cpu_s = self._input_cpu_s()
        process_cpu_s = self.step_cores * steps.mean_s
        # TensorFlow's idle threads spin while they starve, so what is left over is an upper
        # limit; compute cannot use more than all cores for as long as it runs.
        most_s = compute_s * self.cores + beside_s
        compute_cpu_s = min(max(process_cpu_s - input_cpu_s, 0.0), most_s)
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
            least_compute_s=self._least_compute_s(compute_s),
            holds_lock=self._input_holds_lock(),
            beside_s=beside_s,
        )

    def _beside_s(self) -> float:
        """Return how long a step is in callbacks, saves and looks at the model."""
        whole, count = self.whole_time, len(self.steps.steps)
        # Callbacks save, too.
        hooks_s = max(self.steps.mean_of("callbacks_s"), whole.saves_in_steps_s / count)
        return hooks_s + whole.looks_in_steps_s / count

    def _least_compute_s(self, compute_s: float) -> float | None:
        """Return the time the step's compute needs at best, by the CPU time of its threads."""
        cores, step_s = self.machine.thread_cores, self.steps.mean_s
        if not cores or self.has_accelerator:
            return None
        # Between epochs the main thread works, too: that is no part of a step.
        own = [s.cpu_s for s in self.steps.steps if s.cpu_s is not None and not s.is_first_of_epoch]
        main_s = statistics.median(own) if own else cores.get("main", 0.0) * step_s
        main_s = max(main_s - self.steps.mean_of("callbacks_cpu_s"), 0.0)
        # tf.data runs functions on threads of its own, but large operations of the input and of
        # the model alike run on the intra-op threads. While the step waits, all of it is input.
        shared_s = cores.get("intra-op", 0.0) * compute_s
        return max(main_s, (main_s + cores.get("inter-op", 0.0) * step_s + shared_s) / self.cores)

    def _input_holds_lock(self) -> bool:
        if self.loop.input in ("generator", "pydataset"):
            return True
        try:
            stages = self.stages
        except SignalMissing:
            return False
        return any(stage.kind == "generator" or stage.fact("runs_python") for stage in stages)

    def _input_cpu_s(self) -> float:
        if self.loop.input in ("generator", "pydataset"):
            source = self.py_input
            return source.batch_cpu_s * self.steps_per_execution if source else 0.0
        try:
            return sum(stage.work_s for stage in self.stages)
        except SignalMissing:
            return 0.0


def _busy_s(row: dict[str, Any]) -> float:
    """Return the time of a step in its call and in waiting for its batch."""
    return (row["call_s"] or 0.0) + (row.get("wait_s") or 0.0)


__all__ = ["HotLine", "Signals"]
