"""Whether a thread stands still, and whether it waits for other processes."""

from __future__ import annotations

from quickfit.findings import Evidence
from quickfit.liveness.scene import Frame, Scene, Thread

# A thread uses less than this of a core while it waits.
IDLE_CORES = 0.05
# The same stack in nearly all looks: it stands still.
STILL_SHARE = 0.9
# A thread that stands still is not woken; one that sleeps for each item is, again and again.
MAX_WAKES_PER_S = 0.5
# What a worker uses that is at work, however little it gets.
WORKING_CORES = 0.02
_WAITS_FOR_WORKERS = (
    "/multiprocessing/pool.py",
    "/multiprocessing/queues.py",
    "/multiprocessing/connection.py",
    "/multiprocessing/popen_fork.py",
    "/multiprocessing/process.py",
    "/concurrent/futures/process.py",
    "/concurrent/futures/_base.py",
    "/data_adapters/py_dataset_adapter.py",
    "/joblib/parallel.py",
)


def is_idle(thread: Thread) -> bool:
    """Tell whether a thread uses next to nothing of a core; one that gets none is not idle."""
    if thread.cores is None:
        return True
    return thread.cores < IDLE_CORES and bool(thread.waits_in)


def stands_still(thread: Thread) -> bool:
    """Tell whether a thread is at one place and not even woken."""
    is_awake = thread.wakes_per_s is not None and thread.wakes_per_s > MAX_WAKES_PER_S
    return is_idle(thread) and thread.share >= STILL_SHARE and not is_awake


def waits_for_workers(thread: Thread) -> bool:
    """Tell whether a thread is in a function that waits for other processes."""
    return any(frame.is_in(*_WAITS_FOR_WORKERS) for frame in thread.frames)


def has_working_child(scene: Scene) -> bool:
    """Tell whether a process below the script is at work."""
    return any(child.cores >= WORKING_CORES for child in scene.children)


def line_text(scene: Scene, frame: Frame | None) -> str:
    """Return the text of the line a frame is at."""
    place = scene.place(frame)
    return place.text if place is not None else ""


def still(thread: Thread) -> Evidence:
    """Return the fact that a thread is where it was."""
    what = "looks at which its stack was the same"
    return Evidence(what, thread.share, "share", thread.waits_in)
