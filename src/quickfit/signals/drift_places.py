"""Whose code grows: the line, the callback, the input's Python; and what a finding says of it."""

from __future__ import annotations

import dataclasses
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quickfit import units
from quickfit.code.lines import is_in_generator
from quickfit.errors import SignalMissing
from quickfit.findings import Evidence, Gain, Location
from quickfit.recording.reader import ProcessRecording
from quickfit.signals._host import is_in_watched_call
from quickfit.signals.drift import EPOCH_PARTS, HOST_PARTS, INPUTS, Component, Slowdown
from quickfit.signals.drift import MIN_LARGER as DRIFT_CLAIM_MIN_LARGER
from quickfit.signals.drift_series import compared, laps
from quickfit.signals.holders import SINGLE, Holder, holders_of
from quickfit.signals.keras_calls import (
    MAX_ROWS_SHARE,
    MIN_PREDICTIONS,
    predict_line,
    predict_samples,
)
from quickfit.signals.python_input import generator_stages, python_maps
from quickfit.signals.stacks import Frame, SampledStack, Samples, package_of, timed_stacks

if TYPE_CHECKING:
    from quickfit.signals._facade import Signals

# By samples, lines grow by at least this share of what the clock says.
MIN_AGREEMENT = 0.33
# Methods by which a class hands out batches.
_HANDS_OUT = ("__next__", "__getitem__", "__iter__")
# Tensors that every step, or every second one, leaves behind.
MIN_KEPT = 0.5
# A size, or a copy, that grew by this much: longer batches may be the reason.
MIN_LARGER = 1.15
# What a step computes with must have grown this much from the first look at it to the last.
MIN_STATE_GROWTH = 1.3
# And the calls of the step must explain this much of what a step takes longer.
MIN_CALL_SHARE = 0.5


@dataclass(frozen=True)
class Guilty:
    """Whose code grows.

    Args:
        kind: `callback`, `generator`, `host`, `pipeline` or `state`.
        slow: how the run slowed down.
        line: the line whose time grew; None where no line of the user's was seen.
        state: what the step computes with and what grows, for `state`.
    """

    kind: str
    slow: Slowdown
    line: GrownLine | None
    state: Holder | None = None


def guilty(signals: Signals) -> Guilty | None:
    """Return whose code explains that a run gets slower; None where that is not known."""
    slow = signals.slowdown
    if slow is None:
        return None
    grown = _growing_state(signals, slow)
    if grown is not None or slow.why != "part":
        return grown
    if slow.part == "stages":
        # Where the script's own code after an epoch grows as well, that says more.
        other = _after_epochs(signals, slow) if slow.unit == "epoch" else None
        return other or Guilty("pipeline", slow, None)
    if slow.part == "callbacks":
        line = grown_line(signals, in_batch_hook, slow=slow)
        is_other = _predicts(line, signals) or _waits_for_step(line, slow)
        return None if is_other else Guilty("callback", slow, line)
    if slow.part in ("input", "stage_work"):
        is_python = slow.part == "input" or _runs_python(signals)
        return Guilty("generator", slow, grown_input_line(signals)) if is_python else None
    if slow.part == "after":
        return _after_epochs(signals, slow)
    if slow.part == "start":
        return _at_starts(signals, slow)
    return _host(signals, slow) if slow.part in ("between", "call") else None


def _growing_state(signals: Signals, slow: Slowdown) -> Guilty | None:
    """Return the variable or tensor that grows while the calls of the step take longer.

    Larger batches make calls longer, too: then nothing is said of what else grows.
    """
    measured = {one.name: one for one in slow.measured}
    call, size = measured.get("call"), measured.get("batch_bytes")
    is_other = slow.unit != "step" or slow.why == "data" or slow.part not in ("", "call")
    is_larger = size.last > MIN_LARGER * size.first if size is not None else _copies_more(signals)
    if is_other or call is None or is_larger:
        return None
    share = min(call.growth / (slow.last_s - slow.first_s), 1.0)
    states = [one for one in holders_of(signals) if one.kind in SINGLE]
    growing = [one for one in states if _state_growth(signals, one) >= MIN_STATE_GROWTH]
    if share < MIN_CALL_SHARE or not growing:
        return None
    state = max(growing, key=lambda one: one.held_bytes)
    slow = dataclasses.replace(slow, why="part", part="call", share=share)
    return Guilty("state", slow, None, state)


