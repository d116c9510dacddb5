"""Calls of Keras: `predict`, `train_on_batch` and metrics by samples, `fit` by what it sets up."""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quickfit.code.syntax import parse_or_none
from quickfit.findings import Location
from quickfit.recording.reader import ProcessRecording
from quickfit.signals._host import FETCHES, is_in_watched_call, is_tensor_iterated
from quickfit.signals.gains import Interval, share_interval
from quickfit.signals.stacks import Frame, SampledStack, package_of

if TYPE_CHECKING:
    from quickfit.signals._facade import Signals

TRAINER = "/keras/src/backend/tensorflow/trainer.py"
# The first call of `predict` compiles; two more at the same line are a loop. What they cost
# decides, not their number.
MIN_PREDICTIONS = 3
# For a few rows it is a twentieth of the call; more in the model, or in getting its rows, means
# that there are many of them, or that the model is large. As long as the high end of it stays below
# half, most of the call is overhead.
MAX_ROWS_SHARE, MAX_ROWS_HIGH = 0.20, 0.50
# What `train_on_batch` does for every batch and `fit` does not.
PER_BATCH = ("reset_metrics", "pythonify_logs", "_maybe_symbolic_build", "_symbolic_build")


@dataclass(frozen=True)
class PredictSamples:
    """The samples of the training thread, those inside `predict`, and what these did there.

    `model` counts those in the compiled function, `rows` those that waited for a batch. Both
    grow with the rows; for a few rows, the wait is for a pipeline that has to start.
    """

    total: int
    inside: int
    model: int
    rows: int

    @property
    def share(self) -> float:
        """The share of the time inside `predict`."""
        return self.inside / self.total if self.total else 0.0

    @property
    def spread(self) -> float:
        """How far the share may be off: the standard deviation of such a count."""
        return math.sqrt(self.share * (1 - self.share) / self.total) if self.total else 0.0

    @property
    def model_share(self) -> float:
        """The share of `predict` that its model takes."""
        return self.model / self.inside if self.inside else 0.0

    @property
    def rows_share(self) -> float:
        """The share of `predict` that its model and its batches take."""
        return (self.model + self.rows) / self.inside if self.inside else 0.0

    @property
    def rows_interval(self) -> Interval:
        """Between what that share may lie."""
        return share_interval(self.rows_share, self.inside)

    @property
    def is_overhead(self) -> bool:
        """Whether most of `predict` is neither its model nor its batches, for certain."""
        return self.rows_interval[1] <= MAX_ROWS_HIGH

    @property
    def is_of_few_rows(self) -> bool:
        """Whether the model and its batches take so little that a call can only have few rows."""
        return self.rows_share <= MAX_ROWS_SHARE


def predict_samples(stacks: Iterable[SampledStack], line: Location) -> PredictSamples:
    """Return how often `predict` was seen, and how often its model; `line` calls it."""
    total = inside = 0
    doing: Counter[str] = Counter()
    for stack in stacks:
        total += stack.seen
        inner = () if _drops(stack, line) else _inside(stack, "predict")
        if inner is not None:
            inside += stack.seen
            doing[_doing(inner)] += stack.seen
    return PredictSamples(total, inside, doing["model"], doing["rows"])


@dataclass(frozen=True)
class PredictLine:
    """A line that calls `predict`: how often, how often it was timed, and what one call takes.

    `all_s` is what calls of `predict` took in all, those of other lines too.
    """

    location: Location
    calls: int
    timed: int
    call_s: float
    all_s: float = 0.0


def predict_line(signals: Signals) -> PredictLine | None:
    """Return the line that spends most in `predict`, the first call, which compiles, left out."""
    totals: dict[tuple[str, int], list[float]] = {}
    watched = _watched_share(signals)
    for call in signals.calls:
        where = call.location
        if call.kind != "predict" or where is None or "predict_on_batch" in where.text:
            continue
        total = totals.setdefault((where.file, where.line), [0, 0.0, 0.0, 0])
        # Of a long loop of the script only some steps, and their calls, are watched.
        is_in_steps = call.loop == signals.loop.id and not _is_beside_loop(signals, where)
        part = watched if is_in_steps else 1.0
        calls, wall_s = call.calls / part, call.wall_s / part
        longest_s = max(total[2], call.longest_s)
        total[:] = total[0] + calls, total[1] + wall_s, longest_s, total[3] + call.calls
    if not totals:
        return None
    place, (calls, wall_s, longest_s, timed) = max(totals.items(), key=lambda item: item[1][1])
    where = signals.location(*place)
    if where is None or calls < 2:
        return None
    all_s = sum(total[1] for total in totals.values())
    call_s = max(wall_s - longest_s, 0.0) / (calls - 1)
    return PredictLine(where, int(calls), int(timed), call_s, all_s)


