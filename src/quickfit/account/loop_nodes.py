"""What a loop spends its time on, from the call that enters it to its end, all steps counted.

Rates leave the first steps out; this does not. Times of steps, callbacks, traces, validation and
saves come from clocks. How long steps wait for input inside a compiled call is tf.data's model;
lines are from stack samples.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from quickfit.account.around_nodes import activity_of
from quickfit.account.input_limit import HANDS_OVER, limit_of_input
from quickfit.account.sampled import LineTimes, innermost_user_line, place_of
from quickfit.account.step_parts import (
    LABELS,
    PYTHON_IN_STEP,
    doubtful_between_s,
    part_label,
    step_parts,
    take,
)
from quickfit.account.timeline import LoopSpan
from quickfit.errors import SignalMissing
from quickfit.findings import AccountNode, Location
from quickfit.signals import Signals
from quickfit.signals._host import is_in_watched_call
from quickfit.signals.first_step import FirstWait, first_wait
from quickfit.signals.gains import share_interval
from quickfit.signals.input import Stage
from quickfit.signals.loops import BATCH_HOOKS, EPOCH_HOOKS
from quickfit.signals.stacks import Frame, SampledStack, is_in_fit, is_validating
from quickfit.signals.step_python import hot_line, python_in_step
from quickfit.signals.steps import Steps, calls_s
from quickfit.signals.traces import TracedFunction, traced_functions

LOOP_LABELS = {
    "fit": "fit",
    "train_on_batch": "train_on_batch loop",
    "custom": "training loop",
    "graph": "training loop in one function",
    "predict": "predict",
    "evaluate": "evaluate",
}
# Calls of `fit` whose set-up is looked at by samples; the others are like them.
MAX_SETUPS = 20
# Of the times between two epochs, so many of the longest are looked at by samples.
MAX_EPOCH_ENDS = 50
MAX_CHILDREN = 5
# Hooks of callbacks that come between the steps of epochs, or after the last.
AROUND_HOOKS = (*EPOCH_HOOKS, "on_train_end")
# Children of a part are named from this share of it on.
MIN_CHILD_SHARE = 0.10


def loop_node(signals: Signals, spans: Sequence[LoopSpan]) -> AccountNode:
    """Return the node of the loop that `signals` are about.

    Args:
        signals: about this loop.
        spans: the time it owns.
    """
    loop, every = signals.loop, signals.every_step
    total_s = sum(span.duration_s for span in spans)
    setup_s = sum(_setup_s(span) for span in spans)
    found: list[AccountNode | None]
    if every is None:
        found = [_setup_node(signals, spans, total_s)]
    else:
        old = [row for row in signals.process.rows("step_blocks") if row["loop"] == loop.id]
        thinned_s = sum(row["end_s"] - row["begin_s"] for row in old)
        steps_s = min(every.total_s + thinned_s, total_s - setup_s)
        found = [_setup_node(signals, spans, setup_s)]
        count = len(every.steps) + sum(row["steps"] for row in old)
        found += _step_nodes(signals, every, steps_s, count)
        returning_s = sum(span.return_s for span in spans)
        found += _epoch_nodes(signals, total_s - setup_s - steps_s, returning_s)
    children = _joined([child for child in found if child is not None and child.seconds > 0])
    children.sort(key=lambda node: node.seconds, reverse=True)
    return AccountNode(
        "loop",
        _loop_label(signals),
        total_s,
        total_s,
        total_s,
        0.0,
        0 if every is None else count,
        loop.location,
        loop=loop.id,
        children=tuple(children),
    )


def _loop_label(signals: Signals) -> str:
    loop = signals.loop
    if loop.facts.get("head") == "save":
        return "loop that saves"
    if loop.kind == "custom" and not loop.trains:
        return "loop that does not train"
    return LOOP_LABELS.get(loop.kind, loop.kind)


def _setup_s(span: LoopSpan) -> float:
    """Return how long a loop was entered before its first step began."""
    if span.first_step_s is None:
        return span.duration_s
    return min(max(span.first_step_s - span.begin_s, 0.0), span.duration_s)


def _setup_node(signals: Signals, spans: Sequence[LoopSpan], setup_s: float) -> AccountNode | None:
    """Return what Keras does before the first step: data, building, tracing."""
    if setup_s <= 0:
        return None
    kinds: dict[str, LineTimes] = {}
    seen_s = 0.0
    for span in [span for span in spans if _setup_s(span) > 0][:MAX_SETUPS]:
        end_s = span.begin_s + _setup_s(span)
        stacks = signals.stack_clock.between(
            span.begin_s, end_s, wanted=lambda frames, loop: is_in_fit(frames)
        )
        for stack in stacks:
            kind, line = activity_of(stack.frames, signals)
            kinds.setdefault(kind, LineTimes()).add(line, stack.seconds, stack.seen)
            seen_s += stack.seconds
    scale = setup_s / seen_s if seen_s else 0.0
    samples = sum(times.samples for times in kinds.values())
    children = []
    for kind, times in kinds.items():
        hottest = times.hottest()
        where = place_of(signals, hottest[0][0]) if hottest else None
        seconds = times.total_s * scale
        low, high = (setup_s * bound for bound in share_interval(seconds / setup_s, samples))
        label = _SETUP_LABELS.get(kind, "Keras's own set-up")
        children.append(AccountNode(kind, label, seconds, low, high, 0.0, where=where))
    children.sort(key=lambda node: node.seconds, reverse=True)
    label = "set-up before the first step"
    return AccountNode(
        "setup",
        label,
        setup_s,
        setup_s,
        setup_s,
        0.0,
        len(spans),
        signals.loop.location,
        loop=signals.loop.id,
        children=tuple(children),
    )


_SETUP_LABELS = {
    "data": "preparing its data",
    "model": "building the model",
    "tracing": "tracing and compiling",
    "imports": "imports",
    "setup": "asking for a first batch",
}


def _step_nodes(
    signals: Signals, every: Steps, steps_s: float, count: int
) -> list[AccountNode | None]:
    """Return the parts of all steps together: `count` of them, of which `every` are kept."""
    first = first_wait(signals.process, signals.loop, signals.traces)
    wait_s, error = _waited_s(signals, every, first)
    parts = step_parts(signals, every, None if wait_s is None else wait_s / len(every.steps))
    # Clocks that overlap may say more than the whole.
    whole_s = max(every.mean_s, sum(parts.values()))
    scale = steps_s / whole_s if whole_s else 0.0
    seconds = {name: value * scale for name, value in parts.items()}
    left_s = steps_s - sum(seconds.values())
    if left_s > 0:
        seconds["unattributed"] = seconds.get("unattributed", 0.0) + left_s
    makers = {
        "callbacks": lambda s: _callback_children(signals, s, BATCH_HOOKS),
        "tracing": lambda s: _trace_children(signals, s),
        "between": lambda s: _line_children(signals, s),
        "step": lambda s: _eager_children(signals, s) or _step_python_children(signals, s),
    }
    nodes: list[AccountNode | None] = []
    for name, value in seconds.items():
        if name == "input_wait":
            nodes.append(_wait_node(signals, value, first, error))
            continue
        children = makers[name](value) if name in makers else ()
        where = children[0].where if children else None
        if name == "step" and not any(child.name == "eager_line" for child in children):
            where = signals.loop.location
        if name == "checkpoint":
            where = _save_place(signals)
        node = _node(signals, name, value, where=where, children=children, count=count)
        if name == "between":
            # The clock is sure of the time, and not that it was the script's Python.
            doubtful_s = doubtful_between_s(signals, parts["between"]) * scale
            node = dataclasses.replace(node, low_s=max(value - doubtful_s, 0.0))
        nodes.append(node)
    return nodes


def _node(
    signals: Signals,
    name: str,
    seconds: float,
    *,
    where: Location | None = None,
    children: Sequence[AccountNode] = (),
    count: int = 0,
    detail: str = "",
) -> AccountNode:
    return AccountNode(
        name,
        part_label(name, signals),
        seconds,
        seconds,
        seconds,
        0.0,
        count,
        where,
        detail=detail,
        loop=signals.loop.id,
        children=tuple(children),
    )


def _waited_s(signals: Signals, every: Steps, first: FirstWait) -> tuple[float | None, float]:
    """Return how long all steps waited for input, and by what part of that it may be off."""
    try:
        wait = signals.wait
    except SignalMissing:
        waited_s = first.fill_s + first.batch_s
        # The wait of the others stays inside them: better unknown than zero.
        return (waited_s, 0.0) if len(every.steps) == 1 and waited_s > 0 else (None, 0.0)
    after = signals.all_steps
    assert after is not None
    warmup = every.steps[: len(every.steps) - len(after.steps)]
    waited_s = wait.step_s * len(after.steps)
    for number, step in enumerate(warmup):
        call_s = step.call_s or 0.0
        if number == 0:
            waited_s += min(first.fill_s + first.batch_s, call_s or step.cycle_s)
        else:
            traced_s = signals.traced_s(step.end_s - step.cycle_s, step.end_s)
            waited_s += min(wait.step_s, max(call_s - traced_s, 0.0))
    return waited_s, wait.error_share / wait.share if wait.share else 0.0


def _wait_node(signals: Signals, seconds: float, first: FirstWait, error: float) -> AccountNode:
    """Return the wait for input with what it waits for: a fill, a first batch, stages, lines."""
    children: list[AccountNode] = []
    left = {"wait": seconds}
    fill_s = take(left, "wait", first.fill_s)
    if fill_s > 0 and first.fill is not None:
        where = signals.location(first.fill.file, first.fill.line)
        label = f"filling the shuffle buffer ({first.fill.elements:,} elements)"
        children.append(
            AccountNode("shuffle_fill", label, fill_s, fill_s, fill_s, 0.0, where=where)
        )
    batch_s = take(left, "wait", first.batch_s)
    if batch_s > 0:
        children.append(AccountNode("first_batch", "first batch", batch_s, batch_s, batch_s, 0.0))
    stages = _stage_children(signals, left["wait"])
    children += stages
    children = [child for child in children if child.seconds >= MIN_CHILD_SHARE * seconds]
    children.sort(key=lambda node: node.seconds, reverse=True)
    where = next((child.where for child in children if child.where is not None), None)
    return AccountNode(
        "input_wait",
        part_label("input_wait", signals),
        seconds,
        seconds * max(1 - error, 0.0),
        seconds * (1 + error),
        0.0,
        0,
        where,
        limit_of_input(signals),
        loop=signals.loop.id,
        children=tuple(children),
    )


def _stage_children(signals: Signals, wait_s: float) -> list[AccountNode]:
    """Return what bounds the input: lines of Python, or stages by what each adds to a batch.

    Stages of one line are one.
    """
    if wait_s <= 0:
        return []
    try:
        if signals.loop.input in ("generator", "pydataset"):
            return _input_line_children(signals, wait_s)
        stages = [stage for stage in signals.stages if stage.kind not in HANDS_OVER]
    except SignalMissing:
        return _input_line_children(signals, wait_s)
    lines: dict[object, list[Stage]] = {}
    for stage in stages:
        place = stage.location
        lines.setdefault((place.file, place.line) if place else stage.name, []).append(stage)
    groups = [sorted(group, key=_period_s, reverse=True) for group in lines.values()]
    periods = [(sum(_period_s(stage) for stage in group), group[0]) for group in groups]
    total = sum(period for period, _ in periods)
    nodes = []
    for period, stage in sorted(periods, key=lambda each: -each[0])[:MAX_CHILDREN]:
        seconds = wait_s * period / total if total else 0.0
        label = f"{stage.kind}({stage.function})" if stage.function else stage.kind
        nodes.append(
            AccountNode(
                "input_stage",
                label,
                seconds,
                0.0,
                wait_s,
                0.0,
                where=stage.location,
                detail=f"parallelism {stage.parallelism:g}",
                loop=signals.loop.id,
            )
        )
    return nodes


def _period_s(stage: Stage) -> float:
    """Return how long a stage needs for the input of one step."""
    return stage.work_s / max(stage.parallelism, 1.0)


def _input_line_children(signals: Signals, wait_s: float) -> list[AccountNode]:
    return _by_lines(signals, signals.input_stacks(), wait_s, "input_line")


def _by_lines(
    signals: Signals, stacks: Sequence[SampledStack], seconds: float, name: str
) -> list[AccountNode]:
    times = LineTimes()
    for stack in stacks:
        times.add(innermost_user_line(stack.frames), float(stack.seen), stack.seen)
    return _line_nodes(signals, times, seconds, name)


def _line_nodes(signals: Signals, times: LineTimes, seconds: float, name: str) -> list[AccountNode]:
    """Return a part of the time by the lines that were seen in it."""
    nodes = []
    for frame, seen in times.hottest():
        share = seen / times.total_s
        low, high = share_interval(share, times.samples)
        where = place_of(signals, frame)
        label = where.text if where is not None and where.text else frame.function
        part_s = share * seconds
        nodes.append(
            AccountNode(
                name,
                label,
                part_s,
                low * seconds,
                high * seconds,
                0.0,
                where=where,
                detail=f"{times.samples:.0f} samples",
                loop=signals.loop.id,
            )
        )
    return nodes


def _callback_children(
    signals: Signals, seconds: float, hooks: tuple[str, ...]
) -> list[AccountNode]:
    """Return the callbacks with their share of the time, each at its slowest line."""
    times = signals.loop.callback_times(signals.process, signals.location, hooks)
    total_s = sum(time.step_s * time.calls for time in times)
    nodes = []
    for time in times:
        part_s = seconds * time.step_s * time.calls / total_s if total_s else 0.0
        if part_s < MIN_CHILD_SHARE * seconds:
            continue
        where = time.location
        if where is not None:
            line = signals.hot_line_in(where.file, where.line)
            where = line.location if line is not None else where
        nodes.append(
            AccountNode(
                "callback",
                f"{time.name}.{time.hook}",
                part_s,
                part_s,
                part_s,
                0.0,
                time.calls,
                where or signals.loop.location,
                loop=signals.loop.id,
            )
        )
    return sorted(nodes, key=lambda node: node.seconds, reverse=True)[:MAX_CHILDREN]


def _trace_children(signals: Signals, seconds: float) -> list[AccountNode]:
    """Return the functions that were traced in the loop."""
    loop = signals.loop
    # Loops may take turns, each with a step of its own.
    others = {place.short for one in signals.loops if (place := one.location) is not None}
    others -= {loop.location.short} if loop.location is not None else set()
    mine = [
        trace
        for trace in signals.traces
        if loop.entered_s <= trace.at_s <= loop.end_s + 1.0
        and not trace.is_nested
        and (trace.caller is None or trace.caller.short not in others)
    ]
    functions = traced_functions(mine)
    total_s = sum(function.seconds for function in functions)
    nodes = []
    for function in functions[:MAX_CHILDREN]:
        part_s = seconds * function.seconds / total_s if total_s else 0.0
        is_once = 1 < function.traces == function.function_objects
        if part_s >= MIN_CHILD_SHARE * seconds:
            nodes.append(
                AccountNode(
                    "traced_function",
                    f"`{function.name}`{_how_often(function)}",
                    part_s,
                    min(function.seconds, part_s),
                    part_s,
                    0.0,
                    function.traces,
                    function.location or function.caller or loop.location,
                    detail="each traced once" if is_once else function.example,
                    loop=loop.id,
                )
            )
    return nodes


def _how_often(function: TracedFunction) -> str:
    """Say how often it was traced; another function object of the same name is no trace again."""
    objects, traces = function.function_objects, function.traces
    if objects == 1:
        return ", traced once" if traces == 1 else f", traced {traces} times"
    more = "" if objects == traces else f", traced {traces} times"
    return f", {objects} functions{more}"


def _line_children(signals: Signals, seconds: float) -> list[AccountNode]:
    try:
        stacks = signals.stacks_between()
    except SignalMissing:
        return []
    return _by_lines(signals, stacks, seconds, "line")


def _eager_children(signals: Signals, seconds: float) -> list[AccountNode]:
    """Return the user's lines that an eager step is at; a compiled one is one call."""
    if not (signals.is_eager or signals.loop.facts.get("eager_loop")):
        return []
    try:
        stacks = signals.main_stacks()
    except SignalMissing:
        return []
    inside = [
        stack
        for stack in stacks
        if is_in_watched_call(stack) or is_in_fit(stack.frames) or signals.is_under_tape(stack)
    ]
    return _by_lines(signals, inside or stacks, seconds, "eager_line")


