"""The parent: starts the script, follows its recording, reports, ends as the script ended.

It stays small and imports no TensorFlow: it must be able to answer when the script cannot.
"""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NoReturn

from quickfit.launch import verdict
from quickfit.launch.child import (
    MEMORY_VARIABLE,
    ROLE_VARIABLE,
    RUN_VARIABLE,
    STOP_VARIABLE,
    TURBO_VARIABLE,
)
from quickfit.launch.descendants import Leftovers, adopt_orphans, descendants
from quickfit.launch.follow import Follower
from quickfit.launch.interpreter import dropped_flags
from quickfit.launch.live import LivePage
from quickfit.launch.place import Place, prepare
from quickfit.launch.process import Ending, ScriptProcess, end_as
from quickfit.launch.quiet import QuietWatch
from quickfit.launch.reactions import FirmEnd, Forwarder, InterruptAnswer, reaction_in_recording
from quickfit.launch.signals import SignalWatch
from quickfit.launch.status import say
from quickfit.launch.stderr import Relay, open_relay
from quickfit.launch.target import Target

INJECT = Path(__file__).with_name("inject")
# Signals and the end of the script wake us at once: idle ticks are for the early verdict, and
# cost less than 0.1 % of a core; the short ones for a deadline that is near.
_IDLE_TICK_S = 0.5
_SHORT_TICK_S = 0.05
# A second Ctrl-C in a hurry does not cost the report; a later one means it.
_PATIENCE_WITH_REPORT_S = 3.0


@dataclass(frozen=True)
class Watching:
    """What is said while a script runs, and what is done about it.

    Args:
        stuck_after_s: how long it may be quiet before that is called stuck; None: 30 s.
        on_stuck: a command to run, once, when it is called stuck.
        on_slowdown: a command to run, once, when it is found to slow down.
    """

    stuck_after_s: float | None = None
    on_stuck: str | None = None
    on_slowdown: str | None = None


@dataclass(frozen=True)
class Observation:
    """What is left of a run that was watched.

    Args:
        folder: its recording.
        exit_code: the script's, or None if a signal ended it.
        signal: the number of that signal, or None.
        is_reported: the report was printed already, because a Ctrl-C was not answered.
    """

    folder: Path
    exit_code: int | None
    signal: int | None
    is_reported: bool = False


def run(
    target: Target,
    *,
    output: Path | None = None,
    stop: dict[str, float] | None = None,
    early: bool = True,
    log_lines: bool | None = None,
    memory: bool = False,
    turbo: bool = False,
    live: bool = False,
    watching: Watching | None = None,
    form: verdict.ReportForm | None = None,
) -> NoReturn:
    """Run a script under observation, print the report, end as the script ended.

    Args:
        target: what to run.
        output: the folder of the recording; by default a new one in `.quickfit/runs`.
        stop: `{"steps": n}` and `{"seconds": s}` end the script early at a step boundary.
        early: say the early verdict while it runs.
        log_lines: read TensorFlow's log on stderr; None: if that is a terminal.
        memory: find the lines that hold more and more memory; steps are slow meanwhile.
        turbo: make it faster while it runs, where every value stays the same.
        live: show its page while it runs.
        watching: when it is called stuck, and what to run then.
        form: how the report is given.

    Raises:
        UsageError: the target cannot be run, or the folder cannot be used.
    """
    patience = _Patience()
    early = early and not memory  # a slowed run says nothing about speed
    seen = observe(
        target,
        output=output,
        stop=stop,
        early=early,
        log_lines=log_lines,
        memory=memory,
        turbo=turbo,
        live=live,
        watching=watching or Watching(),
    )
    ending = Ending(seen.exit_code, seen.signal)
    try:
        patience.begin()
        if seen.is_reported:
            again = f"quickfit report {_short(seen.folder)}"
            say(f"the script {ending}; its report: {again}", mid_run=True)
            if form is not None and form.page is not None:
                verdict.print_report(seen.folder, dataclasses.replace(form, prints=False))
        else:
            verdict.print_report(seen.folder, form)
    except KeyboardInterrupt:
        say(f"report interrupted; to see it: quickfit report {_short(seen.folder)}", mid_run=True)
    end_as(ending)


