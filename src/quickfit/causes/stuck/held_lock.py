"""A thread waits for a lock that another thread of the script holds and does not give back.

Why it is slow: the loader's threads, a logger or a cache of your own share a lock with the
training. Where one of them keeps it, because it waits for something itself or ended without
releasing it, everybody else waits for ever, without an error and without using the CPU.

How it shows: the waiting thread stands at one line of yours in all looks, asleep in a futex, and
another thread of the script is inside a block that holds a lock of that name, or waits as well.

Example:
    import threading
    lock = threading.Lock()
    lock.acquire()
    refresh_index()  # raises, and the lock is never released

Use instead:
    import threading
    lock = threading.Lock()
    with lock:  # given back on every path
        refresh_index()

Fix class: shown only. Which of the two threads should wait is for you to decide: take locks in
one order everywhere, hold them for as short as possible, and give `acquire` a timeout.

When it is wrong: a lock held for a while is no deadlock. It is called one only after the limit of
`--stuck-after` has passed with nothing counted on, and never where the holder uses the CPU and
the lock's name is not seen in both places.
"""

from __future__ import annotations

import re

from quickfit.causes._cause import Cause, silence_finding
from quickfit.code.lines import held_names, lines_taking
from quickfit.findings import Evidence, Finding, Fix, FixClass, Symptom
from quickfit.liveness.reason import Mechanism, Proof, Reason
from quickfit.liveness.scene import Frame, Scene, Thread
from quickfit.liveness.waiting import line_text, stands_still, still
from quickfit.signals import Signals

_LOCK_FILES = ("/threading.py", "/queue.py", "/synchronize.py", "/_base.py")
_LOCK_LINE = re.compile(r"\bwith\s|\.(acquire|wait|join|get|put|result|recv)\s*\(")
_TAKES = re.compile(r"\bwith\s|\.acquire\s*\(")
_WAITS_FOR_LOCK = ("futex",)


def detect(signals: Signals) -> Finding | None:
    """Report what was seen while the run was quiet."""
    return silence_finding(signals, "held-lock")


def show_held_lock(scene: Scene) -> Reason | None:
    """Tell of a thread that waits for a lock while another one of the script's holds it."""
    for thread in scene.threads:
        if thread.role == "other" or not _waits_for_lock(scene, thread):
            continue
        frame = thread.user_frame
        others = [t for t in scene.threads if t is not thread and t.user_frame is not None]
        holders = [t for t in others if _holds(scene, t, frame)]
        # Without the lock's name in both, a thread that works or reads may be what is waited for,
        # and one that is inside `fit` waits for the input, not for a lock.
        found = holders or [t for t in others if _waits_for_lock(scene, t)]
        if frame is not None and found:
            return _lock_reason(scene, thread, found[0], is_holder=bool(holders))
        if frame is not None and _is_at_lock(scene, thread):
            return _left_locked(scene, thread, frame)
    return None


def _is_at_lock(scene: Scene, thread: Thread) -> bool:
    """Tell whether a thread is in `with lock:` or `lock.acquire()` itself."""
    is_inside = thread.frames[:1] == (thread.user_frame,)
    line = line_text(scene, thread.user_frame)
    return is_inside and thread.waits_in.startswith(_WAITS_FOR_LOCK) and bool(_TAKES.search(line))


def _left_locked(scene: Scene, thread: Thread, frame: Frame) -> Reason:
    """Tell of a lock that nobody who holds it is at work with: it was not given back."""
    name = _lock_name(line_text(scene, frame))
    taken = lines_taking(scene.sources.get(frame.file, ""), name)
    other = next((line for line in taken if line != frame.line), None)
    there = scene.at(frame.file, other)
    where_else = f"; it is also taken at {there.short}" if there is not None else ""
    return Reason(
        cause="held-lock",
        summary=f"a thread waits for `{name}`, which was not given back{where_else}",
        where=scene.place(frame),
        evidence=(
            still(thread),
            Evidence("threads of the script inside it", 0, "count", "as their stacks tell"),
        ),
        advice="Release the lock on every path (`with lock:`), and take locks in one order.",
        also=there,
    )


def _lock_reason(scene: Scene, thread: Thread, other: Thread, *, is_holder: bool) -> Reason:
    there = scene.place(other.user_frame)
    does = "holds it" if is_holder else "waits too"
    return Reason(
        cause="held-lock",
        summary=f"a thread waits for a lock; another one {does}"
        f"{f' at {there.short}' if there else ''}",
        where=scene.place(thread.user_frame),
        evidence=(
            still(thread),
            Evidence("of a core the other thread uses", other.cores or 0.0, "share", does, there),
        ),
        advice="Release the lock on every path (`with lock:`), and take locks in one order.",
        also=there,
    )


def _waits_for_lock(scene: Scene, thread: Thread) -> bool:
    """Tell whether a thread of the user's stands still in a lock, and not in a library's."""
    frame = thread.user_frame
    if frame is None or not stands_still(thread):
        return False
    inner = thread.frames[: thread.frames.index(frame)]
    if not all(f.is_in(*_LOCK_FILES) for f in inner):
        return False
    if thread.waits_in and not thread.waits_in.startswith(_WAITS_FOR_LOCK):
        return False
    return bool(inner) or bool(_LOCK_LINE.search(line_text(scene, frame)))


def _holds(scene: Scene, thread: Thread, waiting: Frame | None) -> bool:
    """Tell whether a thread is inside a block that holds what another line waits for."""
    if waiting is None:
        return False
    wanted = _lock_name(line_text(scene, waiting))
    for frame in thread.frames:
        text = scene.sources.get(frame.file, "") if frame.is_user else ""
        if wanted and wanted in held_names(text, frame.line):
            return True
    return False


def _lock_name(line: str) -> str:
    """Return the last part of a lock's name: `self._lock` and `reader._lock` may be one."""
    found = re.search(r"\bwith\s+([\w.]+)|([\w.]+)\.(?:acquire|wait|join|get|put)\s*\(", line)
    return (found[1] or found[2]).rsplit(".", 1)[-1] if found else ""


CAUSE = Cause(
    title="A thread waits for a lock that another one holds",
    symptom=Symptom.STUCK,
    detect=detect,
    advice=Fix("Give the lock back on every path, and take locks in one order", FixClass.SHOW_ONLY),
    live=(Mechanism(show_held_lock, Proof.WAITING),),
)