def _state_growth(signals: Signals, state: Holder) -> float:
    """Return how many times as large it became during the loop, if it never became smaller."""
    begin_s = signals.loop.begin_s
    sizes = [size for at_s, size, _ in state.looks if at_s >= begin_s]
    if len(sizes) < 2 or any(later < size for size, later in itertools.pairwise(sizes)):
        return 0.0
    return sizes[-1] / max(sizes[0], 1)


def _predicts(line: GrownLine | None, signals: Signals) -> bool:
    """Tell whether a line is what `predict-in-loop` reports: many calls, for a few rows each."""
    seen = predict_line(signals) if line is not None else None
    if seen is None or line is None or seen.location.short != line.location.short:
        return False
    rows_share = predict_samples(signals.main_stacks(), seen.location).rows_share
    return seen.calls >= MIN_PREDICTIONS and rows_share <= MAX_ROWS_SHARE


def _waits_for_step(line: GrownLine | None, slow: Slowdown) -> bool:
    """Tell whether what grows waits inside TensorFlow, maybe for the step itself to end.

    A value that is fetched is there when the device has computed it, in whoever's code that is.
    """
    return slow.sleeps and (line is None or in_tensorflow(line.frames))


def _runs_python(signals: Signals) -> bool:
    try:
        return bool(generator_stages(signals) or python_maps(signals))
    except SignalMissing:
        return False


def _after_epochs(signals: Signals, slow: Slowdown) -> Guilty | None:
    found = laps(signals.process, signals.loop.id, signals.epochs)
    parts = compared(found)
    for kind, inside in (("callback", in_epoch_hook), ("host", in_own_code)):
        line = grown_line(signals, inside, parts)
        if line is None or not _agrees(line, slow) or _waits_for_step(line, slow):
            continue
        if not _predicts(line, signals) and not _is_loop(line, signals):
            return Guilty(kind, slow, line)
    return None


def _at_starts(signals: Signals, slow: Slowdown) -> Guilty | None:
    parts = compared(laps(signals.process, signals.loop.id, signals.epochs))
    line = grown_input_line(signals, parts)
    return Guilty("generator", slow, line) if line is not None and _agrees(line, slow) else None


def _is_loop(line: GrownLine, signals: Signals) -> bool:
    """Tell whether a line is the loop's own: what runs there is Keras's, or ends an iterator."""
    at = signals.loop.location
    return at is not None and (at.file, at.line) == (line.location.file, line.location.line)


def _agrees(line: GrownLine, slow: Slowdown) -> bool:
    name = "after" if slow.part == "stages" else slow.part
    if slow.is_calm:
        return line.grown_s >= MIN_AGREEMENT * slow.share * (slow.last_s - slow.first_s)
    part = next((one for one in slow.measured if one.name == name), None)
    least_s = max(part.growth if part is not None else 0.0, (slow.last_s - slow.first_s) / 2)
    return part is not None and line.grown_s >= MIN_AGREEMENT * least_s


def _host(signals: Signals, slow: Slowdown) -> Guilty | None:
    line = grown_line(signals, in_host_code, slow=slow)
    if line is None or not _agrees(line, slow) or _predicts(line, signals):
        return None
    if _waits_for_step(line, slow):
        return None
    if _is_loop(line, signals) or _may_have_longer_batches(line, signals):
        return None
    return Guilty("generator" if _makes_batches(line, signals) else "host", slow, line)


