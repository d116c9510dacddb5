"""A generator or PyDataset runs, or waits, and never gives the next batch.

Why it is slow: `fit` waits for a batch as long as it takes. A generator that skips every sample,
because each one raises an error that it catches, goes round for ever; one that waits for a queue
or a server that has nothing to give stands still. Neither says a word: `Epoch 1/10` is the last
line on the screen.

How it shows: no batch comes and nothing else is counted on meanwhile, and one of these is seen: the
thread of the input raises and catches the same exception at one line again and again (its text,
how often, and the line that catches it are told); it stands at one line without using the CPU; or
it runs in a loop that has no `yield`, or has given batches before and gives no more.

Example:
    def batches(paths):
        while True:
            for path in paths:
                try:
                    image = load_image(path)
                except Exception:
                    continue  # every path is wrong, and nobody hears of it
                yield image[None], labels[path]

Use instead:
    def batches(paths):
        while True:
            skipped = 0
            for path in paths:
                try:
                    image = load_image(path)
                except OSError as error:
                    skipped += 1
                    if skipped > len(paths) // 10:
                        raise RuntimeError(f"{skipped} of {len(paths)} skipped") from error
                    continue
                yield image[None], labels[path]

Fix class: shown only. Whether a sample may be left out is for you to decide. What waits for
somebody else (`queue.get`, a request, a socket) needs a timeout and an error.

When it is wrong: a first batch that takes long is not one that never comes. A generator that uses
the CPU and has a `yield` in its loop is not named before its first batch, whatever the time; one
that sleeps or waits is named only after the limit of `--stuck-after`, and any batch, element or
operation that is counted meanwhile rules it out. A generator that swallows exceptions is named
before that only after some thousand of them without a single batch: one that skips most of what
it finds is slow, and moves.
"""

from __future__ import annotations

from quickfit.causes._cause import Cause, advice, silence_finding
from quickfit.findings import Finding, Fix, Symptom
from quickfit.signals import Signals


def detect(signals: Signals) -> Finding | None:
    """Report what was seen while the run was quiet."""
    return silence_finding(signals, "generator-never-yields")


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show how to let an input fail instead of waiting."""
    return advice(
        __doc__ or "", "Let the input fail: count what is skipped, and give waits a timeout"
    )


CAUSE = Cause(
    title="The input gives no batch",
    symptom=Symptom.STUCK,
    detect=detect,
    fix=fix,
)
