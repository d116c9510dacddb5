"""What the probes of one process share: the writer, the loops, and the switches.

There is one `State` per process. A forked child gets a fresh one with the same hooks.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from quickfit.probes._places import Place, is_user_file
from quickfit.probes._private import Hook
from quickfit.probes._probe import Probe
from quickfit.recording.writer import Writer

now = time.perf_counter


@dataclass
class Loop:
    """A loop that is being watched: one call of `fit`, or a loop of the script's own.

    `phase` is what the loop is doing, so that an iterator made meanwhile is known to feed
    training or validation.
    """

    id: int
    kind: str
    place: Place | None
    entered_s: float
    begin_s: float
    thread: int
    facts: dict[str, Any]
    phase: str = "train"
    epoch: int = 0
    epoch_begin_s: float = 0.0
    validation_begin_s: float = 0.0
    validation_s: float = 0.0
    steps: int = 0
    first_step_s: float | None = None
    is_over: bool = False
    # Whether it changes weights; a loop of the script may only predict.
    trains: bool = True
    # The loop in one of whose callbacks this one runs.
    outer: Loop | None = None
    abandoned: weakref.ref[Any] | None = None
    # Per hook name: one [calls, wall seconds, CPU seconds] per callback, in the list's order.
    hook_totals: dict[str, list[list[float]]] = field(default_factory=dict)
    callback_places: list[tuple[str, dict[str, Place | None]]] = field(default_factory=list)
    callback_is_user: list[int] = field(default_factory=list)


@dataclass
class WatchedIterator:
    """A tf.data iterator whose pipeline model is read from time to time."""

    id: int
    iterator: weakref.ref[Any]
    # None until a loop of the script asks for its first batch.
    loop: Loop | None
    phase: str
    created_s: float
    thread: int = 0
    steps_before: int = 0
    elements: int = 0
    has_model: bool = True
    failures: int = 0
    dataset_id: int | None = None
    # It was recorded before a loop had taken it.
    was_waiting: bool = False
    ending: Any = None


@dataclass
class State:
    """Everything the probes of this process know."""

    writer: Writer
    probes: dict[str, Probe] = field(default_factory=dict)
    # By probe and name.
    hooks: dict[tuple[str, str], Hook] = field(default_factory=dict)
    loops: list[Loop] = field(default_factory=list)
    loop_of_thread: dict[int, Loop] = field(default_factory=dict)
    entered: dict[int, tuple[float, Place | None]] = field(default_factory=dict)
    iterators: list[WatchedIterator] = field(default_factory=list)
    py_inputs: list[Any] = field(default_factory=list)
    next_ids: dict[str, int] = field(default_factory=dict)
    # What the background thread keeps between two of its lives (it is stopped for a fork).
    kept: dict[Any, Any] = field(default_factory=dict)
    # Switched by the overhead benchmark; the hooks stay in place and do nothing.
    is_paused: bool = False
    # Nothing is recorded yet: what is noticed is where datasets and models are made.
    is_waiting: bool = False
    # Called whenever a thread enters or leaves a loop.
    loops_changed: Callable[[], None] | None = None
    # Called after every `fit`: a script that watches itself reports then.
    after_loop: Callable[[], None] | None = None
    # Called once, before everything is put on disk.
    before_finish: list[Callable[[State], None]] = field(default_factory=list)
    steps: int = 0
    # Batches of validation, `evaluate` and `predict`, which are steps of no training loop.
    looked: int = 0
    stop_steps: int | None = None
    stop_at_s: float | None = None
    # Asked after every step, in a trial: True ends the script there.
    at_step: Callable[[], bool] | None = None

    def new_id(self, kind: str) -> int:
        """Return the next number for a loop, an iterator or a dataset of this process."""
        self.next_ids[kind] = self.next_ids.get(kind, 0) + 1
        return self.next_ids[kind]

    def current_loop(self) -> Loop | None:
        """Return the loop that runs on this thread."""
        return self.loop_of_thread.get(threading.get_ident())

    def active_loops(self) -> list[Loop]:
        """Return the loops that have begun and not ended."""
        return [loop for loop in self.loops if not loop.is_over]

    def source(self, place: Place | None) -> Place | None:
        """Keep the text of the user's file a place points at; return the place."""
        if place is not None and is_user_file(place.file):
            self.writer.add_source(place.file)
        return place


class Current:
    """Holds the state of this process, so that hooks installed before a fork find the new one."""

    state: State | None = None