def _is_beside_loop(signals: Signals, where: Location) -> bool:
    """Tell whether a line is in the function of the loop, and not in the loop.

    Between two runs of a loop of the script every call is watched.
    """
    body = signals.loop.facts.get("body")
    if not isinstance(body, list) or len(body) != 3:
        return False
    file, first, last = body
    if where.file != file or first <= where.line <= last:
        return False
    tree = parse_or_none(signals.source_text(file))
    if tree is None:
        return False
    return _function_at(tree, first) is _function_at(tree, where.line)


def _function_at(tree: ast.Module, line: int) -> ast.AST:
    """Return the innermost function, or else the module, that a line belongs to."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, kinds) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return max(around, key=lambda node: (node.lineno, node.col_offset), default=tree)


def _watched_share(signals: Signals) -> float:
    """Return the share of the steps of a loop of the script that were watched in full."""
    every = signals.every_step
    if signals.loop.kind == "fit" or every is None:
        return 1.0
    return sum(step.call_s is not None for step in every.steps) / len(every.steps) or 1.0


def per_batch_share(stacks: Iterable[SampledStack]) -> tuple[float, int]:
    """Return the share of `train_on_batch` that `fit` would not do per step, and the samples."""
    inside = extra = 0
    for stack in stacks:
        inner = _inside(stack, "train_on_batch")
        if inner is not None:
            inside += stack.seen
            extra += stack.seen if any(f.function in PER_BATCH for f in inner) else 0
    return (extra / inside if inside else 0.0), inside


@dataclass(frozen=True)
class MetricSamples:
    """The samples outside timed calls, those of them in metrics or fetches, and their line."""

    outside: int
    reading: int
    location: Location | None

    @property
    def share(self) -> float:
        """The share of the Python between calls that works on metrics and values."""
        return self.reading / self.outside if self.outside else 0.0


def metric_samples(signals: Signals) -> MetricSamples:
    """Return how much of the Python between a loop's calls updates, reads or fetches values.

    On an accelerator, fetching a value waits for the step itself; only metrics count there.
    """
    head = signals.loop.location
    outside = reading = 0
    lines: Counter[tuple[str, int]] = Counter()
    for stack in signals.main_stacks():
        if is_in_watched_call(stack):
            continue
        first = stack.frames[0] if stack.frames else None
        if first is None or (head is not None and (first.file, first.line) == _place(head)):
            continue  # at the loop's own line, TensorFlow ends the last iterator
        outside += stack.seen
        user = next((f for f in stack.frames if f.is_user), None)
        if user is not None and _reads(stack, is_fetch_counted=not signals.has_accelerator):
            reading += stack.seen
            lines[(user.file, user.line)] += stack.seen
    hottest = lines.most_common(1)
    return MetricSamples(outside, reading, signals.location(*hottest[0][0]) if hottest else None)


def _place(where: Location) -> tuple[str, int]:
    return where.file, where.line


def _inside(stack: SampledStack, method: str) -> tuple[Frame, ...] | None:
    """Return the frames below a method of Keras's trainer; None where it is not on the stack."""
    for number, frame in enumerate(stack.frames):
        if frame.function == method and frame.file.endswith(TRAINER):
            return stack.frames[:number]
    return None


def _drops(stack: SampledStack, line: Location) -> bool:
    """Tell whether a call at a line has just returned: what it made is dropped then."""
    frames = stack.frames[:2]
    if len(frames) < 2 or not frames[0].file.endswith("/traceback_utils.py"):
        return False
    return (frames[1].file, frames[1].line) == _place(line)


def _doing(inner: tuple[Frame, ...]) -> str:
    """Return whether `predict` was in its compiled `model`, asking for `rows`, or elsewhere."""
    entered = [f for f in inner if not f.file.endswith("/traceback_utils.py")]
    if not entered:
        return ""
    first = entered[-1]
    if first.file.endswith("/polymorphic_function.py"):
        return "model"
    return "rows" if first.function == "get_data" else ""


