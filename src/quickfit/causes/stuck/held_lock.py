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

from quickfit.causes._cause import Cause, advice, silence_finding
from quickfit.findings import Finding, Fix, Symptom
from quickfit.signals import Signals


def detect(signals: Signals) -> Finding | None:
    """Report what was seen while the run was quiet."""
    return silence_finding(signals, "held-lock")


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show how to give a lock back on every path."""
    return advice(__doc__ or "", "Give the lock back on every path, and take locks in one order")


CAUSE = Cause(
    title="A thread waits for a lock that another one holds",
    symptom=Symptom.STUCK,
    detect=detect,
    fix=fix,
)
