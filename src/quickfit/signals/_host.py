"""What the Python of the script does, by stack samples: its lines, its metrics, its input."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from quickfit.code.compiled_functions import tape_blocks
from quickfit.errors import SignalMissing
from quickfit.findings import Location
from quickfit.signals._run import RunSignals
from quickfit.signals.gains import share_interval
from quickfit.signals.loops import loops_outside
from quickfit.signals.stacks import Frame, SampledStack, Samples, hottest_user_line, package_of
from quickfit.signals.steps import Steps

# A line with less than this share of the samples is seen there by chance.
MIN_LINE_SHARE = 0.10


@dataclass(frozen=True)
class HotLine:
    """A user's line, and the share of the samples that were at or below it."""

    location: Location
    share: float
    samples: int

    @property
    def is_certain(self) -> bool:
        """Whether it is more than chance that the time is spent at this line."""
        # Half a sample less: one of one is no share of everything.
        share = max(self.share - 0.5 / self.samples, 0.0) if self.samples else 0.0
        return share_interval(share, self.samples)[0] >= MIN_LINE_SHARE


# "Where was it when last seen" looks at the samples of this long before the end.
LAST_SEEN_S = 1.5
# Functions whose time is known without samples.
WATCHED_CALLS = {
    ("tensorflow", "_call"),
    ("tensorflow", "__next__"),
    ("tensorflow", "gradient"),
    ("keras", "apply_gradients"),
    ("keras", "apply"),
    ("keras", "train_on_batch"),
    ("keras", "test_on_batch"),
    ("keras", "predict"),
    ("keras", "evaluate"),
}
# Methods of a tensor that hand its value to Python, and wait for it.
FETCHES = ("numpy", "_numpy", "__float__", "__int__", "__bool__", "__array__", "__index__")


