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

from quickfit.causes._cause import Cause, advice, silence_finding
from quickfit.findings import Finding, Fix, Symptom
from quickfit.signals import Signals


def detect(signals: Signals) -> Finding | None:
    """Report what was seen while the run was quiet."""
    return silence_finding(signals, "fork-deadlock")


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show how to have workers without a fork."""
    return advice(__doc__ or "", "Use threads or tf.data, or start the workers by spawn")


CAUSE = Cause(
    title="Forked workers wait for a lock for ever",
    symptom=Symptom.STUCK,
    detect=detect,
    fix=fix,
)