def _may_have_longer_batches(line: GrownLine, signals: Signals) -> bool:
    """Tell whether the line may take longer because it is given more.

    Arrays that the script hands over itself have no recorded size. What it copies to tensors
    tells, and an operation of TensorFlow's is suspect where nothing does.
    """
    series = signals.drift.series
    if "batch_bytes" in series:
        return False  # the claim has taken it into account
    if len(_looks_at_copies(signals)) < 2:
        return in_tensorflow(line.frames) and not _keeps_tensors(signals)
    return _copies_more(signals)


def _copies_more(signals: Signals) -> bool:
    """Tell whether a step copies more to tensors than at first."""
    looks = _looks_at_copies(signals)
    if len(looks) < 2:
        return False
    first, last = (_copied(row) for row in (looks[0], looks[-1]))
    return last > MIN_LARGER * first > 0 and last - first > 100


def _looks_at_copies(signals: Signals) -> list[dict[str, Any]]:
    return [row for row in signals.process.rows("copies") if row["loop"] == signals.loop.id]


def _keeps_tensors(signals: Signals) -> bool:
    """Tell whether more and more tensors are alive: what goes through them has a reason to grow."""
    try:
        alive = signals.memory.objects.get("tensors")
    except SignalMissing:
        return False
    return alive is not None and alive.is_steady and (alive.per_step or 0.0) >= MIN_KEPT


def _copied(look: dict[str, float]) -> float:
    return (look["bytes"] or 0.0) / max(look["steps"], 1)


def _makes_batches(line: GrownLine, signals: Signals) -> bool:
    """Tell whether the line belongs to a generator, or to what one calls."""
    for frame in line.frames:
        if frame.is_user and frame.function in _HANDS_OUT:
            return True
        if frame.is_user and is_in_generator(signals.source_text(frame.file), frame.line):
            return True
    return False


def does_more(found: Guilty, each: str) -> str:
    """Say what the code does that grows."""
    return f"{'waits longer' if found.slow.sleeps else 'does more work'} with every {each}"


def place(found: Guilty, fallback: Location | None) -> Location | None:
    """Return the line to show."""
    return found.line.location if found.line is not None else fallback


# The first and the last part of the steps that are compared.
PART = 0.25
# Samples that came less often than this are chance: seconds in the last part.
MIN_SEEN_S = 0.15
HOOKS = ("on_train_batch_begin", "on_train_batch_end", "on_batch_begin", "on_batch_end")
EPOCH_HOOKS = ("on_epoch_begin", "on_epoch_end")
_CALLBACK_LISTS = "/callback_list.py"

Frames = tuple[Frame, ...]
Inside = Callable[[Frames], bool]
Span = tuple[float, float, float]  # from when to when, and how many steps it has


@dataclass(frozen=True)
class GrownLine:
    """A user's line, what it took per step at first and at the end, and what all lines grew by.

    Args:
        frames: a stack of the last part with it, innermost frame first.
    """

    location: Location
    first_s: float
    last_s: float
    grown_s: float
    frames: Frames

    @property
    def growth_s(self) -> float:
        """How much longer a step is at this line."""
        return self.last_s - self.first_s


def spans(signals: Signals) -> tuple[Span, Span]:
    """Return the first and the last part of the steps."""
    steps = signals.whole_turns.steps
    part = max(int(PART * len(steps)), 1)
    early, late = steps[:part], steps[-part:]
    return (
        (early[0].end_s - early[0].cycle_s, early[-1].end_s, float(part)),
        (late[0].end_s - late[0].cycle_s, late[-1].end_s, float(part)),
    )


