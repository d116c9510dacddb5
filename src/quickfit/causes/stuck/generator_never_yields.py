"""A generator or PyDataset runs, or waits, and never gives the next batch.

Why it is slow: `fit` waits for a batch as long as it takes. A generator that skips every sample,
because each one raises an error that it catches, goes round for ever; one that waits for a queue
or a server that has nothing to give stands still. Neither says a word: `Epoch 1/10` is the last
line on the screen.

How it shows: no batch comes and nothing else is counted on meanwhile, and one of these is seen: the
thread of the input raises and catches the same exception at one line again and again (its text,
how often, and the line that catches it are told); it stands at one line without using the CPU; or
it runs in a loop that has no `yield`, or has given batches before and gives no more. The text of a
script shows the first of these before it runs: an endless generator in which, if a `try` fails
every time, no path reaches a `yield` or leaves the loop.

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

Fix class: repairs, where the loop over the data is plain: after a round in which nothing could be
read, the first error is raised; a run that can read anything is left as it is. Otherwise shown
only: whether a sample may be left out is for you to decide. What waits for somebody else
(`queue.get`, a request, a socket) needs a timeout and an error.

When it is wrong: a first batch that takes long is not one that never comes. A generator that uses
the CPU and has a `yield` in its loop is not named before its first batch, whatever the time; one
that sleeps or waits is named only after the limit of `--stuck-after`, and any batch, element or
operation that is counted meanwhile rules it out. A generator that swallows exceptions is named
before that only after some thousand of them without a single batch: one that skips most of what
it finds is slow, and moves. From text it is told what happens if all samples fail; whether they
do, only a run shows. A clause that prints or logs what it skips is a hint; one that waits before
it tries again is silent.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.causes._cause import Cause, advice, silence_finding
from quickfit.findings import Change, Effect, Finding, Fix, FixClass, Spotted, Symptom
from quickfit.patterns.generators import goes_round_on
from quickfit.patterns.rounds import failing_round
from quickfit.patterns.skipping import Skip, skips
from quickfit.patterns.swallowing import head, is_for_training, tells, written
from quickfit.program import Module, Program
from quickfit.signals import Signals


def detect(signals: Signals) -> Finding | None:
    """Report what was seen while the run was quiet."""
    return silence_finding(signals, "generator-never-yields")


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show how to let an input fail instead of waiting."""
    return advice(
        __doc__ or "", "Let the input fail: count what is skipped, and give waits a timeout"
    )


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report endless generators that go round for ever if every sample fails."""
    for skip in skips(program, module):
        yield Spotted(
            where=head(module, skip.handler),
            summary=_summary(module, skip),
            effect=Effect.HANGS,
            related=((skip.module.span(skip.ever), "goes round for ever"),),
            change=_change(program, module, skip),
            is_hint=tells(skip.handler),
        )
    yield from _unread(module, program)


def _summary(module: Module, skip: Skip) -> str:
    said = "" if tells(skip.handler) else ", and nobody hears of it"
    return (
        f"if this fails for every sample, `{skip.generator.name}` goes round for ever without "
        f"a batch: `{written(module, skip.handler)}` skips each of them{said}"
    )


def _change(program: Program, module: Module, skip: Skip) -> Change | None:
    edits = failing_round(program, module, skip.tried, skip.handler) if skip.is_own else ()
    if not edits:
        return None
    return Change(
        title="Raise the first error when nothing could be read in a whole round",
        kind=FixClass.REPAIRS,
        edits=edits,
        note="Samples that fail are still left out as long as one can be read.",
    )


def _unread(module: Module, program: Program) -> Iterator[Spotted]:
    """Report images that OpenCV cannot read: it gives None, and raises nothing."""
    for call in module.calls("imread"):
        if program.called(module, call) != "cv2.imread":
            continue
        generator = goes_round_on(program, module, call, ast.Constant(value=None))
        if generator is not None and is_for_training(program, module, generator):
            yield Spotted(
                where=module.span(call),
                summary=(
                    f"if no image can be read, `{generator.name}` goes round for ever without a "
                    "batch: `cv2.imread` gives None, and each one is skipped"
                ),
                effect=Effect.HANGS,
            )


CAUSE = Cause(
    title="The input gives no batch",
    symptom=Symptom.STUCK,
    detect=detect,
    scan=scan,
    fix=fix,
)
