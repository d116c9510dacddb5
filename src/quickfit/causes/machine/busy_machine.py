"""Other programs, or a limit on the container, keep the cores from the training.

Why it is slow: a step needs its threads to run at once. When other programs want the same cores,
threads stand in line, and one that is late holds up all the others.

How it shows: programs that do not belong to this run keep a quarter of the cores busy or more,
hardly a core is idle, and the training's threads were ready to run but had none. Or the
container's CPU limit stopped them.

Example:
    # two trainings, or a training and a large build, on the same cores
    subprocess.Popen(["python", "train_other.py"])
    model.fit(x, y)

Use instead:
    # one after the other
    subprocess.run(["python", "train_other.py"])
    model.fit(x, y)

Fix class: show only. Nothing in the script is at fault. Run one thing at a time, choose another
machine, raise the container's limit, or give this run priority with `nice`.

When it is wrong: worker processes that the script started itself are counted as its own, as long
as they run Python. A helper of another kind (a decoder, a database) is counted as somebody else.
"""

from __future__ import annotations

from quickfit.causes._cause import Cause
from quickfit.errors import SignalMissing
from quickfit.findings import Evidence, Finding, Fix, FixClass, Gain, Symptom
from quickfit.signals import Signals
from quickfit.signals.machine import MachineUse

# Others that use less than a quarter of the cores leave room enough.
MIN_OTHER_SHARE = 0.25
# A thread that is ready waits a little on any machine; from here it is held up.
MIN_DELAY_SHARE = 0.10
# As long as some of the cores are idle, nobody takes them away.
MIN_FULL_SHARE = 0.85
# Time that a container's limit took away, as a share of the time, summed over cores.
MIN_THROTTLED_SHARE = 0.10
# Threads that wait for input or for each other do not stand in line for a core.
COMPUTING = ("main", "inter-op", "intra-op", "tf.data")


def detect(signals: Signals) -> Finding | None:
    """Report a machine on which the training does not get the cores it could use."""
    machine, cores = signals.machine, signals.machine_cores
    if machine.is_wider:
        raise SignalMissing("two readings of the machine while steps ran")
    others = machine.other_cores or 0.0
    delay = _delay_share(machine)
    is_there = others >= MIN_OTHER_SHARE * cores
    is_full = others + machine.cpu_cores >= MIN_FULL_SHARE * cores
    is_taken = is_full and is_there and delay >= MIN_DELAY_SHARE
    if not is_taken and (machine.throttled_share or 0.0) < MIN_THROTTLED_SHARE:
        return None
    found = _gain(signals, others)
    return Finding(
        summary="other programs keep the cores busy" if is_taken else "a CPU limit stops the run",
        where=None,
        evidence=_evidence(machine, others, cores, delay),
        gain=found,
        cost_share=1 - 1 / found.likely,
        is_of_whole=True,
        is_of_machine=True,
    )


def _evidence(
    machine: MachineUse, others: float, cores: float, delay: float
) -> tuple[Evidence, ...]:
    found = [
        Evidence(
            "of all cores are used by other programs",
            min(others / cores, 1.0),
            "share",
            f"{others:.1f} of {cores:g} cores over {machine.window_s:.0f} s",
        ),
        Evidence(
            "of the time, summed over threads, this run was ready but had no core",
            delay,
            "share",
            f"this run used {machine.cpu_cores:.1f} cores",
        ),
    ]
    more = (
        ("of the time, summed over cores, the CPU limit of the container took",
         machine.throttled_share or None),
        ("of the time some program waited for a core", machine.pressure),
    )  # fmt: skip
    found += [Evidence(what, share, "share") for what, share in more if share is not None]
    return tuple(found)


def _delay_share(machine: MachineUse) -> float:
    """Return for how much of the time threads that compute stood in line, in the worst group."""
    groups = [machine.thread_delays.get(name, 0.0) for name in COMPUTING]
    return max([machine.main_delay_share or 0.0, *groups])


def _gain(signals: Signals, others: float) -> Gain:
    """Say what a machine of one's own would gain.

    At worst half of what the main thread lost; at best all threads that were ready run at once,
    on the cores that others use or a limit takes away now.
    """
    machine = signals.machine
    own, cores = max(machine.cpu_cores, 0.1), signals.machine_cores
    wanted = sum(machine.thread_delays.values()) or cores
    given = min(others, cores) + (machine.throttled_share or 0.0)
    low = 1 / (1 - min(machine.main_delay_share or 0.0, 0.8) / 2)
    high = max(min(own + min(wanted, given), cores) / own, low)
    basis = "the cores that others use now, or a part of them"
    return Gain(low, (low * high) ** 0.5, high, basis)


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Say that it is not the script."""
    return Fix(
        title="Run it when the machine is free, or on another one",
        kind=FixClass.SHOW_ONLY,
        note="Other findings of this run may be caused by it: look at them again without it.",
    )


CAUSE = Cause(title="The machine is busy with others", symptom=Symptom.SLOW, detect=detect, fix=fix)
