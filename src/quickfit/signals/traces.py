"""Traces of `tf.function`s: which function was traced again, why, and what that cost the steps."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from quickfit.findings import Evidence, Location
from quickfit.signals.loops import Locate

if TYPE_CHECKING:
    from quickfit.signals._facade import Signals

# A trace is compared with this many traces of the same function before it: enough to find the
# one that is nearest when a few shapes take turns, and quick for thousands of traces.
COMPARED = 24
MISSING = "nothing"


class Argument(NamedTuple):
    """One argument of a trace, or a part of a nested one, such as `batch['image']`.

    `kind` is `tensor`, `variable`, `python` (a value), `object` (an identity), `none` or
    `structure` (an empty container).
    """

    name: str
    kind: str
    value: str


class Difference(NamedTuple):
    """Why a function was traced once more.

    `kind` is `shape`, `dtype`, `value` (a Python value), `object` (another Python object),
    `structure` (other arguments, or arguments of another kind), `function` (another function
    object of the same code), `context` (the same arguments: another device or strategy, or the
    second trace of a function that makes variables), `first` (its first trace) or `unknown`.
    """

    kind: str
    argument: str = ""
    before: str = ""
    after: str = ""


@dataclass(frozen=True)
class Trace:
    """One trace of a `tf.function`; in a long run, several that were merged.

    `location` is the function's own place, None inside Keras or TensorFlow; `caller` is the
    user's line behind it. `function` numbers the function objects: a function that is defined
    anew in each call has as many. `is_nested` means that another trace was under way,
    `is_in_loop` that it happened on the thread that trains and not, say, in a generator.
    `arguments` is None where they were not recorded. `count` traces took `duration_s` in all.
    """

    at_s: float
    duration_s: float
    name: str
    location: Location | None
    caller: Location | None
    signature: str
    function: int
    is_nested: bool
    is_in_loop: bool
    arguments: tuple[Argument, ...] | None = None
    left_out: int = 0
    is_compiled: bool = False
    count: int = 1

    @classmethod
    def from_row(cls, row: dict[str, Any], locate: Locate) -> Trace:
        """Return the trace a row holds."""
        told = row.get("arguments") or {}
        args = told.get("args")
        arguments = None if args is None else tuple(Argument(*arg) for arg in args)
        return cls(
            row["at_s"],
            row["duration_s"],
            row["name"],
            locate(row["file"], row["line"]),
            locate(row["caller_file"], row["caller_line"]),
            row["signature"] or _signature(arguments or ()),
            row["function"],
            bool(row["nested"]),
            row["loop"] is not None,
            arguments,
            told.get("more") or 0,
            bool(told.get("jit")),
            told.get("merged") or 1,
        )

    @property
    def code(self) -> tuple[object, ...]:
        """What traces of the same code have in common, whichever function object it is."""
        where = self.location or self.caller
        return (self.name, where.file if where else "", where.line if where else 0)


@dataclass(frozen=True)
class TracedFunction:
    """All traces of one piece of code.

    `kind`, `argument` and `example` say what differed most often between them; `function_objects`
    is how many function objects it had. `seconds` of a nested function are part of another's.
    """

    name: str
    location: Location | None
    caller: Location | None
    traces: int
    seconds: float
    function_objects: int
    is_nested: bool
    kind: str
    argument: str
    example: str


def with_differences(traces: Iterable[Trace]) -> Iterator[tuple[Trace, tuple[Difference, ...]]]:
    """Yield each trace, in order, with what sets it apart from the nearest one before it."""
    newest: dict[tuple[object, ...], Trace] = {}
    earlier: dict[tuple[object, ...], deque[Trace]] = defaultdict(lambda: deque(maxlen=COMPARED))
    for trace in traces:
        same = earlier[(*trace.code, trace.function)]
        yield trace, _differences(trace, newest.get(trace.code), same)
        newest[trace.code] = trace
        same.append(trace)


def traced_functions(traces: Iterable[Trace]) -> list[TracedFunction]:
    """Return what was traced, by code, the longest first."""
    groups: dict[tuple[object, ...], list[tuple[Trace, tuple[Difference, ...]]]] = defaultdict(list)
    for trace, differences in with_differences(traces):
        groups[trace.code].append((trace, differences))
    found = [_summary(group) for group in groups.values()]
    return sorted(found, key=lambda function: function.seconds, reverse=True)


def _differences(
    trace: Trace, newest: Trace | None, same: Sequence[Trace]
) -> tuple[Difference, ...]:
    """Compare a trace with those of its function object, or else with another one's newest."""
    if newest is None:
        return (Difference("first"),)
    if not same:
        names = (f"function object #{t.function}" for t in (newest, trace))
        return (Difference("function", "", *names),)
    # The last of those that are equally near: what takes turns differs from its predecessor.
    return min((_compared(before, trace) for before in reversed(same)), key=len)


