"""The traces of `tf.function`s: which function was traced again, and which argument differed."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from quickfit.findings import Location
from quickfit.signals.loops import Locate

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