def _step_python_children(signals: Signals, seconds: float) -> list[AccountNode]:
    """Return the Python that the graph of the step calls, with its lines.

    Two such functions may run at once, taking turns: together they are no longer than the step.
    """
    try:
        functions = python_in_step(signals)
    except SignalMissing:
        return []
    python_s = min(sum(function.total_s for function in functions), seconds)
    if not functions or python_s < MIN_CHILD_SHARE * seconds:
        return []
    try:
        lines = _by_lines(signals, signals.step_python_stacks(), python_s, "python_line")
    except SignalMissing:
        lines = []
    longest = functions[0]
    line = hot_line(longest, signals)
    where = line.location if line is not None else longest.called_at or longest.location
    label = LABELS[PYTHON_IN_STEP]
    return [
        AccountNode(
            PYTHON_IN_STEP,
            label,
            python_s,
            python_s,
            python_s,
            0.0,
            sum(function.calls for function in functions),
            where,
            detail=", ".join(f"`{function.name}`" for function in functions[:MAX_CHILDREN]),
            loop=signals.loop.id,
            children=tuple(lines),
        )
    ]


def _epoch_nodes(signals: Signals, around_s: float, returning_s: float) -> list[AccountNode | None]:
    """Return what lies between the steps of epochs, and after the last."""
    loop, left = signals.loop, {"around": max(around_s, 0.0)}
    if left["around"] <= 0:
        return []
    validated_s = take(left, "around", sum(epoch.validation_s for epoch in signals.epochs))
    ended_s = max(calls_s(signals.process, loop.id, ("end",)), returning_s)
    ends_s = take(left, "around", ended_s)
    hooks_s = sum(
        row["wall_s"]
        for row in signals.process.rows("callbacks")
        if row["loop"] == loop.id and row["hook"] in AROUND_HOOKS
    )
    written_s = min(calls_s(signals.process, loop.id, ("save",)), hooks_s)
    saves_s = take(left, "around", written_s)
    callbacks_s = take(left, "around", hooks_s - saves_s)
    epochs = len(signals.epochs)
    lines = _epoch_end_lines(signals, left["around"])
    hooks = _callback_children(signals, callbacks_s, AROUND_HOOKS)
    return [
        _node(signals, "validation", validated_s, where=loop.location, count=epochs),
        _node(signals, "checkpoint", saves_s, where=_save_place(signals)),
        _node(
            signals,
            "epoch_callbacks",
            callbacks_s,
            where=hooks[0].where if hooks else None,
            children=hooks,
            count=epochs,
        ),
        _node(signals, "iterator_ends", ends_s, where=loop.location),
        _node(
            signals,
            "epoch_ends",
            left["around"],
            where=lines[0].where if lines else loop.location,
            children=lines,
            count=epochs,
        ),
    ]


