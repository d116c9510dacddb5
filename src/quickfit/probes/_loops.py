"""Begins, changes and records loops, whether Keras runs them or the script does."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from quickfit.probes import _label_uses, iterator_ends
from quickfit.probes._sites import Site
from quickfit.probes._state import Loop, State, now

if TYPE_CHECKING:
    from quickfit.probes.hand_loop import HandLoop

# Loops that are remembered: a script may call `fit` a million times.
MAX_LOOPS = 16
# What a loop is called after, by the kinds of calls in it; the first that fits.
_KINDS = (("train", "train_on_batch"), ("predict", "predict"), ("evaluate", "evaluate"))


def begin(loop: Loop, state: State) -> None:
    """Make a loop the one that its thread is in."""
    loop.outer = state.loop_of_thread.get(loop.thread)
    enter(loop, state)


def enter(loop: Loop, state: State) -> None:
    """Go on with a loop; it may have been left before."""
    loop.is_over = False
    if loop not in state.loops:
        state.loops = [*state.loops[-MAX_LOOPS:], loop]
    state.loop_of_thread[loop.thread] = loop
    if state.loops_changed is not None:
        state.loops_changed()


def leave(loop: Loop, state: State) -> None:
    """End a loop; the thread is back in the one around it, if there is one."""
    loop.is_over = True
    if state.loop_of_thread.get(loop.thread) is loop:
        del state.loop_of_thread[loop.thread]
        if loop.outer is not None and not loop.outer.is_over:
            state.loop_of_thread[loop.thread] = loop.outer
    if state.loops_changed is not None:
        state.loops_changed()


def write(loop: Loop, state: State) -> None:
    """Record what is known of a loop."""
    file, line = (loop.place.file, loop.place.line) if loop.place else (None, None)
    end_s = now() if loop.is_over else None
    facts = json.dumps(loop.facts, default=str)
    row = (loop.id, loop.kind, file, line, loop.entered_s, loop.begin_s, loop.first_step_s)
    state.writer.add("loops", (*row, end_s, str(loop.thread), facts))


def epoch_begins(loop: Loop, iterator: Any, state: State) -> None:
    """Note that a loop of the script begins with its data again."""
    loop.epoch_begin_s = now()
    for watched in state.iterators:
        is_it = watched.iterator() is iterator
        if is_it or (watched.loop is None and watched.thread == loop.thread):
            watched.loop, watched.steps_before = loop, loop.steps
    iterator_ends.watch(loop, state)


def describe(hand: HandLoop, state: State) -> None:
    """Note what kind of loop it is, now that some of its calls were seen."""
    loop = hand.loop
    sites = [site for site in hand.calls.written.values() if loop.id in site.totals]
    kinds = {site.kind for site in sites}
    loop.trains = any(site.trains for site in sites)
    loop.kind = next((name for kind, name in _KINDS if kind in kinds), "custom")
    if loop.trains and loop.kind in ("predict", "evaluate"):
        loop.kind = "custom"
    if loop.facts.get("is_graph"):
        loop.kind = "graph"
    facts = {
        "trains": loop.trains,
        "input": "tf.data" if "next" in kinds else "python",
        "head": hand.head.kind,
        "eager_loop": bool(kinds & {"apply", "gradient"}),
    }
    loop.facts.update(facts | _label_uses.followed(state))
    if loop.facts.get("is_graph") and "next" not in kinds:
        loop.facts["input"] = "graph"


def count_inner_steps(hand: HandLoop) -> None:
    """Note how many steps one call of a compiled function takes, where it is more than one.

    Asked after the first and the second step: the optimizer's counter has grown by that many.
    """
    loop = hand.loop
    sites = [
        site
        for site in hand.calls.written.values()
        if site.optimizers and site.last_s >= loop.begin_s
    ]
    counted = [count for site in sites if (count := site.iterations()) is not None]
    if not counted:
        return
    if loop.steps > 1 and hand.counted is not None:
        inner = min(counted) - hand.counted
        if inner > 1:
            loop.facts["steps_per_execution"] = inner
            loop.facts["is_graph"] = True
            loop.place = sites[0].place
    hand.counted = min(counted)


def write_calls(sites: list[Site], state: State) -> None:
    """Record the totals of the script's calls that have grown, by line."""
    written: dict[tuple[Any, ...], float] = state.kept.setdefault("calls", {})
    totals: dict[tuple[Any, ...], list[Any]] = {}
    for site in sites:
        for loop, (calls, wall_s, longest_s) in list(site.totals.items()):
            # One line may make several such calls, and several threads may run it.
            key = (loop, site.kind, site.place.file, site.place.line)
            total = totals.setdefault(key, [site, 0, 0.0, 0.0])
            total[1:] = total[1] + calls, total[2] + wall_s, max(total[3], longest_s)
    for key, (site, calls, wall_s, longest_s) in totals.items():
        if written.get(key) != calls:
            written[key] = calls
            state.source(site.place)
            state.writer.add("calls", (*key, site.name, int(calls), wall_s, None, longest_s))