def _compared(before: Trace, after: Trace) -> tuple[Difference, ...]:
    if before.arguments is None or after.arguments is None:
        return (Difference("unknown"),)
    old = {argument.name: argument for argument in before.arguments}
    new = {argument.name: argument for argument in after.arguments}
    found = [
        _difference(name, old.get(name), new.get(name))
        for name in dict.fromkeys((*new, *old))
        if old.get(name) != new.get(name)
    ]
    if found:
        return tuple(found)
    return (Difference("unknown" if before.left_out or after.left_out else "context"),)


def _difference(name: str, old: Argument | None, new: Argument | None) -> Difference:
    before, after = (argument.value if argument else MISSING for argument in (old, new))
    return Difference(_kind(old, new), name, before, after)


def _kind(old: Argument | None, new: Argument | None) -> str:
    if old is None or new is None:
        return "structure"
    kinds = {old.kind, new.kind}
    if kinds == {"tensor"} or kinds == {"variable"}:
        return _tensor_kind(old.value, new.value)
    if "object" in kinds and kinds <= {"object", "python", "none"}:
        return "object"
    return "value" if kinds <= {"python", "none"} else "structure"


def _tensor_kind(old: str, new: str) -> str:
    (old_dtype, _, old_shape), (new_dtype, _, new_shape) = old.partition("["), new.partition("[")
    if old_dtype != new_dtype:
        return "dtype"
    # A variable's number comes behind its shape: one variable twice, or two of them.
    is_same = old_shape.partition("]")[0] == new_shape.partition("]")[0]
    return "object" if is_same else "shape"


def _signature(arguments: Iterable[Argument]) -> str:
    """Return arguments in the words of TensorFlow, as older recordings have them."""
    return ", ".join(f"{argument.name}: {_in_words(argument)}" for argument in arguments)


def _in_words(argument: Argument) -> str:
    if argument.kind == "tensor":
        dtype, _, shape = argument.value.rstrip("]").partition("[")
        return f"TensorSpec(shape=({shape}), dtype={dtype})"
    return f"Literal[{argument.value}]" if argument.kind in ("python", "none") else argument.value


def _summary(group: list[tuple[Trace, tuple[Difference, ...]]]) -> TracedFunction:
    traces = [trace for trace, _ in group]
    callers = Counter({t.caller: 0 for t in traces})
    reasons: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], Difference] = {}
    for trace, differences in group:
        callers[trace.caller] += trace.count
        for difference in differences:
            reason = (difference.kind, difference.argument)
            reasons[reason] += trace.count if difference.kind != "first" else 0
            examples.setdefault(reason, difference)
    reason, _ = reasons.most_common(1)[0]
    objects = len({trace.function for trace in traces})
    return TracedFunction(
        traces[0].name,
        traces[0].location,
        callers.most_common(1)[0][0],
        sum(trace.count for trace in traces),
        sum(trace.duration_s for trace in traces),
        objects,
        all(trace.is_nested for trace in traces),
        *reason,
        _example(examples[reason], objects),
    )


def _example(difference: Difference, objects: int) -> str:
    if difference.kind == "function":
        return f"{objects} function objects"
    return f"{difference.before} then {difference.after}" if difference.argument else ""


# One trace is needed, and one or two more come with a smaller last batch or with flags that take
# turns; three are a pattern, if they go on while steps run.
MIN_TRACES = 3
# A step with a trace must stand out by this much, or what it takes longer is not the trace's.
MIN_SLOWER = 1.5


@dataclass(frozen=True)
class TracedSteps:
    """The time of a step without and with a trace, and how many there were of both."""

    usual_s: float
    slow_s: float
    slow: int
    plain: int

    @property
    def slower(self) -> float:
        """How many times as long a step with a trace takes."""
        return self.slow_s / self.usual_s

    @property
    def evidence(self) -> Evidence:
        """The two compared; where every step traces, what of a step is its trace."""
        if self.plain:
            return Evidence("the time of a step without a trace", self.slower, "factor", "with one")
        traced = max(1 - self.usual_s / self.slow_s, 0.0)
        return Evidence("of a step is its trace", traced, "share", f"each of {self.slow} steps")

    def cost_s(self, traced_s: float) -> float:
        """Return what traces cost, at least the time they took by the clock.

        A new graph also has to be optimised and set up, which only the step times show.
        """
        extra_s = (self.slow_s - self.usual_s) * self.slow
        return max(traced_s, extra_s) if self.slower >= MIN_SLOWER else traced_s

    def is_pattern(self, traces: int, earlier: int) -> bool:
        """Tell whether a function goes on being traced.

        Args:
            traces: for another reason each, while these steps ran.
            earlier: of the same function, before; they count where every step since has traced.
        """
        return traces >= MIN_TRACES or (
            traces > 1 and not self.plain and traces + earlier >= MIN_TRACES
        )


