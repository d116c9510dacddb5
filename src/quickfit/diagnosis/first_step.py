"""The time to the first step, as phases with names for people."""

from __future__ import annotations

from quickfit.findings import Phase
from quickfit.signals import Signals
from quickfit.signals.phases import PhaseTime, first_step

LABELS = {
    "imports": "imports",
    "data": "data",
    "model": "model",
    "evaluating": "evaluate",
    "predicting": "predict",
    "calling": "calling the model",
    "iterator_ends": "TensorFlow shutting its iterators down",
    "other": "other Python",
    "tracing": "tracing",
    "shuffle_fill": "shuffle fill",
    "first_batch": "first batch",
    "first_step": "first step",
}
# Of the others a line says nothing new: imports are at the top, tracing and stepping in `fit`.
WITH_LINE = ("data", "evaluating", "predicting", "calling", "other", "shuffle_fill", "first_batch")


def phases(signals: Signals) -> tuple[Phase, ...]:
    """Return the phases up to the first step; empty where the recording has no clock."""
    found = first_step(signals.process, signals.loops, signals.traces, signals.location)
    if found is None:
        return ()
    return tuple(
        Phase(
            phase.name,
            LABELS[phase.name],
            phase.seconds,
            _detail(phase),
            is_open=phase.name == found.still_in,
        )
        for phase in found.phases
    )


def _detail(phase: PhaseTime) -> str:
    where = phase.location if phase.name in WITH_LINE else None
    place = where.short if where else ""
    return ", ".join(each for each in (phase.detail, place) if each)
