"""What the step computes with becomes larger with every step.

Why it is slow: a variable or tensor is joined to at every step, such as a memory of all past
embeddings, and the step multiplies, compares or copies all of it. The work of one step grows with
the steps so far, inside compiled code, where no line of Python shows it.

How it shows: a step takes at least a fifth longer than at first, and the calls of the step explain
half of that or more; a variable or tensor that the script gave a name is larger at every look.

Example:
    bank.assign(tf.concat([bank, keys], axis=0))

Use instead:
    bank = tf.Variable(tf.zeros((BANK_SIZE, dim)), trainable=False)
    at = tf.Variable(0, dtype=tf.int64, trainable=False)
    rows = (at + tf.range(BATCH, dtype=tf.int64)) % BANK_SIZE
    bank.scatter_nd_update(rows[:, None], keys)
    at.assign_add(BATCH)

Fix class: show only. A ring of a fixed size forgets the oldest entries: how many a step needs, only
the author knows.

When it is wrong: the name may grow beside a step that gets slower for another reason. Larger
batches, a busier machine and code between the steps are looked at first.
"""

from __future__ import annotations

from quickfit import units
from quickfit.causes._cause import Cause
from quickfit.findings import Evidence, Finding, Fix, FixClass, Symptom
from quickfit.signals import Signals
from quickfit.signals.drift import Slowdown
from quickfit.signals.drift_places import cost_share, evidence, gain, guilty, ruled_out
from quickfit.signals.holders import Holder


def detect(signals: Signals) -> Finding | None:
    """Report the variable or tensor that grows while the step takes longer and longer."""
    found = guilty(signals)
    if found is None or found.state is None:
        return None
    state, slow = found.state, found.slow
    name = f"`{state.name}`"
    return Finding(
        summary=f"{name} becomes larger with every step, and every step goes through all of it",
        where=state.location or signals.loop.location,
        evidence=(evidence(slow, "", None)[0], _call(slow), _size(state, signals)),
        gain=gain(slow, signals),
        cost_share=cost_share(slow, signals),
        claims=("step",),
        not_found=ruled_out(slow),
    )


def _call(slow: Slowdown) -> Evidence:
    call = next(one for one in slow.measured if one.name == "call")
    times = f"{units.seconds(call.first)} at first, {units.seconds(call.last)} at the end"
    return Evidence("of the growth is in the calls of the step", slow.share, "share", times)


def _size(state: Holder, signals: Signals) -> Evidence:
    looks = [size for at_s, size, _ in state.looks if at_s >= signals.loop.begin_s]
    what = f"{len(looks)} looks: {units.size(looks[0])} at first, {units.size(looks[-1])} at last"
    return Evidence(f"in the {state.kind} `{state.name}`", looks[-1], "bytes", what)


CAUSE = Cause(
    title="What the step computes with grows",
    symptom=Symptom.SLOWING_DOWN,
    detect=detect,
    advice=Fix(
        title="Give it a fixed size, and write over the oldest entries",
        kind=FixClass.SHOW_ONLY,
        note="How many of the last entries a step needs is yours to say.",
    ),
)
