"""Finds the training loops that a script wrote itself, from the calls its lines make.

A line that calls TensorFlow again and again is the head of a loop; from one of its calls to the
next is a step. Which other calls belong to that step is told by the bytecode: they lie inside
the same loop body, or in a function called from it.
"""

from __future__ import annotations

import time
import weakref
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from quickfit.probes import _loops, stopping
from quickfit.probes._places import Place, absolute
from quickfit.probes._sites import AROUND, Moment, Site, enclosing_body
from quickfit.probes._state import Current, Loop, State, now
from quickfit.probes.callbacks import ALL_WATCHED, unwatched_after

if TYPE_CHECKING:
    from quickfit.probes._code_loops import Body
    from quickfit.probes._thread_calls import ThreadCalls

# A line outside any loop of the script, called by a library's, must be seen this often.
WITHOUT_BODY = 3
# The batches of an outer loop make the steps if it asks for one at least this often.
MAX_INNER_STEPS = 20
# The thread's CPU time is read every so many steps; reading it costs a microsecond.
CPU_EVERY = 8
# Instructions of a loop that are learned by heart.
MAX_INSTRUCTIONS = 200
# Kinds of calls that are a part of a step; others are a step by themselves.
_IN_LOOPS = ("next", "function", "tape", "session")


class HandLoop:
    """One loop of the script, and the step that is under way in it."""

    def __init__(self, calls: ThreadCalls, head: Site, body: Body | None, loop: Loop) -> None:
        self.calls = calls
        self.head = head
        self.body = body
        self.loop = loop
        # The iterator of this epoch, by a weak reference: a new one may lie at the same address.
        self.iterator: Any = _nothing
        # An open loop is inside a step.
        self.is_open = False
        self.began = Moment(0.0)
        self.is_input = head.kind == "next"
        self.cpu_from = (0, 0.0)
        self.add_step: Any = _drop
        self.is_asked = False
        # The instructions from which the head, and other calls inside the loop, were made.
        self.head_at: dict[int, CodeType] = {}
        self.inside_at: dict[int, CodeType] = {}
        self.looked_up_at: dict[int, CodeType] = {}
        self.is_unwatched = False
        self.began_s = self.usual_s = 0.0
        # The steps that were counted towards the end of the run.
        self.told = 0
        # What the optimizer's counter said after the first step.
        self.counted: int | None = None

    def again(self, at_s: float, subject: Any) -> None:
        """Note that the head is called again: one step ends, the next one begins."""
        calls = self.calls
        if self.is_open and not (self.is_input and self.iterator() is not subject):
            is_watched = not self.is_unwatched
            _learn(self.head_at, calls.direct)
            if calls.looked_up is not None and len(self.looked_up_at) < MAX_INSTRUCTIONS:
                self.looked_up_at[calls.looked_up[0]] = calls.looked_up[1]
            self._close(at_s)
            if is_watched and self.loop.steps >= ALL_WATCHED and not self.is_asked:
                calls.skip_steps(unwatched_after(self.loop.steps), subject, self)
        else:
            self.leave(at_s)
            self._new_epoch(subject)
        self.is_unwatched = calls.skip > 0
        self.began_s, self.began = at_s, calls.moment(at_s)
        self.is_open = True

    def again_unwatched(self, at_s: float) -> None:
        """Note the same in a step of which only this one time is taken."""
        loop, began_s = self.loop, self.began_s
        # First: a signal may end the script on any line, and no step is written twice.
        self.began_s = at_s
        steps = loop.steps = loop.steps + 1
        times = (began_s, None, None, None, None, at_s, None, None)
        self.add_step((loop.id, loop.epoch, steps, *times))
        self.usual_s = at_s - began_s

    def open_at(self, moment: Moment, subject: Any) -> None:
        """Begin with the step that had begun before the loop was known to be one."""
        self._new_epoch(subject)
        self.began = moment
        self.is_open = True

    def leave(self, at_s: float) -> None:
        """End the last step where its last call ended: the script has left the loop."""
        calls = self.calls
        if calls.ends:
            calls.settle()
        if not self.is_open:
            return
        # A last call for a batch that only says there is none is no step.
        if self.is_unwatched:
            if calls.is_followed or not self.is_input:
                self._close(min(self.began_s + self.usual_s, at_s))
        elif calls.calls - self.began.calls > (1 if self.is_input else 0):
            self._close(max(calls.ended_s, self.began.at_s))
        self.is_open = self.is_unwatched = False
        calls.skip = 0

    def _new_epoch(self, subject: Any) -> None:
        self.loop.epoch += 1
        self.iterator = weakref.ref(subject) if self.is_input else _nothing
        state = Current.state
        if state is not None:
            _loops.epoch_begins(self.loop, subject if self.is_input else None, state)

    def _close(self, end_s: float) -> None:
        calls, began, loop = self.calls, self.began, self.loop
        # Before the step is written: writing it may end the script, which leaves the loop.
        self.is_open = False
        if self.is_unwatched:
            self.again_unwatched(end_s)
            return
        loop.steps += 1
        self.usual_s = end_s - began.at_s
        eager_s = calls.eager_s - began.eager_s
        call_s = calls.call_s - began.call_s
        # A prediction that begins the step lies before its tape, and is no part of eager work.
        head_s = min(self.head.last_took_s, call_s) if self.head.kind in AROUND else 0.0
        call_s = head_s + max(eager_s, call_s - head_s)
        logs_s = calls.logs_s - began.logs_s
        is_due = loop.steps % CPU_EVERY == 0 or loop.steps >= ALL_WATCHED
        cpu_s = self._cpu_s() if is_due else None
        times = (began.at_s, call_s, logs_s, None, None, end_s, cpu_s)
        waited_s = calls.wait_s - began.wait_s
        wait_s = waited_s if waited_s or self.is_input else None
        self.add_step((loop.id, loop.epoch, loop.steps, *times, wait_s))
        if loop.steps <= 2 or loop.steps == CPU_EVERY or self.is_asked:
            _after_step(self, end_s)

    def _cpu_s(self) -> float:
        steps, cpu_s = self.cpu_from
        at_s = time.thread_time()
        self.cpu_from = (self.loop.steps, at_s)
        return (at_s - cpu_s) / max(self.loop.steps - steps, 1)