def _reads(stack: SampledStack, *, is_fetch_counted: bool) -> bool:
    for frame in stack.frames:
        if "/keras/src/metrics/" in frame.file:
            return True
        is_fetch = frame.function in FETCHES and frame.file.endswith("/framework/ops.py")
        if (is_fetch or is_tensor_iterated(frame)) and is_fetch_counted:
            return True
    return False


# The function of Keras's trainer that a step is.
STEP = "function"
# No `fit` is set up in less; then its method was looked up long before the calls, and only the
# samples know how long they took.
MIN_SETUP_S = 1e-3


@dataclass(frozen=True)
class FitCalls:
    """The calls of `fit` at the line of the main loop.

    Args:
        calls: how many there were.
        steps: steps per call.
        setup_s: from the calls to their first steps, all calls but the first together.
        traced: how many of the calls but the first traced Keras's train function.
        compile: where the model was compiled, as the last call knows.
        models: how many models were trained.
        in_fit: the share of the main thread's samples that are in `fit` but not in a step.
        samples: how many there are.
    """

    calls: int
    steps: float
    setup_s: float
    traced: int
    compile: Location | None
    models: int
    in_fit: float = 0.0
    samples: int = 0

    @property
    def traced_share(self) -> float:
        """The share of the calls but the first that traced again."""
        return self.traced / max(self.calls - 1, 1)


def count_models(rows: list[dict[str, Any]]) -> int:
    """Return how many models the loops of these rows train; older recordings have names only."""
    facts = [row["facts"] for row in rows]
    return len({one.get("model_number") or one.get("model") for one in facts})


def fit_calls(signals: Signals) -> FitCalls | None:
    """Return the calls of `fit` that make up the main loop; None where another loop trains."""
    loop = signals.loop
    if loop.kind != "fit" or loop.location is None:
        return None
    process = signals.recorded_process
    place = (loop.location.file, loop.location.line)
    rows = [
        row
        for row in process.rows("loops")
        if row["kind"] == "fit" and (row["file"], row["line"]) == place
    ]
    numbers = {row["id"] for row in rows}
    steps = sum(1 for row in process.rows("steps") if row["loop"] in numbers)
    newest = rows[-1]["facts"]
    compiled = signals.location(newest.get("compile_file"), newest.get("compile_line"))
    seen = _sampled(signals.main_stacks(), place) if len(rows) > 1 else (0.0, 0)
    return FitCalls(
        len(rows),
        steps / len(rows),
        _setup_s(signals, rows[1:], seen[0]),
        _traced(process, rows[1:]),
        compiled,
        count_models(rows),
        *seen,
    )


def _setup_s(signals: Signals, rows: list[dict[str, Any]], in_fit: float) -> float:
    """Return the time from calls to their first steps."""
    measured_s = float(sum(max(row["begin_s"] - row["entered_s"], 0.0) for row in rows))
    if measured_s >= MIN_SETUP_S * len(rows):
        return measured_s
    whole = signals.whole_time
    seen_s = in_fit * whole.total_s - whole.iterator_ends_s - whole.epoch_ends_s
    return min(max(seen_s, measured_s), signals.loop.outside_s)


def _traced(process: ProcessRecording, rows: list[dict[str, Any]]) -> int:
    """Count the calls in whose loop a function of Keras was traced that no call before had."""
    calls = {row["id"] for row in rows}
    seen: set[int] = set()
    traced: set[int] = set()
    for row in process.rows("traces"):
        # A function of the user's, called by a callback, is not what `compile` made.
        if row["nested"] or row["file"] is not None:
            continue
        if row["loop"] in calls and row["function"] not in seen:
            traced.add(row["loop"])
        seen.add(row["function"])
    return len(traced)


def _sampled(stacks: list[SampledStack], fit: tuple[str, int]) -> tuple[float, int]:
    """Return the share of the samples that are in `fit` but in none of its steps, and all."""
    total = sum(stack.seen for stack in stacks)
    inside = 0
    for stack in stacks:
        is_step = any(f.function == STEP and package_of(f.file) == "keras" for f in stack.frames)
        if not is_step and any((f.file, f.line) == fit for f in stack.frames):
            inside += stack.seen
    return (inside / total if total else 0.0), total