def grown_line(
    signals: Signals,
    inside: Inside,
    parts: tuple[Span, Span] | None = None,
    slow: Slowdown | None = None,
) -> GrownLine | None:
    """Return the line of the main thread that takes more time per step than at first.

    Args:
        signals: of the run.
        inside: whether a stack belongs to what is looked at.
        parts: what to compare; by default the first and the last quarter of the steps.
        slow: how the run slowed down; where waiting for a core is left out of that, it is here.
    """
    early, late = parts or spans(signals)
    before, after = _main(signals, early, inside), _main(signals, late, inside)
    if slow is not None and slow.is_calm:
        before, after = (
            _as_long_as(before, early, slow.first_s),
            _as_long_as(after, late, slow.last_s),
        )
    return _grown(signals, before, after, late)


def _as_long_as(
    stacks: Iterable[tuple[Frames, float]], span: Span, step_s: float
) -> Iterable[tuple[Frames, float]]:
    """Yield stacks with the seconds they would have in steps of that length."""
    begin_s, end_s, steps = span
    part = step_s * steps / max(end_s - begin_s, 1e-9)
    return ((frames, seconds * part) for frames, seconds in stacks)


def grown_input_line(signals: Signals, parts: tuple[Span, Span] | None = None) -> GrownLine | None:
    """Return the line of the threads and processes that make the input which takes more time."""
    early, late = parts or spans(signals)
    return _grown(signals, _input(signals, early), _input(signals, late), late)


def _main(signals: Signals, span: Span, inside: Inside) -> Iterable[tuple[Frames, float]]:
    begin_s, end_s, steps = span
    for stack in timed_stacks(signals.process, begin_s, end_s, wanted=lambda *_: True):
        if inside(stack.frames):
            yield stack.frames, stack.seconds / steps


def _input(signals: Signals, span: Span) -> Iterable[tuple[Frames, float]]:
    begin_s, end_s, steps = span
    roles = ((signals.process, ("input",)), *((p, ("main", "input")) for p in _workers(signals)))
    for process, wanted in roles:
        stacks = Samples(process).between(begin_s, end_s - 1.0)
        # Every sample looks at all threads; the main one is there in each of them.
        looks = sum(stack.seen for stack in stacks if stack.role == "main")
        for stack in stacks:
            if stack.role in wanted and looks:
                yield stack.frames, (end_s - begin_s) * stack.seen / looks / steps


def _workers(signals: Signals) -> list[ProcessRecording]:
    own = signals.process.path
    return [process for process in signals.recording.others if process.path != own]


def _grown(
    signals: Signals,
    before: Iterable[tuple[Frames, float]],
    after: Iterable[tuple[Frames, float]],
    late: Span,
) -> GrownLine | None:
    first = _by_line(before)
    last = _by_line(after)
    if not last:
        return None
    key = max(last, key=lambda line: last[line][0] - _seconds(first, line))
    first_s, last_s = _seconds(first, key), last[key][0]
    location = signals.location(*key)
    if location is None or last_s <= first_s or last_s * late[2] < MIN_SEEN_S:
        return None
    grown_s = sum(seconds for seconds, _ in last.values()) - sum(s for s, _ in first.values())
    return GrownLine(location, first_s, last_s, grown_s, last[key][1])


Lines = dict[tuple[str, int], tuple[float, Frames]]


def _seconds(lines: Lines, key: tuple[str, int]) -> float:
    return lines[key][0] if key in lines else 0.0


def _by_line(stacks: Iterable[tuple[Frames, float]]) -> Lines:
    """Return the time at or below each user's line, and a stack that has it."""
    seconds: defaultdict[tuple[str, int], float] = defaultdict(float)
    shown: dict[tuple[str, int], Frames] = {}
    for frames, spent_s in stacks:
        user = next((frame for frame in frames if frame.is_user), None)
        if user is not None:
            seconds[user.file, user.line] += spent_s
            shown.setdefault((user.file, user.line), frames)
    return {key: (spent_s, shown[key]) for key, spent_s in seconds.items()}


def in_batch_hook(frames: Frames) -> bool:
    """Tell whether a stack is inside a callback's work around a batch."""
    return _is_in_hook(frames, HOOKS)