def _learn(known: dict[int, CodeType], frame: FrameType | None) -> None:
    if frame is not None and len(known) < MAX_INSTRUCTIONS:
        known[frame.f_lasti] = frame.f_code


def _nothing() -> None:
    """Stand for no iterator."""


def _drop(_: Any) -> None:
    """Take a step of a process that is not watched any more."""


def _after_step(hand: HandLoop, end_s: float) -> None:
    state = Current.state
    if state is None:
        return
    loop = hand.loop
    if loop.first_step_s is None:
        loop.first_step_s = end_s
    if loop.steps <= 2:
        _loops.count_inner_steps(hand)
    _loops.describe(hand, state)
    _loops.write(loop, state)
    if stopping.is_asked(state):
        if loop.trains:  # known after the first step
            new, hand.told = loop.steps - hand.told, loop.steps
            state.steps += new * int(loop.facts.get("steps_per_execution") or 1)
        if stopping.is_due(state):
            from quickfit.probes import session

            session.stop_now()


class LoopFinder:
    """Tells from the calls of a thread which loop it is in."""

    def __init__(self, calls: ThreadCalls) -> None:
        self.calls = calls

    def seen(self, site: Site, subject: Any, frame: FrameType, at_s: float) -> None:
        """Take a call at a line that is not the head of the loop the thread is in."""
        calls, current = self.calls, self.calls.loop
        is_inside = current is not None and _is_inside(current, site, frame)
        if site.heads is not None and not (is_inside and _is_part_of(site.heads, current)):
            self._go_on_with(site.heads, at_s, subject)
            return
        if current is not None:
            if is_inside:
                _learn(current.inside_at, calls.direct)
                return
            current.leave(at_s)
        begun = current.loop.steps if current is not None else 0
        if site.opened is not None and self._makes_a_loop(site, frame, begun):
            self._new_loop(site, subject, frame)
            assert calls.loop is not None
            calls.loop.again(at_s, subject)
            return
        if site.opened_at != begun or site.opened is None:
            site.again = 0
        site.opened, site.opened_at = calls.moment(at_s), begun

    def _makes_a_loop(self, site: Site, frame: FrameType, begun: int) -> bool:
        current = self.calls.loop
        if site.opened_at == begun:
            # Seen again, and no step of another loop in between.
            site.again += 1
            return site.again >= (1 if enclosing_body(frame) else WITHOUT_BODY)
        # Batches are asked for around the loop that was taken for the training loop.
        return (
            current is not None
            and site.kind == "next"
            and not current.is_input
            and begun - site.opened_at <= MAX_INNER_STEPS
            and enclosing_body(frame) is not None
        )

    def _go_on_with(self, hand: HandLoop, at_s: float, subject: Any) -> None:
        current = self.calls.loop
        if current is not None and current is not hand:
            current.leave(at_s)
        self.calls.loop = hand
        state = Current.state
        if state is not None:
            _loops.enter(hand.loop, state)
        hand.again(at_s, subject)

    def _new_loop(self, site: Site, subject: Any, frame: FrameType) -> None:
        state = Current.state
        if state is None or site.opened is None:
            return
        began_s = site.opened.at_s
        body = enclosing_body(frame)
        place = state.source(_place(site, body))
        loop = Loop(state.new_id("loop"), "custom", place, began_s, began_s, self.calls.thread, {})
        if body is not None:
            loop.facts["body"] = [absolute(body.code.co_filename), *body.lines]
        hand = HandLoop(self.calls, site, body, loop)
        hand.add_step = state.writer.add_step
        hand.is_asked = stopping.is_asked(state)
        hand.cpu_from = (0, time.thread_time())
        site.heads = self.calls.loop = hand
        _loops.begin(loop, state)
        for other in self.calls.written.values():
            other.move_last(loop.id, began_s)
        if not site.is_followed:
            hand.open_at(site.opened, subject)
        _loops.describe(hand, state)
        _loops.write(loop, state)


def _place(site: Site, body: Body | None) -> Place:
    """Return the line of the loop; a call of Keras that is a step by itself stands for it."""
    if body is None or not body.line or site.kind not in _IN_LOOPS:
        return site.place
    return Place(absolute(body.code.co_filename), body.line, body.code.co_name)


def _is_inside(hand: HandLoop, site: Site, frame: FrameType) -> bool:
    body = hand.body
    if body is None:
        return False
    if site.code is body.code:
        return body.first <= site.at <= body.last
    return body.holds(frame)


def _is_part_of(inner: HandLoop, outer: HandLoop | None) -> bool:
    """Tell whether a loop without an input is what the steps of another one do."""
    return outer is not None and outer.is_input and outer.is_open and not inner.is_input


def finish(state: State) -> None:
    """End the loops that the script was in when it ended."""
    from quickfit.probes._thread_calls import threads

    at_s = now()
    for calls in list(threads.values()):
        if calls.ends:
            calls.settle()
        hand = calls.loop
        if hand is not None and hand.loop.begin_s <= at_s:
            hand.leave(at_s)
            hand.loop.is_over = True
            _loops.describe(hand, state)
            _loops.write(hand.loop, state)
