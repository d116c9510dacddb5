"""Follows a training loop that runs inside one compiled function, by its optimizer's counter.

Nothing of such a loop is visible from Python: one call goes in, and after all steps one result
comes out. But every step adds one to `optimizer.iterations`, which another thread can read.
"""

from __future__ import annotations

from quickfit.probes import _loops
from quickfit.probes._sites import Site
from quickfit.probes._state import Loop, State, now
from quickfit.probes._thread_calls import ThreadCalls, threads

# A call shorter than this is one step as any other.
MIN_CALL_S = 1.0
# So many steps within one call are a loop.
MIN_STEPS = 3
# Steps recorded for one reading at most; a loop of faster steps is recorded in larger ones.
MAX_ROWS = 500


class GraphLoop:
    """What is known of the call that is under way on one thread."""

    def __init__(self, site: Site, began_s: float, steps: int, at_s: float) -> None:
        self.site = site
        self.began_s = began_s
        self.steps = steps
        self.at_s = at_s
        self.loop: Loop | None = None


def read(state: State) -> None:
    """Look at every thread that is inside a compiled function that trains."""
    for calls in list(threads.values()):
        site = calls.site
        is_inside = calls.is_inside and now() - calls.began_s > MIN_CALL_S
        # From its second call on, it is the head of a loop whose steps its calls tell.
        if site is not None and is_inside and site.optimizers and site.heads is None:
            _follow(calls, site, state)


def _follow(calls: ThreadCalls, site: Site, state: State) -> None:
    steps, at_s = site.iterations(), now()
    known: GraphLoop | None = state.kept.get(("graph_loop", calls.thread))
    if steps is None:
        return
    if known is None or known.site is not site or known.began_s != calls.began_s:
        loop = known.loop if known is not None and known.site is site else None
        known = state.kept["graph_loop", calls.thread] = GraphLoop(site, calls.began_s, steps, at_s)
        known.loop = loop
        return
    if steps - known.steps < MIN_STEPS and known.loop is None:
        return
    if known.loop is None:
        site.is_followed = True
        known.loop = _new_loop(calls, site, known, state)
    _add_steps(known, steps, at_s, state)


def _new_loop(calls: ThreadCalls, site: Site, known: GraphLoop, state: State) -> Loop:
    place = state.source(site.place)
    began_s = known.began_s
    loop = Loop(state.new_id("loop"), "graph", place, began_s, began_s, calls.thread, {})
    loop.facts = {"trains": True, "input": "graph", "head": "function"}
    loop.epoch, loop.steps, loop.first_step_s = 1, known.steps, known.at_s
    _loops.begin(loop, state)
    _loops.write(loop, state)
    return loop


def _add_steps(known: GraphLoop, steps: int, at_s: float, state: State) -> None:
    loop, new = known.loop, steps - known.steps
    if loop is None or new <= 0:
        return
    rows = min(new, MAX_ROWS)
    each_s = (at_s - known.at_s) / rows
    begin_s = known.at_s
    for number in range(1, rows + 1):
        # The same sum for the end of a step and the begin of the next: they must not overlap.
        end_s = at_s if number == rows else known.at_s + number * each_s
        loop.steps += 1
        times = (begin_s, each_s, None, None, None, end_s, None, None)
        begin_s = end_s
        state.writer.add_step((loop.id, loop.epoch, loop.steps, *times))
    known.steps, known.at_s = steps, at_s
