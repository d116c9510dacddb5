"""Functions that are traced again while steps run, and what the steps with a trace take longer."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from quickfit.findings import Location
from quickfit.signals._facade import Signals
from quickfit.signals.traces import Difference, Trace, with_differences

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
