"""Reasons in other processes: workers that hang, that start the script anew, that are missing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from quickfit.findings import Evidence, Location
from quickfit.liveness.peers import Asked
from quickfit.liveness.phases import waiting_input
from quickfit.liveness.reason import Reason
from quickfit.liveness.scene import Child, Frame, Scene
from quickfit.liveness.waiting import IDLE_CORES, waits_for_workers
from quickfit.source.blocks import is_guarded, line_above

# A worker that is younger may still be starting.
MIN_AGE_S = 4.0
# Workers that come and go: so many new ones, all of them young.
MIN_BORN = 6
YOUNG_S = 6.0
_PEERS = Asked()
_STRATEGIES = re.compile(r"\b(MultiWorkerMirrored|CollectiveAllReduce|ParameterServer)\w*\(")
_DISTRIBUTES = ("/distribute/", "/eager/context.py", "/python/training/server_lib.py")


def fork_deadlock(scene: Scene) -> Reason | None:
    """Tell of forked workers that all wait for a lock nobody can release."""
    waiter = next((t for t in scene.threads if waits_for_workers(t)), None)
    forked = [child for child in scene.children if child.is_fork and child.age_s >= MIN_AGE_S]
    hung = [child for child in forked if _is_hung(child)]
    if waiter is None or not hung or len(hung) < len(forked) or scene.still_s < MIN_AGE_S:
        return None
    at = next((f for child in hung for f in child.frames if f.is_user), None)
    source, asks = waiting_input(scene), scene.place(waiter.user_frame)
    here = scene.place(at) or (source.location if source else None)
    # Keras's own workers are started by `fit`; those of the script by a line of its own.
    is_own = not any("/keras/" in frame.file for frame in waiter.inner)
    where, also = (asks, here) if is_own and asks is not None else (here or asks, asks)
    return Reason(
        cause="fork-deadlock",
        summary=f"{_counted(len(hung))} forked from the script wait for a lock that no thread of"
        " theirs holds",
        where=where,
        evidence=(
            Evidence("workers without any CPU, in a futex", len(hung), "count", _all(forked)),
            Evidence("since anything moved", scene.still_s, "s"),
        ),
        advice="Use threads (`use_multiprocessing=False`), tf.data, or start workers by spawn:"
        " a fork copies locks that other threads hold.",
        also=also,
        is_certain=at is not None and scene.still_s > 2 * MIN_AGE_S,
    )


def _counted(number: int) -> str:
    return "a worker" if number == 1 else f"all {number} workers"


def _all(forked: list[Child]) -> str:
    return "process " + ", ".join(str(child.pid) for child in forked[:4])


def _is_hung(child: Child) -> bool:
    return child.cores < IDLE_CORES and "futex" in child.waits_in


def unguarded_spawn(scene: Scene) -> Reason | None:
    """Tell of spawned workers that run the script again instead of working."""
    again = [child for child in scene.children if child.runs_script]
    # The workers of a guarded script import it too, and are inside it for seconds.
    again = again if _is_unguarded(scene) else []
    young = [child for child in scene.children if child.age_s < YOUNG_S and not child.is_fork]
    is_churning = scene.children_born >= MIN_BORN and len(young) > 0
    if not again or not (is_churning or len(again) > 1 or scene.still_s > MIN_AGE_S):
        return None
    frame = next((f for child in again for f in child.frames if f.is_user), None)
    main = scene.main
    starter = main.user_frame if main is not None else None
    return Reason(
        cause="unguarded-spawn",
        summary="workers started by spawn run the whole script again: it has no"
        ' `if __name__ == "__main__":`',
        where=_started_at(scene, starter) or scene.place(frame),
        evidence=(
            Evidence("workers that are in the script's own top level", len(again), "count"),
            Evidence("processes started so far", scene.children_born, "count"),
        ),
        advice='Put what the script does into `if __name__ == "__main__":`.',
        also=scene.place(frame),
        is_certain=True,
    )


def _is_unguarded(scene: Scene) -> bool:
    """Tell whether the script starts its workers where these come by when they import it."""
    frames = scene.main.frames if scene.main is not None else ()
    top = [frame for frame in frames if frame.is_user and frame.function == "<module>"]
    text = scene.sources.get(top[-1].file, "") if top else ""
    return bool(text) and not is_guarded(text, top[-1].line)


def _started_at(scene: Scene, frame: Frame | None) -> Location | None:
    """Return the line that starts workers, at or above the one that waits for them."""
    if frame is None:
        return None
    starts = r"\b(Pool|Process|ProcessPoolExecutor)\s*\("
    line = line_above(scene.sources.get(frame.file, ""), frame.line, starts, most=20)
    return scene.at(frame.file, line or frame.line)


def missing_workers(
    scene: Scene, *, answers: Callable[[str], bool | None] = _PEERS
) -> Reason | None:
    """Tell of a distributed start that waits for a peer which is not there."""
    cluster = cluster_of(scene.environment.get("TF_CONFIG", ""))
    if cluster is None or scene.loop is not None or scene.steps or not _is_starting(scene):
        return None
    own, peers = cluster
    missing = [peer for peer in peers if peer != own and answers(peer) is False]
    if not missing:
        return None
    named = ", ".join(missing[:3])
    return Reason(
        cause="waits-for-workers",
        summary=f"the start waits for {_peers(len(missing))} that nobody listens at: {named}",
        where=_strategy(scene),
        evidence=(
            Evidence("peers in TF_CONFIG", len(peers), "count", f"this one is {own}"),
            Evidence("of them refuse a connection", len(missing), "count", named),
        ),
        advice="Start the missing worker, or correct the addresses in TF_CONFIG.",
        is_certain=True,
    )


def _is_starting(scene: Scene) -> bool:
    """Tell whether TensorFlow sets up a cluster, in which it may keep Python's lock."""
    frames = scene.main.frames if scene.main is not None else ()
    is_inside = any(part in frame.file for frame in frames for part in _DISTRIBUTES)
    return is_inside or not scene.is_answering


def _strategy(scene: Scene) -> Location | None:
    """Return the line that asks for the cluster; where no stack shows it, the text does."""
    main = scene.main
    if scene.is_answering and main is not None:
        return scene.place(main.user_frame)
    for file, text in scene.sources.items():
        for number, line in enumerate(text.split("\n"), 1):
            if _STRATEGIES.search(line):
                return scene.at(file, number)
    return scene.place(main.user_frame) if main is not None else None


def _peers(number: int) -> str:
    return "a worker" if number == 1 else f"{number} workers"


def cluster_of(text: str) -> tuple[str, list[str]] | None:
    """Return this process's address and all of the cluster; None for no cluster of several."""
    try:
        told: Any = json.loads(text)  # anything a user may have written
        cluster, task = told["cluster"], told["task"]
        peers = [str(peer) for kind in cluster.values() for peer in _listed(kind)]
        own = str(_listed(cluster[task["type"]])[int(task["index"])])
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError):
        return None
    return (own, peers) if len(peers) > 1 else None


def _listed(addresses: Any) -> list[Any]:  # a list, or a mapping from index to address
    return list(addresses.values()) if isinstance(addresses, dict) else list(addresses)