def observe(
    target: Target,
    *,
    output: Path | None = None,
    stop: dict[str, float] | None = None,
    early: bool = True,
    log_lines: bool | None = None,
    memory: bool = False,
    turbo: bool = False,
    live: bool = False,
    watching: Watching | None = None,
) -> Observation:
    """Do all that `run` does, but print no final report and return how the script ended.

    Without `watching` nothing is said of a script that is quiet.
    Call it from the main thread; processes that are no children of the script are spared.
    """
    target.check()
    place = prepare(target, output)
    if flags := dropped_flags():
        say(f"runs the script without {' '.join(flags)}, which would keep quickfit out of it")
    # Before the script is there: it is none of the processes that the script left behind.
    page = LivePage(place.working) if live else None
    adopt_orphans(wanted=True)
    spared = {process.pid for process in descendants()}
    with SignalWatch() as signals:
        say(f"watching {target.name}, recording in {place.shown}")
        env = environment(place.working, stop, memory=memory, turbo=turbo)
        relay = open_relay(place, log_lines=log_lines)
        files = relay.files if relay else None
        script = ScriptProcess(target.command(), env, signals.mask_before, files)
        if relay:
            relay.start()
        place.note(pid=script.pid)
        if page is not None:
            page.announce()
        reacted = reaction_in_recording(place.working, script.pid)
        answer = InterruptAnswer(place, reacted=reacted)
        watches: list[Follower | QuietWatch] = []
        if early:
            command = watching.on_slowdown if watching is not None else None
            watches.append(Follower(place, script.pid, command=command))
        if watching is not None:
            limit_s, command = watching.stuck_after_s, watching.on_stuck
            watches.append(QuietWatch(place, script.pid, limit_s=limit_s, command=command))
        ending = _wait(script, signals, answer, watches, relay)
        place.note_end(ending, script.ended_at)
        if relay:
            relay.settle(signals)
        Leftovers(signals, script.poll, spared).end()
        if relay:
            relay.close(signals)
        place.settle()
    adopt_orphans(wanted=False)
    if page is not None:
        page.end(place.folder)
    return Observation(place.folder, ending.exit_code, ending.signal, answer.is_given)


def _wait(
    script: ScriptProcess,
    signals: SignalWatch,
    answer: InterruptAnswer,
    watches: list[Follower | QuietWatch],
    relay: Relay | None,
) -> Ending:
    forwarder, firm_end = Forwarder(script), FirmEnd(script)
    with _Commentary(answer, watches):
        while (ending := script.poll()) is None:
            is_near = answer.is_pending or forwarder.is_pending or answer.wants_end
            arrival = signals.wait(_SHORT_TICK_S if is_near else _IDLE_TICK_S)
            if arrival is not None:
                forwarder.take(arrival)
                answer.take(arrival)
            forwarder.poll()
            if answer.wants_end:
                firm_end.begin()
            firm_end.poll()
            if relay is not None:
                relay.poll()
    return ending


class _Commentary:
    """Says what is due while the script runs, on a thread of its own.

    To diagnose a recording or to look at a quiet run takes a while, seconds on a busy machine: a
    signal and the end of the script must not wait for that.
    """

    def __init__(self, answer: InterruptAnswer, watches: list[Follower | QuietWatch]) -> None:
        self._answer = answer
        self._watches = watches
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="quickfit-commentary", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        self._is_over.set()
        self._thread.join()  # nothing is said in the middle of the report

    def _run(self) -> None:
        while not self._is_over.wait(_SHORT_TICK_S if self._answer.is_pending else _IDLE_TICK_S):
            self._answer.poll()
            if not self._answer.is_pending and not self._answer.is_given:
                for watch in self._watches:
                    watch.poll()


def environment(
    folder: Path, stop: dict[str, float] | None, *, memory: bool = False, turbo: bool = False
) -> dict[str, str]:
    """Return the environment that carries the probes into the script and what it starts."""
    env = dict(os.environ)
    before = [
        entry for entry in env.get("PYTHONPATH", "").split(os.pathsep) if entry != str(INJECT)
    ]
    # An empty entry means the working directory: never add one, never lose one.
    kept = before if before != [""] else []
    env["PYTHONPATH"] = os.pathsep.join([str(INJECT), *kept])
    env[RUN_VARIABLE] = str(folder)
    env[ROLE_VARIABLE] = "main"
    for name in (STOP_VARIABLE, MEMORY_VARIABLE, TURBO_VARIABLE):
        env.pop(name, None)
    if stop:
        env[STOP_VARIABLE] = json.dumps(stop)
    if memory:
        env[MEMORY_VARIABLE] = "1"
    if turbo:
        env[TURBO_VARIABLE] = "1"
    return env


class _Patience:
    """Lets no Ctrl-C interrupt the report in its first seconds."""

    def __init__(self) -> None:
        self._begin_s: float | None = None
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._on_interrupt)

    def begin(self) -> None:
        self._begin_s = time.monotonic()

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        begin_s = self._begin_s
        if begin_s is None or time.monotonic() - begin_s > _PATIENCE_WITH_REPORT_S:
            raise KeyboardInterrupt


def _short(folder: Path) -> str:
    return Place(folder, folder, {}).shown
