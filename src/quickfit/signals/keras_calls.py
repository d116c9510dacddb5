"""What happens inside calls of Keras: `predict`, `train_on_batch`, metrics; by stack samples.

The clock says how long such a call takes; the samples say what it does meanwhile. Samples that are
taken in Python favour what gives up its lock, such as a compiled function, so that the share of
Keras's own Python is rather too small than too large.
"""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from quickfit.findings import Location
from quickfit.signals import Signals
from quickfit.signals._host import FETCHES, is_in_watched_call, is_tensor_iterated
from quickfit.signals.host import Frame, SampledStack
from quickfit.signals.intervals import Interval, share_interval

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
    try:
        tree = ast.parse(signals.source_text(file))
    except (SyntaxError, ValueError):
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
