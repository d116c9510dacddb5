"""Workers that were forked from the script wait for a lock which nobody will ever release.

Why it is slow: TensorFlow runs dozens of threads. A fork copies the memory with every lock as it
was at that moment, but only one thread. If another thread held a lock just then, in TensorFlow, in
a library for images or in your own code, the copy in the worker stays locked for good, and the
worker waits for it without using the CPU. Whether it happens is chance: often at epoch 1.

How it shows: the script waits for its workers (a `Pool`, a `Queue`, a PyDataset with
`use_multiprocessing=True`), all workers that it forked are alive, use no CPU and sleep in a futex,
and nothing is counted on. Where a worker can be looked into, its line is told.

Example:
    import keras

    class Photos(keras.utils.PyDataset):
        def __len__(self):
            return 100

        def __getitem__(self, index):
            return load_batch(index)

    model.fit(Photos(workers=4, use_multiprocessing=True))

Use instead:
    import keras

    class Photos(keras.utils.PyDataset):
        def __len__(self):
            return 100

        def __getitem__(self, index):
            return load_batch(index)

    model.fit(Photos(workers=4, use_multiprocessing=False))  # threads: nothing is forked

Fix class: shown only. Threads are enough where loading releases Python's lock (reading, PIL, NumPy,
OpenCV do); tf.data needs neither. For workers of your own use
`multiprocessing.get_context("spawn")` and start them before TensorFlow is imported.

When it is wrong: workers that wait for work do not all sleep in a futex, because one of them reads
from the pipe that the work comes through; workers that load slowly use the CPU, sleep or read. A
single worker that is not in a futex rules it out, and so does anything that is counted on.
"""

from __future__ import annotations

from quickfit.causes._cause import Cause, silence_finding
from quickfit.findings import Evidence, Finding, Fix, FixClass, Symptom
from quickfit.liveness.phases import waiting_input
from quickfit.liveness.reason import Mechanism, Proof, Reason
from quickfit.liveness.scene import Child, Scene
from quickfit.liveness.waiting import IDLE_CORES, waits_for_workers
from quickfit.signals import Signals

# A worker that is younger may still be starting.
MIN_AGE_S = 4.0


def detect(signals: Signals) -> Finding | None:
    """Report what was seen while the run was quiet."""
    return silence_finding(signals, "fork-deadlock")


def show_hung_workers(scene: Scene) -> Reason | None:
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


CAUSE = Cause(
    title="Forked workers wait for a lock for ever",
    symptom=Symptom.STUCK,
    detect=detect,
    advice=Fix("Use threads or tf.data, or start the workers by spawn", FixClass.SHOW_ONLY),
    live=(Mechanism(show_hung_workers, Proof.NAMED),),
)
