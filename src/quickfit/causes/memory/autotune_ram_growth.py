"""The buffers of a pipeline fill with batches that nobody needs yet, and memory with them.

Why it is slow: a `prefetch` holds as many elements ready as its buffer takes, and with `AUTOTUNE`
the buffers of parallel stages grow while the input is ahead of the model, up to half of the
machine's memory; a container's limit is not looked at. Behind `batch`, one element is a whole
batch.

How it shows: tf.data's own count of the bytes it holds ready, shuffles and caches left out, grows
to the end of the run, and explains half of the growth of the process or more.

Example:
    ds = ds.batch(256).prefetch(10_000)

Use instead:
    ds = ds.batch(256).prefetch(2)

Fix class: same results. A few batches ahead hide all that a prefetch can hide. To bound what
autotune takes in all: `options.autotune.ram_budget = 2 * 1024**3`, in bytes.

When it is wrong: a buffer whose size is known stops there. If that fits in half of the memory that
is left, nothing is reported.
"""

from __future__ import annotations

from quickfit.causes._cause import Cause, example, running_out
from quickfit.findings import Evidence, Finding, Fix, FixClass, Symptom
from quickfit.signals import Signals
from quickfit.signals.caching import GrowingBuffers, growing_buffers

# A buffer that takes less than this share of the memory left when it is full does no harm.
MIN_FREE_SHARE = 0.5
# Autotune tries sizes at first, and some tens of megabytes are none to speak of.
MIN_BYTES = 50_000_000


def detect(signals: Signals) -> Finding | None:
    """Report buffers that grow with the memory of the process."""
    leak = signals.leak
    if leak is None or leak.kind != "buffers" or leak.growth.total < MIN_BYTES:
        return None
    buffers = growing_buffers(signals)
    if buffers is None or _fits(signals, buffers):
        return None
    held = Evidence(
        "held ready by the pipeline's stages",
        buffers.held_bytes,
        "bytes",
        f"{buffers.elements:,} elements in `{buffers.largest}` alone",
    )
    more = Evidence("more of that than after warm-up", buffers.growth.total, "bytes")
    summary = "the pipeline holds more and more elements ready"
    return running_out(leak.exhaustion(), summary, buffers.location, *leak.evidence(), held, more)


def _fits(signals: Signals, buffers: GrowingBuffers) -> bool:
    """Tell whether the buffer has a size that does no harm."""
    memory = signals.memory
    if buffers.to_come_bytes is None or memory.limit_bytes is None or memory.used_bytes is None:
        return False
    free = memory.limit_bytes - memory.used_bytes
    return buffers.to_come_bytes < MIN_FREE_SHARE * free


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show how to bound the buffers."""
    return Fix(
        title="Hold a few batches ready, not thousands",
        kind=FixClass.SAME_RESULTS,
        example=example(__doc__ or "", "Use instead"),
        note="With AUTOTUNE, set `options.autotune.ram_budget` to bound all buffers.",
    )


CAUSE = Cause(
    title="The pipeline's buffers fill memory", symptom=Symptom.MEMORY, detect=detect, fix=fix
)
