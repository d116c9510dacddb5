"""Follows the calls one thread makes into TensorFlow and Keras, and the loop they belong to.

Only outermost calls count: what `train_on_batch` or a compiled function calls in turn is theirs.
Running totals grow with every call; the difference between two of them is a step.
"""

from __future__ import annotations

import time
import weakref
from collections import deque
from collections.abc import Callable
from threading import get_ident
from types import CodeType, FrameType
from typing import Any

from quickfit.probes._hooks import paired, stamper
from quickfit.probes._sites import (
    AROUND,
    CO_GENERATOR,
    MAX_SITES,
    Moment,
    Site,
    any_user_frame,
    consumer,
    is_eager,
    is_inside_keras,
    name_of,
    position,
    user_frame,
)
from quickfit.probes._state import now
from quickfit.probes.hand_loop import HandLoop, LoopFinder

thread_time = time.thread_time
# By the number of the thread.
threads: dict[int, ThreadCalls] = {}
_NO_LOOP = 0


class ThreadCalls:
    """The calls of one thread."""

    def __init__(self) -> None:
        self.thread = get_ident()
        # Above zero while Keras's own loop runs on this thread: it is watched elsewhere.
        self.fits = 0
        self.site: Site | None = None
        self.began_s = 0.0
        self.frame = 0
        self.at = 0
        # By code, instruction and kind: a library may take a batch and make a step in one.
        self.sites: dict[tuple[int, int, str], Site] = {}
        self.written: dict[tuple[Any, ...], Site] = {}
        # Calls that make no loop, and the number of the loop they are counted in.
        self.aside_sites: dict[tuple[int, int, str], Site] = {}
        self.aside: int | None = None
        self.finder = LoopFinder(self)
        self.loop: HandLoop | None = None
        self.wait_s = self.call_s = self.eager_s = self.logs_s = 0.0
        self.calls = 0
        self.work_from_s = 0.0
        # So many steps are not watched in full. Meanwhile the loop's calls are known by the
        # instructions they were made from, and the head's also by what it calls.
        self.skip = 0
        self.subject: Any = _nothing
        self.is_followed = False
        self.head_at: dict[int, CodeType] = {}
        self.inside_at: dict[int, CodeType] = {}
        self.looked_up_at: dict[int, CodeType] = {}
        self.again: Callable[[float], None] | None = None
        self.direct: FrameType | None = None
        self.looked_up: tuple[int, CodeType] | None = None
        self.ended_s = 0.0
        # When the call that counts ended: noted at once, and worked out by the next one.
        self.ends: deque[float] = deque()
        self.note_end = stamper(self.ends, now)
        # The same of Keras's logs, with the negative time of each begin.
        self.log_stamps: deque[float] = deque()
        self.note_log_end = stamper(self.log_stamps, now)

    def moment(self, at_s: float) -> Moment:
        """Return the running totals."""
        return Moment(at_s, self.wait_s, self.call_s, self.eager_s, self.logs_s, self.calls)

    def begin(self, kind: str, subject: Any, frame: FrameType | None) -> bool:
        """Note that a call begins; tell whether it counts."""
        if self.ends:
            self.settle()
        if self.site is not None and not self._is_stale(frame):
            return False
        direct, frame = frame, user_frame(frame)
        if frame is None:
            return False
        if kind == "next" and frame.f_code.co_flags & CO_GENERATOR:
            frame = consumer(frame)
        key = (id(frame.f_code), frame.f_lasti, kind)
        site = self.sites.get(key)
        if site is None:
            site = self._new_site(key, kind, subject, frame)
            if site is None:
                return False
        self.frame, self.at = id(frame), frame.f_lasti
        self.aside = None
        self.direct = direct
        at_s = now()
        loop = self.loop
        if loop is not None and loop.head is site:
            loop.again(at_s, subject)
            if self.skip:
                self.direct = None
                return False
        else:
            self.skip = 0
            self.finder.seen(site, subject, frame, at_s)
        self.direct = None
        self.site = site
        self.began_s = now()
        return True

    def passes(self, subject: Any, frame: FrameType) -> bool:
        """Tell whether a call needs no more attention, in a step that is not watched in full."""
        if self.ends:
            self.settle()
        if self.site is not None:
            return True  # inside a call that is
        at, code = frame.f_lasti, frame.f_code
        if self.inside_at.get(at) is code:
            self.is_followed = True
            return True
        if self.head_at.get(at) is code and self.subject() is subject:
            return self._begins_unwatched()
        if is_inside_keras(code.co_filename):
            return True  # a call that is part of another one
        # Another iterator, or a line that is not of this loop.
        self.skip = 0
        return False

    def passes_looked_up(self, subject: Any, frame: FrameType) -> bool:
        """Tell the same of a method that is looked up, which is just before it is called."""
        if self.ends:
            self.settle()
        if self.site is None and self.looked_up_at.get(frame.f_lasti) is frame.f_code:
            return self.subject() is subject and self._begins_unwatched()
        return False

    def _begins_unwatched(self) -> bool:
        skip = self.skip = self.skip - 1
        if not skip or self.again is None:
            return False  # the step that begins now is watched again
        self.is_followed = False
        self.again(now())
        return True

    def skip_steps(self, steps: int, subject: Any, loop: HandLoop) -> None:
        """Watch the next steps of a loop less closely."""
        # A tape is another object in every step, and no subject.
        self.subject = weakref.ref(subject) if subject is not None else _nothing
        self.skip, self.is_followed = steps, False
        self.head_at, self.inside_at = loop.head_at, loop.inside_at
        self.looked_up_at, self.again = loop.looked_up_at, loop.again_unwatched

    def begin_aside(self, kind: str, subject: Any, frame: FrameType | None, loop: int) -> bool:
        """Note a call that makes no loop of its own, such as a save in a callback of `fit`."""
        if self.ends:
            self.settle()
        if self.site is not None:
            return False
        frame = user_frame(frame) or (any_user_frame(frame) if kind == "save" else None)
        if frame is None:
            return False
        key = (id(frame.f_code), frame.f_lasti)
        site = self.aside_sites.get((*key, kind))
        if site is None:
            if len(self.aside_sites) >= MAX_SITES:
                return False
            site = self.aside_sites[*key, kind] = Site(kind, name_of(subject), frame)
        self.site, self.aside = site, loop
        self.frame, self.at = key[0], key[1]
        self.began_s = now()
        return True

    @property
    def is_inside(self) -> bool:
        """Whether a call that counts is under way."""
        return self.site is not None and not self.ends

    def settle(self) -> None:
        """Count the call that is over."""
        try:
            ended_s = self.ends.popleft()
        except IndexError:
            return  # the run ends on another thread, which has just counted it
        self.ends.clear()
        if self.log_stamps:
            self.logs_s += sum(took_s for _, took_s in paired(self.log_stamps))
            self.log_stamps.clear()
        site = self.site
        if site is None:
            return
        self.ended_s = ended_s
        took_s = ended_s - self.began_s
        self.site = None
        if self.aside is not None:
            site.add(self.aside, took_s)
            return
        self.calls += 1
        kind = site.kind
        if kind == "next":
            self.wait_s += took_s
        elif kind in ("apply", "gradient"):
            self.eager_s += ended_s - (self.work_from_s or self.began_s)
            self.work_from_s = ended_s
        loop = self.loop
        # In a loop that only predicts, the prediction is the step.
        is_head = loop is not None and loop.head is site and kind in AROUND
        if kind in ("function", "train", "session") or is_head:
            self.call_s += took_s
        site.last_s, site.last_took_s = ended_s, took_s
        # A save or an evaluation after the last step of an epoch belongs to the loop before it.
        is_of_loop = loop is not None and (loop.is_open or kind in AROUND)
        site.add(loop.loop.id if loop is not None and is_of_loop else _NO_LOOP, took_s)

    def tape(self, frame: FrameType | None) -> None:
        """Note that the gradient of what follows is wanted: eager work begins."""
        if self.begin("tape", None, frame):
            self.site = None
            self.calls += 1
            self.ended_s = self.work_from_s = now()

    def _is_stale(self, frame: FrameType | None) -> bool:
        """Tell whether the call that seems to be under way is over.

        A method that was looked up and kept, but not called, leaves it so: then the frame that
        looked it up is at another instruction now.
        """
        frame = user_frame(frame)
        if frame is None or id(frame) != self.frame or frame.f_lasti == self.at:
            return False
        self.site = None
        return True

    def _new_site(
        self, key: tuple[int, int, str], kind: str, subject: Any, frame: FrameType
    ) -> Site | None:
        # A session runs a graph that is built without running it.
        if (kind != "session" and not is_eager()) or len(self.sites) >= MAX_SITES:
            return None
        # Once a line has run often, Python 3.11 makes the same call from another instruction.
        written = (key[0], position(frame), kind, name_of(subject))
        site = self.written.get(written)
        if site is None:
            site = self.written[written] = Site(kind, written[-1], frame)
        self.sites[key] = site
        return site


def _nothing() -> None:
    """Stand for no object."""


def of_this_thread() -> ThreadCalls:
    """Return the calls of the thread that asks."""
    thread = get_ident()
    found = threads.get(thread)
    if found is None:
        found = threads[thread] = ThreadCalls()
    return found


def note_training(subject: Any, kind: str) -> None:
    """Mark the compiled functions that are being called now as ones that train.

    Called where a gradient is asked for, or applied, while a graph is built. A strategy builds
    its replicas on threads of their own, hence all threads.
    """
    for thread in list(threads.values()):
        site = thread.site
        if site is not None and thread.is_inside and site.kind == "function":
            site.trains = True
            if kind == "apply":
                site.note_optimizer(subject)
