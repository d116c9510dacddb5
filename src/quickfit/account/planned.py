"""How long the loops of a run would have gone on: what a share is worth in the run as planned."""

from __future__ import annotations

from quickfit.account.time_account import loop_account, time_account
from quickfit.findings import AccountNode
from quickfit.signals import Signals

# A loop that was cut short, and does not say how long it would have been, is this much longer.
UNKNOWN_FACTOR = 10.0


def planned_weight(signals: Signals) -> float:
    """Return the share that the loop of `signals` has in the run as it was planned.

    A run that was ended early (`--steps`, Ctrl-C) or that goes on would have spent more time in
    its last loop: as many steps as `fit` was asked for, each as long as those that were seen.
    """
    node = loop_account(signals)
    return 1.0 if node is None else planned_s(signals, node) / planned_run_s(signals)


def planned_run_s(signals: Signals) -> float:
    """Return how long the whole run would have taken to its planned end."""
    root, node = time_account(signals), loop_account(signals)
    total_s = root.seconds if root is not None else 0.0
    more_s = planned_s(signals, node) - node.seconds if node is not None else 0.0
    return max(total_s + more_s, 1e-9)


def planned_s(signals: Signals, node: AccountNode) -> float:
    """Return how long a loop would have taken to its planned end."""
    if not is_cut_short(signals) or signals.loop.is_over or not signals.loop.trains:
        return node.seconds
    steps = signals.every_step
    facts = signals.loop.facts
    per_epoch, epochs = facts.get("steps"), facts.get("epochs")
    if steps is None:
        return node.seconds
    if not isinstance(per_epoch, int) or not isinstance(epochs, int):
        return UNKNOWN_FACTOR * node.seconds
    left = max(per_epoch * epochs / signals.steps_per_execution - node.count, 0)
    usual = signals.all_steps or steps
    return node.seconds + left * usual.mean_s


def is_cut_short(signals: Signals) -> bool:
    """Tell whether the script did not come to its own end, or has not yet."""
    run = signals.recording.run
    if signals.process.facts.get("stopped_early") or run.get("signal"):
        return True
    return bool(run) and run.get("exit_code") is None and not run.get("inside")