def _epoch_end_lines(signals: Signals, seconds: float) -> list[AccountNode]:
    """Return the script's own lines that run between the steps of two epochs of `fit`.

    Such as `on_epoch_end` of a PyDataset, or a function that makes the data of the next epoch. What
    Keras does there by itself has the line of the call.
    """
    steps = signals.every_step
    if signals.loop.kind != "fit" or steps is None or seconds <= 0:
        return []
    pairs = zip(steps.steps, steps.steps[1:], strict=False)
    gaps = [(a.end_s, b.begin_s) for a, b in pairs if a.epoch != b.epoch and b.begin_s > a.end_s]
    longest = sorted(gaps, key=lambda gap: gap[0] - gap[1])[:MAX_EPOCH_ENDS]
    times, call = LineTimes(), signals.loop.location
    for begin_s, end_s in longest:
        for stack in signals.stack_clock.between(begin_s, end_s, wanted=_is_between_epochs):
            line = innermost_user_line(stack.frames)
            is_call = line is None or (
                call is not None and (line.file, line.line) == (call.file, call.line)
            )
            times.add(None if is_call else line, stack.seconds, stack.seen)
    return _line_nodes(signals, times, seconds, "line")


def _is_between_epochs(frames: Sequence[Frame], loop: int | None) -> bool:
    """Tell whether a stack of `fit` is neither in a step, nor in a hook, nor in an evaluation."""
    is_elsewhere = any(frame.file.endswith(_NOT_BETWEEN_EPOCHS) for frame in frames)
    return is_in_fit(frames) and not is_elsewhere and not is_validating(frames)


_NOT_BETWEEN_EPOCHS = ("/polymorphic_function.py", "/callback_list.py", "/traceback_utils.py")


def _save_place(signals: Signals) -> Location | None:
    saves = [c for c in signals.calls if c.kind == "save" and c.loop == signals.loop.id]
    return saves[0].location if saves else signals.loop.location


def _joined(nodes: list[AccountNode]) -> list[AccountNode]:
    """Return nodes of one kind as one: a save in a step and one after an epoch are saves."""
    kinds: dict[str, AccountNode] = {}
    for node in nodes:
        if node.name in kinds:
            before = kinds[node.name]
            kinds[node.name] = AccountNode(
                node.name,
                node.label,
                before.seconds + node.seconds,
                before.low_s + node.low_s,
                before.high_s + node.high_s,
                0.0,
                max(before.count, node.count),
                before.where or node.where,
                before.limited_by or node.limited_by,
                before.detail or node.detail,
                before.loop,
                (*before.children, *node.children),
            )
        else:
            kinds[node.name] = node
    return list(kinds.values())
