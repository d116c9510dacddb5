"""Memory grows step after step, by something that no other cause explains.

Why it is slow: arrays that a callback or a generator keeps, objects that a library never frees, or
memory that an allocator does not give back. It costs nothing until the machine swaps or the run is
killed, often hours later.

How it shows: the memory in use grows to the end of the run, in all parts of it, and the memory
that was asked for grows with it. Tensors, traces, models, caches and buffers do not grow. Where a
list or dictionary of the script holds more at every look, the line is the one that adds to it; with
`--memory` it is the one whose allocations grow; else the one whose text keeps arrays.

Example:
    class Keep(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            self.weights.append(self.model.get_weights())

Use instead:
    class Keep(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            np.savez(f"weights_{epoch}.npz", *self.model.get_weights())

Fix class: may change results. What is kept goes to a file, or is kept for the last steps only.
Where no line of the script is to blame, another allocator may give memory back: start the script
with `LD_PRELOAD=libtcmalloc.so.4`, or with `MALLOC_ARENA_MAX=2`.

When it is wrong: a cache that fills grows too, and stops. So in a first epoch nothing is reported
without a line that appends something, unless it has taken a twenty-fifth of the memory there is and
what is left would not last until the end of the epoch. Batches that get longer need more memory,
and leak none. A line that is known by its text alone may keep something small: `--memory` tells.
"""

from __future__ import annotations

import math

from quickfit.causes._cause import Cause, example, running_out
from quickfit.errors import SignalMissing
from quickfit.findings import Evidence, Finding, Fix, FixClass, Symptom
from quickfit.signals import Signals
from quickfit.signals.holders import KeepingLine, keeping_line, memory_command
from quickfit.signals.leaks import MIN_LIMIT_SHARE, Leak, grows_for_good

# Without an object that is counted, only a growth beyond all noise of a run is told.
MIN_BYTES = 100_000_000
# A line holds at least this share of what memory grows by, to be the one.
MIN_LINE_SHARE = 0.3
# Python's own memory blocks: a healthy run gains up to ten with every step.
MIN_BLOCKS_PER_STEP = 20


def detect(signals: Signals) -> Finding | None:
    """Report memory that grows by nothing else that is known."""
    leak = signals.leak
    if leak is None or leak.kind or (leak.growth.total < MIN_BYTES and leak.holder is None):
        return None
    is_large = leak.growth.total >= MIN_LIMIT_SHARE * (leak.limit_bytes or math.inf)
    if leak.holder is None and "tensors" not in signals.memory.objects and not is_large:
        raise SignalMissing("two counts of live objects: tensors may be what grows")
    line = keeping_line(signals, ("array", "unknown"))
    if (line is None or line.is_by_key) and not grows_for_good(signals, leak):
        return None
    line = _likely(line, leak)
    blocks = [_python(signals)] if leak.holder is None else []
    facts = [*leak.evidence(), *blocks, *_lines(signals, line)]
    summary = "memory grows with every step"
    if leak.holder is not None:
        summary = f"`{leak.holder.name}` keeps more with every step"
    elif line is not None:
        is_measured = line.is_measured
        summary += ": this line holds it" if is_measured else ", and this line may be what keeps it"
    where = line.location if line is not None else None
    return running_out(leak.exhaustion(), summary, where, *facts)


def _likely(line: KeepingLine | None, leak: Leak) -> KeepingLine | None:
    """Return a line only if it holds what memory grows by, or is the only one that may."""
    if line is not None and line.holder:
        return line
    if line is None or (line.is_measured and (line.per_step or 0) < MIN_LINE_SHARE * leak.per_step):
        return None
    return line if line.is_measured or not line.others else None


def _python(signals: Signals) -> Evidence:
    blocks = signals.memory.python_blocks
    per_step = (blocks.per_step or 0.0) if blocks is not None else 0.0
    if blocks is not None and blocks.is_steady and per_step >= MIN_BLOCKS_PER_STEP:
        said = "Python's own objects grow too"
    else:
        said = "few: large arrays, or memory of a library"
    return Evidence("more memory blocks of Python with every step", per_step, "count", said)


def _lines(signals: Signals, line: KeepingLine | None) -> list[Evidence]:
    if line is None:
        command = memory_command(signals)
        return [Evidence("lines known that hold it", 0, "count", f"to see them: {command}")]
    if line.holder:
        return []
    if line.is_measured and line.per_step is not None:
        return [Evidence("more is held by this line with every step", line.per_step, "bytes")]
    said = f"by its text alone; to be sure: {memory_command(signals)}"
    return [Evidence("line that keeps something for good", 1, "count", said)]


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show how to keep less."""
    if finding.where is None:
        return Fix(
            title="Find the line that keeps it",
            kind=FixClass.SHOW_ONLY,
            example=memory_command(signals),
            note="If no line grows, try LD_PRELOAD=libtcmalloc.so.4 or MALLOC_ARENA_MAX=2.",
        )
    return Fix(
        title="Write it to a file, or keep the last few only",
        kind=FixClass.MAY_CHANGE_RESULTS,
        example=example(__doc__ or "", "Use instead"),
    )


CAUSE = Cause(title="Memory grows with every step", symptom=Symptom.MEMORY, detect=detect, fix=fix)
