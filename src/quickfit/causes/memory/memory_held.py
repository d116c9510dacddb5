"""The script holds much memory, or more with every step, and no other cause explains it.

Why it is slow: what a name of the script still refers to is never freed. A dictionary that keeps
every image it has loaded, a variable that each step makes longer, an array that is joined to: they
leave no room for larger batches, copies of them take longer and longer, and at the end the machine
swaps or the run is killed.

How it shows: memory in use grew while steps ran, and looks at the script's own names show which one
holds it: how many bytes, how many more with every step, and the line that adds to it. It holds a
gigabyte or a tenth of the memory there is, or will at the rate at which it grows.

Example:
    if name not in self.images:
        self.images[name] = load(name).astype("float32") / 255
    image = self.images[name]

Use instead:
    if name not in self.images:
        self.images[name] = load(name)
    image = self.images[name].astype("float32") / 255

Fix class: may change results. What is kept gets a bound: the last so many entries, a ring buffer,
`functools.lru_cache(maxsize=...)`, or a file that is read again. A dictionary of decoded images
takes a quarter as `uint8`.

When it is wrong: a cache that fits in memory and saves work was meant to hold so much. A `deque`
with `maxlen` has its bound, and is not reported as long as that fits.
"""

from __future__ import annotations

from quickfit.causes._cause import Cause, example, running_out
from quickfit.findings import Evidence, Exhaustion, Finding, Fix, FixClass, Symptom
from quickfit.signals import Signals
from quickfit.signals.holders import Holder, HolderGrowth, filled_holder, growing_holder
from quickfit.signals.leaks import Leak, grows_for_good
from quickfit.signals.memory import memory_limit


def detect(signals: Signals) -> Finding | None:
    """Report a name of the script that holds much, where nothing else is to blame."""
    filled = filled_holder(signals)
    leak = signals.leak if growing_holder(signals) is not None else None
    if leak is not None and leak.holder is not None:
        if leak.kind == "variable":
            return _growing(leak, leak.holder)
        if leak.kind or not leak.holder.is_by_key or grows_for_good(signals, leak):
            return None  # tensors are another cause's, and so is what grows for good
    return _filled(signals, *filled) if filled is not None else None


def _growing(leak: Leak, holder: Holder) -> Finding:
    summary = f"the variable `{holder.name}` gets larger with every step"
    return running_out(leak.exhaustion(), summary, holder.location, *leak.evidence())


def _filled(signals: Signals, holder: Holder, grown: HolderGrowth) -> Finding:
    limit, _ = memory_limit(signals.process)
    held = float(holder.held_bytes)
    used = Exhaustion(
        *("memory", "bytes", grown.growth.total, grown.growth.per_step, grown.growth.per_s),
        limit,
        None,
        held=held,
    )
    counted = f"{holder.items:,} things in it, counted in {len(holder.looks)} looks"
    return running_out(
        used,
        f"`{holder.name}` keeps all that was put in while training ran",
        holder.location,
        Evidence(f"is held by `{holder.name}`", held, "bytes", counted),
        Evidence("more memory in use by the process meanwhile", grown.process_bytes, "bytes"),
    )


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show how to hold less."""
    return Fix(
        title="Give what is kept a bound, or write it to a file",
        kind=FixClass.MAY_CHANGE_RESULTS,
        example=example(__doc__ or "", "Use instead"),
    )


CAUSE = Cause(title="The script holds much memory", symptom=Symptom.MEMORY, detect=detect, fix=fix)
