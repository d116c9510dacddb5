"""Starts turbo in the script's process."""

from __future__ import annotations

import os

from quickfit.probes._guard import guarded
from quickfit.probes._imports import Patch
from quickfit.probes._probe import Probe
from quickfit.probes._state import Current, State
from quickfit.turbo import iterators, ledger, predicting
from quickfit.turbo.guard import NAME, patch_with


def turbo_patches() -> dict[str, list[Patch]]:
    """Return what to patch after which import."""
    found = {
        predicting.ADAPTER: [predicting.patch_adapter],
        **iterators.module_patches(),
    }
    return {module: [patch_with(patch) for patch in patches] for module, patches in found.items()}


def start() -> None:
    """Act from now on; the process is watched already."""
    state = Current.state
    if state is None:
        return
    probe = state.probes[NAME] = Probe(NAME, state="active")
    state.writer.add("meta", ("turbo_run", "true"))
    state.before_finish.append(guarded(probe, _settle))
    os.register_at_fork(after_in_child=_stop_in_child)


def _settle(state: State) -> None:
    predicting.settle_calls()
    ledger.write_entries()


def _stop_in_child() -> None:
    """Leave a forked child alone: its threads and its part of the work are others."""
    state = Current.state
    probe = state.probes.get(NAME) if state is not None else None
    if probe is not None:
        probe.turn_off("off", "a forked process is left alone")
