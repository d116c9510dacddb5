"""Decides what is said of a run that is quiet: its phase, why it does not move, that it moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from quickfit import units
from quickfit.findings import Evidence
from quickfit.liveness.phases import Phase, phase
from quickfit.liveness.reason import Mechanism, Reason, first_reason
from quickfit.liveness.scene import Scene
from quickfit.liveness.waiting import STILL_SHARE

# Quiet for this long, a person wonders. Importing TensorFlow alone takes some seconds.
QUIET_S = 5.0
QUIET_BEFORE_LOOP_S = 7.5
# After the first step: so many times the longest time between two steps before.
TIMES_LONGEST = 5.0
# The default limit after which a silence is called one.
LIMIT_S = 30.0
# Phases are followed from here, so that each is timed by itself.
FOLLOW_S = 4.0
# A shorter time of a phase says nothing.
MIN_LASTED_S = 1.0
# A reason must be seen twice, this far apart.
CONFIRM_S = 2.0
# What was told in one epoch is told in another only if it takes this much longer.
TIMES_KNOWN = 3.0
# Progress is told again after this long, then after twice as long.
FIRST_AGAIN_S, LONGEST_AGAIN_S = 15.0, 240.0


@dataclass(frozen=True)
class News:
    """Something to say.

    Args:
        kind: `phase`, `stuck`, `slow` (it takes long and gets there), `unknown` or `moves`.
        text: one line.
        hint: what to do, in a second line; may be empty.
        reason: of a verdict.
    """

    kind: str
    text: str
    hint: str = ""
    reason: Reason | None = None


@dataclass(frozen=True)
class _Told:
    """What was told of a phase, and when it may be told again."""

    text: str
    after_s: float
    again_s: float


class Watch:
    """Looks at one scene after the other and tells what is new.

    Args:
        mechanisms: what shows why a run does not move, the strongest proof first.
        limit_s: how long a silence may last before it is called one.
    """

    def __init__(self, mechanisms: Sequence[Mechanism], *, limit_s: float = LIMIT_S) -> None:
        self._mechanisms = mechanisms
        self._moving = [one for one in mechanisms if one.is_told_of_moving_runs]
        self._limit_s = limit_s
        # By phase: what was told of it in this silence, how long it lasts, how long before.
        self._told: dict[tuple[str, str], _Told] = {}
        self._lasted_s: dict[tuple[str, str], float] = {}
        self._known_s: dict[tuple[str, str], float] = {}
        # The phase of the last look, and when it began.
        self._current: tuple[tuple[str, str], float] | None = None
        self._suspect: tuple[tuple[str, str], float] | None = None
        self._said: set[tuple[str, str]] = set()
        self._verdict: tuple[Reason | None, int, float] | None = None

    def look(self, scene: Scene) -> list[News]:
        """Return what is to be said now; usually nothing."""
        news = self._moved(scene)
        if scene.quiet_s < FOLLOW_S:
            self._current = None
        else:
            self._follow(scene)
        is_quiet = scene.quiet_s >= (QUIET_S if scene.loop is not None else QUIET_BEFORE_LOOP_S)
        if not is_quiet:
            self._forget_phases()
            return news + self._verdict_of(scene, first_reason(self._moving, scene))
        news += self._phase(scene)
        if scene.ended_s is not None:
            return news  # its threads are not seen any more
        found = first_reason(self._mechanisms, scene)
        return news + self._verdict_of(scene, found) + self._unknown(scene)

    # -- the phase ------------------------------------------------------------------------------

    def _follow(self, scene: Scene) -> tuple[Phase, tuple[str, str], float]:
        """Return the phase, what makes it the same as another, and when it began."""
        now = phase(scene)
        # Within one phase before the loop the line may change a hundred times.
        key = (now.name, now.where.short if now.where and scene.loop is not None else "")
        if self._current is None or self._current[0] != key:
            # The first one that is seen is taken for what the silence began with.
            seen_s = scene.at_s - scene.quiet_s if self._current is None else scene.at_s
            self._current = (key, seen_s if now.began_s is None else now.began_s)
        return now, *self._current

    def _phase(self, scene: Scene) -> list[News]:
        now, key, began_s = self._follow(scene)
        self._lasted_s[key] = scene.quiet_s
        if scene.quiet_s < TIMES_KNOWN * self._known_s.get(key, 0.0):
            return []  # as in the epoch before
        text, before = str(now), self._told.get(key)
        if now.done is None and any(told.text == text for told in self._told.values()):
            return []  # a loop began meanwhile
        if before is not None and (now.done is None or text == before.text):
            return []
        if before is not None and scene.at_s < before.again_s:
            return []
        after_s = min(2 * before.after_s, LONGEST_AGAIN_S) if before else FIRST_AGAIN_S
        self._told[key] = _Told(text, after_s, scene.at_s + after_s)
        lasted_s = scene.at_s - began_s
        is_timed = now.done is None and lasted_s >= MIN_LASTED_S
        since = f" ({units.seconds(lasted_s)} so far)" if is_timed else ""
        return [News("phase", f"{text}{since}")]

    def _forget_phases(self) -> None:
        """Begin anew with what is told; remember how long each phase lasted."""
        for key, lasted_s in self._lasted_s.items():
            self._known_s[key] = max(self._known_s.get(key, 0.0), lasted_s)
        self._told.clear()
        self._lasted_s.clear()

    # -- the verdict ----------------------------------------------------------------------------

    def limit_s(self, scene: Scene) -> float:
        """Return how long this run may be quiet at this point."""
        return max(self._limit_s, TIMES_LONGEST * scene.longest_s)

    def _verdict_of(self, scene: Scene, found: Reason | None) -> list[News]:
        if found is None:
            self._suspect = None
            return []
        if self._suspect is None or self._suspect[0] != found.key:
            self._suspect = (found.key, scene.at_s)
            return []
        is_confirmed = scene.at_s - self._suspect[1] >= CONFIRM_S
        # What gets there may count on; what is stuck does not.
        silent_s = scene.quiet_s if found.moves else min(scene.quiet_s, scene.still_s)
        silent_s = silent_s if found.lasted_s is None else found.lasted_s
        is_due = found.is_certain or silent_s >= self.limit_s(scene)
        if not is_confirmed or not is_due or found.key in self._said:
            return []
        self._said.add(found.key)
        self._verdict = (found, scene.steps, scene.quiet_s)
        kind = "slow" if found.moves else "stuck"
        return [News(kind, _verdict_text(found, kind), found.advice, found)]

    def _unknown(self, scene: Scene) -> list[News]:
        """Call a silence after the first step that nothing explains, and list what was seen."""
        main = scene.main
        stands = main is not None and main.share >= STILL_SHARE
        is_long = min(scene.quiet_s, scene.still_s) >= self.limit_s(scene)
        key = ("unknown", str(scene.steps))
        if not (stands and is_long and scene.steps and scene.loop) or self._suspect is not None:
            return []
        if key in self._said or self._verdict is not None:
            return []
        self._said.add(key)
        self._verdict = (None, scene.steps, scene.quiet_s)
        return [News("unknown", _unknown_text(scene), "What it waits for could not be told.")]

    def _moved(self, scene: Scene) -> list[News]:
        if self._verdict is None or scene.steps <= self._verdict[1]:
            return []
        found, self._verdict = self._verdict[0], None
        if found is not None and found.cause == "infinite-input-no-steps":
            return []  # its steps never stopped
        self._said.discard(found.key if found is not None else ("unknown", ""))
        return [News("moves", f"moving again: step {scene.steps:,}")]


def _verdict_text(found: Reason, kind: str) -> str:
    place = f" — {found.where.short}" if found.where is not None else ""
    is_step = found.cause == "slow-step"
    lead = "stuck: " if kind == "stuck" else "not stuck: " if is_step else ""
    return f"{lead}{found.summary}{place} ({found.cause})"


def _unknown_text(scene: Scene) -> str:
    main, machine = scene.main, scene.machine
    place = scene.place(main.user_frame) if main is not None else None
    seen = [f"no step for {units.seconds(scene.quiet_s)}"]
    seen += [f"the longest before took {units.seconds(scene.longest_s)}"] if scene.longest_s else []
    seen += [f"the main thread stands at {place.short}"] if place is not None else []
    seen += [f"{machine.cores:.1f} cores busy"] if machine.cores is not None else []
    seen += [f"{len(scene.children)} processes below it"] if scene.children else []
    return "quiet, cause unknown: " + ", ".join(seen)


def evidence_of(found: Reason) -> list[dict[str, object]]:
    """Return the facts of a reason as `run.json` keeps them."""
    return [_fact(one) for one in found.evidence]


def _fact(one: Evidence) -> dict[str, object]:
    return {"what": one.what, "value": one.value, "unit": one.unit, "detail": one.detail}