def in_epoch_hook(frames: Frames) -> bool:
    """Tell whether a stack is inside a callback's work around an epoch."""
    return _is_in_hook(frames, EPOCH_HOOKS)


def _is_in_hook(frames: Frames, hooks: tuple[str, ...]) -> bool:
    return any(f.file.endswith(_CALLBACK_LISTS) and f.function.lstrip("_") in hooks for f in frames)


def in_host_code(frames: Frames) -> bool:
    """Tell whether a stack is in Python of the script: no callback, no call that is timed itself.

    Where a model's layers are on it, the model computes; that grows with its batches.
    """
    if in_batch_hook(frames) or in_epoch_hook(frames):
        return False
    return not is_in_watched_call(SampledStack("main", frames, 1)) and not in_model(frames)


def in_own_code(frames: Frames) -> bool:
    """Tell the same of what lies between epochs, where TensorFlow also makes the next iterator."""
    return in_host_code(frames) and not _is_setting_up(frames)


def _is_setting_up(frames: Frames) -> bool:
    """Tell whether Keras's `fit`, or a dataset, runs below the user's line."""
    for frame in frames:
        if frame.is_user:
            return False
        if "/tensorflow/python/data/" in frame.file or frame.function == "fit":
            return True
    return False


def in_model(frames: Frames) -> bool:
    """Tell whether layers of Keras run below the user's line."""
    for frame in frames:
        if frame.is_user:
            return False
        if "/keras/src/layers/" in frame.file or "/keras/src/models/" in frame.file:
            return True
    return False


def in_tensorflow(frames: Frames) -> bool:
    """Tell whether TensorFlow or Keras runs below the user's line."""
    for frame in frames:
        if frame.is_user:
            return False
        if package_of(frame.file) in ("tensorflow", "keras"):
            return True
    return False


# Cores that other programs use more than at first: from here the machine is busier.
MORE_CORES = 0.25
# Whether it goes on growing for longer than this is unknown.
MAX_AHEAD = 10.0
# What of the growth a fix takes away, at worst; it may leave a part that grows more slowly.
LEAST_FIXED = 0.5


def slower(slow: Slowdown) -> str:
    """Say how long a step took at first and at the end."""
    first, last = units.seconds(slow.first_s), units.seconds(slow.last_s)
    article = "an" if slow.unit == "epoch" else "a"
    left_out = ", waiting for a core left out" if slow.is_calm else ""
    return f"{article} {slow.unit} took {first} at first and {last} at the end{left_out}"


def certain(slow: Slowdown) -> str:
    """Say when it was certain."""
    return f"certain at {slow.unit} {units.count(slow.certain_at)}"


def evidence(slow: Slowdown, what: str, line: GrownLine | None) -> tuple[Evidence, ...]:
    """Return the facts behind a part that grows.

    Args:
        slow: how the run slowed down.
        what: who spends the time, such as a callback's name.
        line: the line whose time grew.
    """
    found = [
        Evidence(
            f"for {'an' if slow.unit == 'epoch' else 'a'} {slow.unit} at the end",
            slow.last_s,
            "s",
            f"{units.seconds(slow.first_s)} at first; {certain(slow)}"
            f"{'; waiting for a core left out' if slow.is_calm else ''}",
        ),
        Evidence(f"of the growth is in {what}", slow.share, "share", _witness(slow)),
    ]
    if line is not None:
        found.append(
            Evidence(
                f"more per {slow.unit} at this line than at first",
                line.growth_s,
                "s",
                "stack samples of the last part against the first",
                line.location,
            )
        )
    return tuple(found)


_WITNESSES = {**HOST_PARTS, **EPOCH_PARTS, **INPUTS}