class HostSignals(RunSignals):
    """The quantities of a run that stack samples tell."""

    @cached_property
    def _samples(self) -> list[SampledStack]:
        steps = self._seen_steps
        outside = loops_outside(self.recorded_process, self.loop)
        return Samples(self.process).between(steps.begin_s, steps.end_s, outside=outside)

    @property
    def _seen_steps(self) -> Steps:
        """The steps to take samples of: those after warm-up, or the only one there is."""
        steps = self.all_steps
        if steps is None:
            raise SignalMissing("a step of the loop that ended")
        return steps

    def hot_input_line(self) -> HotLine | None:
        """Return the user's line at which the input threads, here or in workers, spend the time."""
        return self._hot(self.input_stacks())

    def hot_line_of(self, functions: Collection[str]) -> HotLine | None:
        """Return the line of some functions, such as a generator, that the input is slow at."""
        return self._hot(self.input_stacks(), functions)

    def input_stacks(self) -> list[SampledStack]:
        """Return the samples of the threads and processes that make input."""
        stacks = [s for s in self._samples if s.role == "input"]
        for process in self.recording.others:
            steps = self._seen_steps
            workers = Samples(process).between(steps.begin_s, steps.end_s)
            stacks += [s for s in workers if s.role in ("main", "input")]
        return stacks

    def input_samples(self) -> int:
        """Return how many samples of the input code there are, also without a line of the user."""
        return sum(stack.seen for stack in self.input_stacks())

    def input_libraries(self) -> set[str]:
        """Return the packages seen on the stacks of the input code, such as `PIL`."""
        stacks = self.input_stacks()
        return {name for s in stacks for f in s.frames if (name := package_of(f.file))}

    def hot_line_in(self, file: str, first_line: int) -> HotLine | None:
        """Return the hottest line of a function or of what it calls, on the main thread.

        The innermost line of the user may be in a helper, in any module; the function itself,
        which begins at this place, is on the stack. `hottest_user_line` has the rule.
        """
        sources = self._source_lines
        return self._hot([s for s in self.main_stacks() if _runs(s, file, first_line, sources)])

    def hot_line_of_step_python(self, file: str, first_line: int) -> HotLine | None:
        """Return the hottest line of a Python function that the graph of the step calls."""
        sources = self._source_lines
        stacks = [s for s in self.step_python_stacks() if _runs(s, file, first_line, sources)]
        return self._hot(stacks)

    def hot_line_between(self) -> HotLine | None:
        """Return the user's line at which most of the Python outside TensorFlow's calls runs."""
        stacks = [s for s in self.main_stacks() if not _is_in_call(s)]
        return self._hot([s for s in stacks if not self.is_under_tape(s)])

    def stacks_between(self) -> list[SampledStack]:
        """Return the samples of the loop's thread outside the calls that are timed by themselves.

        Whatever a line of the script calls there is that line's time, in a library too. What a tape
        records is the forward pass of the step, and not between steps.
        """
        return [
            s for s in self.main_stacks() if not is_in_watched_call(s) and not self.is_under_tape(s)
        ]

    def is_under_tape(self, stack: SampledStack) -> bool:
        """Tell whether a stack is in the block of a `GradientTape`: the forward pass of a step."""
        return any(
            first <= frame.line <= last
            for frame in stack.frames
            if frame.is_user
            for first, last in self._tapes_in(frame.file)
        )

    def _tapes_in(self, file: str) -> tuple[tuple[int, int], ...]:
        blocks: dict[str, tuple[tuple[int, int], ...]] = self.shared.setdefault("tapes", {})
        if file not in blocks:
            blocks[file] = tape_blocks(self.source_text(file))
        return blocks[file]

    def forward_share_between(self, between_share: float) -> float:
        """Return which share of the steps a clock has between calls, and samples under a tape.

        Args:
            between_share: what of the steps is outside the calls that are timed by themselves.
        """
        stacks = self.main_stacks()
        total = sum(stack.seen for stack in stacks)
        if not total:
            return 0.0
        forward = sum(s.seen for s in stacks if not is_in_watched_call(s) and self.is_under_tape(s))
        own = sum(stack.seen for stack in self.stacks_between())
        own_high = share_interval(own / total, total)[1]
        return min(max(between_share - own_high, 0.0), forward / total)

    def metrics_share_between(self) -> float:
        """Return which share of the Python between steps reads metrics or fetches values.

        By samples: a loop written by hand asks its metrics and losses for numbers itself.
        """
        stacks = self.stacks_between()
        total = sum(stack.seen for stack in stacks)
        seen = sum(stack.seen for stack in stacks if _reads_metrics(stack))
        return seen / total if total else 0.0

    def supported_between_s(self) -> float:
        """Return how much time per step outside TensorFlow's calls can be vouched for.

        Either the main thread was seen there, or it used the CPU for as long. Time without
        either is nobody's.
        """
        total = sum(stack.seen for stack in self.main_stacks())
        outside = sum(stack.seen for stack in self.stacks_between())
        steps = self._seen_steps
        seen_s = steps.mean_s * outside / total if total else 0.0
        return max(seen_s, steps.mean_of("cpu_s"))

    def last_seen(self) -> list[tuple[str, HotLine]]:
        """Return the user's line that each kind of thread was at when last looked at."""
        rows = self.process.rows("samples")
        if not rows:
            return []
        newest_s = rows[-1]["at_s"]
        stacks = Samples(self.process).between(newest_s - LAST_SEEN_S, newest_s)
        found = []
        for role in ("main", "input", "step"):
            line = self._hot([stack for stack in stacks if stack.role == role])
            if line is not None:
                found.append((role, line))
        return found

    def step_python_stacks(self) -> list[SampledStack]:
        """Return the samples inside Python functions that the graph of the step calls."""
        return [s for s in self._samples if s.role == "step"]

    def main_stacks(self) -> list[SampledStack]:
        """Return the samples of the thread that runs the loop."""
        return [s for s in self._samples if s.role == "main"]

    def _hot(self, stacks: list[SampledStack], functions: Collection[str] = ()) -> HotLine | None:
        found = hottest_user_line(stacks, functions)
        if found is None:
            return None
        frame, seen, total = found
        where = self.location(frame.file, frame.line)
        assert where is not None
        named = dataclasses.replace(where, function=frame.function)
        return HotLine(named, seen / total, total)


def is_in_watched_call(stack: SampledStack) -> bool:
    """Tell whether a stack was inside a call that is timed by itself."""
    return any(
        (package_of(f.file), f.function) in WATCHED_CALLS and not is_tensor_iterated(f)
        for f in stack.frames
    )


def is_tensor_iterated(frame: Frame) -> bool:
    """Tell whether a frame takes a tensor apart, one value after the other."""
    is_iterated = frame.function in ("__next__", "__iter__") and frame.file.endswith("/tensor.py")
    return is_iterated or frame.file.endswith("/tensor_getitem_override.py")


def _reads_metrics(stack: SampledStack) -> bool:
    return any(
        "/keras/src/metrics/" in frame.file
        or (
            frame.function in FETCHES and frame.file.endswith("/tensorflow/python/framework/ops.py")
        )
        for frame in stack.frames
    )


def _is_in_call(stack: SampledStack) -> bool:
    """Tell whether a stack was inside TensorFlow or Keras when it was seen."""
    for frame in stack.frames:
        if frame.is_user:
            return False
        if package_of(frame.file) in ("tensorflow", "keras"):
            return True
    return False


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
