"""The GPU's memory is full or in pieces, and its allocator cleans up or fails.

Why it is slow: TensorFlow takes the GPU's memory in large regions and hands out parts of them.
Where sizes change from step to step, what is free is in many small pieces, and a large tensor
finds none although enough is free in all. The allocator then gives regions back and asks for new
ones, which stops the GPU, or it fails: "ran out of memory trying to allocate".

How it shows: the allocator says so itself in TensorFlow's log, and its own statistics show how
much was in use, now and at most. No GPU was at hand when this was written: it is tested with
readings that were made up.

Example:
    model.fit(ds_of_any_length, batch_size=256)

Use instead:
    import os
    os.environ["TF_GPU_ALLOCATOR"] = "cuda_malloc_async"
    model.fit(ds_of_any_length, batch_size=128)

Fix class: may change results, where the batch gets smaller. The other allocator does not: it is
set before TensorFlow is imported. Lengths padded to a few sizes leave fewer pieces.

When it is wrong: one message at the start, while kernels are chosen, is common and harmless;
nothing is reported for it. Another program on the same GPU leaves less memory than it has.
"""

from __future__ import annotations

from quickfit.causes._cause import Cause, running_out
from quickfit.errors import SignalMissing
from quickfit.findings import Evidence, Exhaustion, Finding, Fix, FixClass, Symptom
from quickfit.signals import Signals
from quickfit.signals.leaks import DeviceMemory, device_memory

# The allocator cleans up once in a healthy run; again and again means that it does not help.
MIN_CLEANED = 3
# At the end so much less than the peak is in use: the failure was not for want of free memory.
MAX_USED_SHARE = 0.8


def detect(signals: Signals) -> Finding | None:
    """Report an allocator that cleans up again and again, or fails."""
    if not signals.has_accelerator:
        return None
    memory, log = device_memory(signals), signals.log_lines
    if memory is None:
        raise SignalMissing("the GPU allocator's own statistics")
    failed, cleaned = log.get("out-of-memory"), log.get("gc-allocator")
    if failed is None and (cleaned is None or cleaned.count < MIN_CLEANED):
        return None
    facts = [
        Evidence(f"in use at most on {memory.device}", memory.peak_bytes, "bytes"),
        Evidence(f"in use on {memory.device} when last read", memory.bytes, "bytes"),
    ]
    for line, what in ((cleaned, "times the allocator gave free regions back"),
                       (failed, "times it found no memory")):  # fmt: skip
        if line is not None:
            facts.append(Evidence(what, line.count, "count", line.text[:120]))
    used = Exhaustion("GPU memory", "bytes", memory.grown, None, 0.0, None, 0.0)
    return running_out(used, _summary(memory, failed is not None), None, *facts)


def _summary(memory: DeviceMemory, is_failed: bool) -> str:
    if memory.bytes < MAX_USED_SHARE * memory.peak_bytes:
        return "the GPU's memory is in pieces: enough is free, but not in one place"
    if is_failed:
        return "the GPU's memory is full: the allocator found none"
    return "the GPU's memory is nearly full, and its allocator cleans up again and again"


CAUSE = Cause(
    title="The GPU's memory is full or in pieces",
    symptom=Symptom.MEMORY,
    detect=detect,
    advice=Fix(
        title="Use the allocator of CUDA, or a smaller batch",
        kind=FixClass.MAY_CHANGE_RESULTS,
        note="Set it before TensorFlow is imported.",
    ),
)