def _witness(slow: Slowdown) -> str:
    measured = {one.name: one for one in slow.measured}
    part = measured.get(slow.part)
    text = _from_to(part) if part is not None else ""
    if slow.sleeps:
        return f"{text}, without using the CPU" if text else "without using the CPU"
    cpu = [measured[name] for name in _WITNESSES.get(slow.part, ()) if name in measured]
    most_s = max((one.growth for one in cpu), default=0.0)
    # Its own CPU time is the best witness; that of the whole thread sees what is rarely done.
    shown = next((one for one in cpu if one.growth >= most_s / 2), None)
    return f"{text}; CPU time {_from_to(shown)}" if shown is not None and text else text


def _from_to(part: Component) -> str:
    return f"{units.seconds(part.first)} at first, {units.seconds(part.last)} at the end"


def ruled_out(slow: Slowdown) -> tuple[str, ...]:
    """Say what was looked for and not found: a machine with more to do, batches that grow."""
    measured = {one.name: one for one in slow.measured}
    found = []
    others, size = measured.get("others"), measured.get("batch_bytes")
    if others is not None and others.growth < MORE_CORES:
        cores = f"{others.first:.1f} cores at first, {others.last:.1f} at the end"
        found.append(f"a busier machine: other programs used {cores}")
    if size is not None and size.last < DRIFT_CLAIM_MIN_LARGER * size.first:
        first, last = units.size(size.first), units.size(size.last)
        found.append(f"larger batches: {first} at first, {last} at the end")
    return tuple(found)


def gain(slow: Slowdown, signals: Signals) -> Gain:
    """Return what a step that stays as it was at first would gain.

    At worst half of the growth goes, against the mean so far. Likely is what the part explains,
    against the mean of the training as planned, as it goes on growing. At best against what a step
    takes at the end.
    """
    so_far_s, more_s = slow.mean_s, max(slow.mean_s - slow.first_s, 0.0)
    low = so_far_s / max(so_far_s - LEAST_FIXED * slow.share * more_s, 1e-9)
    ahead = times_ahead(slow, signals)
    likely = _gained(slow, ahead * more_s)
    high = max(_gained(slow, ahead * (slow.last_s - slow.first_s)), likely)
    whole = "the mean so far" if ahead == 1 else "the mean of all that is planned"
    basis = (
        f"a {slow.unit} as long as at first, against {whole};"
        f" at best against the end of the run, and more the longer it runs"
    )
    return Gain(low, likely, high, basis)


def _gained(slow: Slowdown, more_s: float) -> float:
    """Return how many times as fast it gets without the part of a growth that is explained."""
    left_s = slow.first_s + (1 - slow.share) * more_s
    return (slow.first_s + more_s) / left_s if left_s > 0 else 1.0


def cost_share(slow: Slowdown, signals: Signals) -> float:
    """Return the share of the time that the growth costs: so far, or to the planned end."""
    more_s = times_ahead(slow, signals) * max(slow.mean_s - slow.first_s, 0.0)
    whole_s = slow.first_s + more_s
    return min(slow.share * more_s / whole_s, 0.95) if whole_s > 0 else 0.0


def times_ahead(slow: Slowdown, signals: Signals) -> float:
    """Return how many times as long as it has run the training would have gone on, at least one.

    A part that grows costs as many times as much of each step by then; a machine may recover.
    """
    if slow.why != "part":
        return 1.0
    loop, facts = signals.loop, signals.loop.facts
    if loop.is_over and not signals.process.facts.get("stopped_early"):
        return 1.0
    per_epoch, epochs = facts.get("steps"), facts.get("epochs")
    if not isinstance(epochs, int) or not isinstance(per_epoch, int):
        return 1.0
    if slow.unit == "epoch":
        planned, seen = float(epochs), float(len(signals.epochs))
    else:
        planned = per_epoch * epochs / signals.steps_per_execution
        seen = float(signals.drift.total)
    return min(max(planned / max(seen, 1.0), 1.0), MAX_AHEAD)