@dataclass(frozen=True)
class Retraced:
    """One piece of code that was traced again for one kind of reason.

    `reason` is the difference that came most often; `callers` are the lines that called it, the
    most frequent first. `earlier` is how often it was traced before the steps that are looked at.
    """

    traces: tuple[Trace, ...]
    reason: Difference
    earlier: int = 0

    @property
    def name(self) -> str:
        """The function's name."""
        return self.traces[0].name

    @property
    def count(self) -> int:
        """How many traces there were."""
        return sum(trace.count for trace in self.traces)

    @property
    def seconds(self) -> float:
        """How long they took."""
        return sum(trace.duration_s for trace in self.traces)

    @property
    def location(self) -> Location | None:
        """Where the function is written; None for one of a library."""
        return self.traces[0].location

    @property
    def caller(self) -> Location | None:
        """The user's line that most of them came from."""
        return Counter(trace.caller for trace in self.traces).most_common(1)[0][0]


def retraced(signals: Signals, kinds: Collection[str]) -> list[Retraced]:
    """Return the user's functions traced again in the loop for such reasons, the longest first.

    A trace that differs in several things counts for the first of `kinds` among them. What Keras
    traces itself is left out, and so is what a dataset's method traces: both have other causes.
    """
    steps, own = signals.steps, _function_lines(signals)
    groups: dict[tuple[object, ...], list[tuple[Trace, Difference]]] = defaultdict(list)
    earlier: Counter[tuple[object, ...]] = Counter()
    for trace, differences in with_differences(signals.traces):
        if trace.at_s < steps.begin_s:
            earlier[trace.code] += trace.count
        if not steps.begin_s <= trace.at_s <= steps.end_s or trace.is_nested:
            continue
        if not trace.is_in_loop or not _is_users(trace, own):
            continue
        found = [d for kind in kinds for d in differences if d.kind == kind]
        if found:
            groups[trace.code].append((trace, found[0]))
    again = [_retraced(group, earlier[code]) for code, group in groups.items()]
    return sorted(again, key=lambda one: one.seconds, reverse=True)


def _retraced(group: list[tuple[Trace, Difference]], earlier: int) -> Retraced:
    counts = Counter((reason.kind, reason.argument) for _, reason in group)
    most, _ = counts.most_common(1)[0]
    # The last example: by then a first call with other arguments is long past.
    reason = next(r for _, r in reversed(group) if (r.kind, r.argument) == most)
    return Retraced(tuple(trace for trace, _ in group), reason, earlier)


def _function_lines(signals: Signals) -> set[tuple[str, int]]:
    """Return the lines at which the script itself calls a compiled function."""
    places = (c.location for c in signals.calls if c.kind == "function")
    return {(place.file, place.line) for place in places if place is not None}


def _is_users(trace: Trace, own: set[tuple[str, int]]) -> bool:
    if trace.name.startswith("Dataset_"):
        return False
    if trace.location is not None:
        return True
    caller = trace.caller
    return caller is not None and (caller.file, caller.line) in own


def traced_again(traces: Iterable[Trace]) -> list[float]:
    """Return when the thread that trains traced code that had its share of traces before."""
    before: Counter[tuple[object, ...]] = Counter()
    times = []
    for trace in traces:
        if not trace.is_in_loop or trace.is_nested:
            continue
        if before[trace.code] >= MIN_TRACES - 1:
            times.append(trace.at_s)
        before[trace.code] += trace.count
    return times


def traced_steps(signals: Signals, traces: Collection[Trace]) -> TracedSteps | None:
    """Compare the steps with one of these traces to those without; None if no step had one."""
    times = [trace.at_s for trace in traces]
    traced: list[float] = []
    plain: list[float] = []
    for step in signals.steps.steps:
        # A callback at the end of a step belongs to the cycle that the next step ends.
        begin_s = step.end_s - step.cycle_s
        is_traced = any(begin_s <= at_s <= step.end_s for at_s in times)
        (traced if is_traced else plain).append(step.cycle_s)
    if not traced:
        return None
    slow_s = statistics.median(traced)
    if plain:
        return TracedSteps(statistics.median(plain), slow_s, len(traced), len(plain))
    # Every step traces: compare with the step less its traces.
    traced_s = sum(trace.duration_s for trace in traces) / len(traced)
    return TracedSteps(max(slow_s - traced_s, 0.01 * slow_s), slow_s, len(traced), 0)
