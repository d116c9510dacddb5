"""Tensors, batches or gradient tapes are kept step after step, and memory fills with them.

Why it is slow: a tensor that something still refers to is never freed, and a tensor of a loss may
hold on to the tape and the graph it came from. Each step adds some, until the machine swaps or the
run is killed. On a GPU the memory that runs out first is that of the GPU.

How it shows: memory in use grows with every step to the end of the run, and a list or dictionary of
the script holds more tensors at every look, or the number of tensors alive grows with it. The line
is the one that adds to that list; with `--memory` the one whose allocations grow; else the one
whose text keeps something that is no plain number.

Example:
    losses = []
    for x, y in ds:
        loss = train_step(x, y)
        losses.append(loss)

Use instead:
    mean = keras.metrics.Mean()
    for step, (x, y) in enumerate(ds):
        mean.update_state(train_step(x, y))
        if step % 100 == 0:
            print(float(mean.result()))

Fix class: same results. What is kept becomes a number, `float(loss)`, or a running mean. To keep
many batches, write them to a file; drop a persistent tape with `del tape`.

When it is wrong: a buffer that has a bound, such as `deque(maxlen=...)`, stops growing, and
nothing is reported once it does. Loss values as tensors are small: then memory hardly grows, and
it is mentioned only.
"""

from __future__ import annotations

from quickfit.causes._cause import Cause, example, running_out
from quickfit.findings import Evidence, Finding, Fix, FixClass, Symptom
from quickfit.signals import Signals
from quickfit.signals.holders import Kept, keeping_line, kept, said_by
from quickfit.signals.leaks import Leak

# Tapes that grow at this share of the tensors are what holds them.
MIN_TAPES_SHARE = 0.02


def detect(signals: Signals) -> Finding | None:
    """Report tensors that stay alive while memory grows."""
    leak = signals.leak
    if leak is None or leak.kind != "tensors":
        return None
    tensors = kept(signals, "tensors")
    if leak.holder is not None:
        return _of_holder(signals, leak)
    if tensors is None:
        return None
    line = keeping_line(signals, ("unknown",))
    each = leak.per_step / tensors.per_step
    alive = Evidence(
        "more tensors are alive",
        tensors.growth.total,
        "count",
        f"{_number(tensors.per_step)} with every step, {each / 1e3:,.0f} kB of memory for each;"
        f" {said_by(line, signals)}",
    )
    facts = [*leak.evidence(), alive]
    if line is not None and line.others:
        places = ", ".join(place.short for place in line.others)
        facts.append(Evidence("more lines keep something", len(line.others), "count", places))
    where = line.location if line is not None else None
    return running_out(leak.exhaustion(), _summary(signals, tensors), where, *facts)


def _of_holder(signals: Signals, leak: Leak) -> Finding:
    holder = leak.holder
    assert holder is not None
    line = keeping_line(signals, ("unknown",))
    more = Evidence(
        f"things are in `{holder.name}`",
        holder.items,
        "count",
        said_by(line, signals),
    )
    summary = f"`{holder.name}` keeps more tensors with every step"
    where = line.location if line is not None else None
    return running_out(leak.exhaustion(), summary, where, *leak.evidence(), more)


def _summary(signals: Signals, tensors: Kept) -> str:
    tapes = signals.memory.objects.get("tapes")
    if tapes is not None and tapes.total >= max(MIN_TAPES_SHARE * tensors.growth.total, 5):
        return "gradient tapes are kept, with the tensors they watched"
    if tensors.per_step >= 1.5:
        return f"{_number(tensors.per_step)} tensors are kept with every step"
    often = "with every step" if tensors.per_step >= 0.7 else "again and again"
    return f"a tensor is kept {often}"


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 9.5 else f"{value:.1f}".removesuffix(".0")


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show how to keep numbers instead of tensors."""
    return Fix(
        title="Keep numbers instead of tensors, or a running mean",
        kind=FixClass.SAME_RESULTS,
        example=example(__doc__ or "", "Use instead"),
        note="`float(loss)` waits for the step on a GPU: ask every hundred steps.",
    )


CAUSE = Cause(
    title="Tensors are kept step after step", symptom=Symptom.MEMORY, detect=detect, fix=fix
)
