"""Says what a run is doing while nothing is to be seen of it, and why it does not move."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from quickfit.launch.commands import run_command
from quickfit.launch.place import Place
from quickfit.launch.status import say

if TYPE_CHECKING:
    from quickfit.liveness.scene import Scene
    from quickfit.liveness.watch import News

# How often it is asked whether a step was taken, and how often a quiet run is looked at.
POLL_S = 1.0
LOOK_S = 1.5
# A run this quiet is looked at; before, nobody wonders.
LOOK_AFTER_S = 4.0
# A run that moves is looked at now and then: an epoch may be without end.
MOVING_LOOK_S = 10.0
# The cause is not said again; so many verdicts of one run are kept.
MAX_NOTED = 20


class QuietWatch:
    """Looks at a run now and then, and says in whole lines what is news.

    Args:
        place: the run.
        pid: the script's process.
        limit_s: how long it may be quiet before that is called stuck; None for the default.
        command: what to run, once, when it is called stuck.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        place: Place,
        pid: int,
        *,
        limit_s: float | None = None,
        command: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._place, self._pid = place, pid
        self._limit_s, self._command, self._clock = limit_s, command, clock
        self._next_s = clock() + POLL_S
        self._moving_s = clock() + MOVING_LOOK_S
        self._eyes: Any = None  # a SceneReader and a Watch, imported when they are needed
        self._is_off = False

    def poll(self) -> None:
        """Look, if it is time to, and say what is new."""
        now = self._clock()
        if self._is_off or now < self._next_s:
            return
        self._next_s = now + POLL_S
        try:
            self._look(now)
        except Exception as error:  # noqa: BLE001 - anything: the user's run comes first
            self._is_off = True
            say(f"no longer watches for silence ({type(error).__name__}: {error})", mid_run=True)

    def _look(self, now: float) -> None:
        if self._eyes is None:
            self._eyes = self._open_eyes()
        reader, watch = self._eyes
        quiet_s = reader.quiet_s()
        if quiet_s is None or (quiet_s < LOOK_AFTER_S and now < self._moving_s):
            return
        self._moving_s = now + MOVING_LOOK_S
        scene = reader.scene()
        if scene is not None:
            for news in watch.look(scene):
                self._tell(news, scene)
        self._next_s = self._clock() + LOOK_S

    def _open_eyes(self) -> Any:
        from quickfit.causes import stuck_mechanisms
        from quickfit.liveness.reading import SceneReader
        from quickfit.liveness.watch import LIMIT_S, Watch

        self._place.note(quiet=[])  # from now on it is looked at
        log_lines = self._log_lines
        reader = SceneReader(self._place.working, self._pid, log_lines=log_lines)
        return reader, Watch(stuck_mechanisms(), limit_s=self._limit_s or LIMIT_S)

    def _log_lines(self) -> list[dict[str, Any]]:
        found = self._place.facts.get("log_lines")
        return found if isinstance(found, list) else []

    def _tell(self, news: News, scene: Scene) -> None:
        say(news.text, mid_run=True)
        if news.hint:
            more = f"; more: quickfit explain {news.reason.cause}" if news.reason else ""
            say(f"{news.hint.rstrip('.')}{more}")
        if news.kind in ("stuck", "slow", "unknown"):
            self._note(news, scene)
            self._run_command(news)
        elif news.kind == "moves":
            self._note_moved(scene)

    def _note(self, news: News, scene: Scene) -> None:
        found = news.reason
        noted = {
            "kind": news.kind,
            "text": news.text,
            "at_s": scene.at_s,
            "step": scene.steps,
            "quiet_s": round(scene.quiet_s, 1),
            "moved_again_s": None,
        }
        if found is not None:
            noted |= _facts(found)
        before = self._place.facts.get("quiet") or []
        self._place.note(quiet=[*before, noted][-MAX_NOTED:])

    def _note_moved(self, scene: Scene) -> None:
        noted = self._place.facts.get("quiet") or []
        moved = [{**one, "moved_again_s": one["moved_again_s"] or scene.at_s} for one in noted]
        self._place.note(quiet=moved)

    def _run_command(self, news: News) -> None:
        """Run the user's command once; how it ends is nobody's problem."""
        command, self._command = self._command, None
        if command is None:
            return
        found = news.reason
        where = found.where.short if found is not None and found.where is not None else ""
        told = {
            "CAUSE": found.cause if found is not None else "unknown",
            "MESSAGE": news.text,
            "PLACE": where,
            "RECORDING": str(self._place.folder),
        }
        run_command(command, told)


def _facts(found: Any) -> dict[str, Any]:
    """Return a reason as `run.json` keeps it."""
    from quickfit.liveness.watch import evidence_of

    return {
        "cause": found.cause,
        "summary": found.summary,
        "file": found.where.file if found.where is not None else None,
        "line": found.where.line if found.where is not None else None,
        "also_file": found.also.file if found.also is not None else None,
        "also_line": found.also.line if found.also is not None else None,
        "moves": found.moves,
        "advice": found.advice,
        "evidence": evidence_of(found),
    }
