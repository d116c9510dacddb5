"""Rows and results of a shrinking in one line, with figures that make sense together."""

from pathlib import Path

from quickfit.compression.shrinking.result import (
    ORIGINAL,
    CandidateFigures,
    CandidateKind,
    CandidateRow,
    CandidateVerdict,
    Shrunk,
)
from quickfit.compression.shrinking.targets import Target


def figures(accuracy=0.95, time_s=0.001, size=100_000, step_s=0.02, flops=1_000_000):
    return CandidateFigures(accuracy, 20_000, flops, size, step_s, {1: time_s, 64: 20 * time_s})


def row(name, accuracy=0.95, time_s=0.001, size=100_000, **other):
    fields = {key: other.pop(key) for key in ("step_s", "flops") if key in other}
    other.setdefault(
        "verdict", CandidateVerdict.ORIGINAL if name == ORIGINAL else CandidateVerdict.ACCEPTED
    )
    return CandidateRow(
        name, f"the {name}", figures=figures(accuracy, time_s, size, **fields), **other
    )


def shrunk(*rows, **other):
    first = row(ORIGINAL, kind=CandidateKind.KERAS)
    return Shrunk((first, *rows), Target(), **other)


def a_result(**other):
    """Return a result as most are: one on the front and chosen, one rejected, one not made."""
    chosen = row(
        "pruned-50-int8",
        0.949,
        0.0001,
        20_000,
        kind=CandidateKind.LITERT,
        parent="pruned-50",
        verdict=CandidateVerdict.CHOSEN,
        is_on_front=True,
        held_out=0.94,
        path=Path("out/candidates/pruned-50-int8.tflite"),
    )
    rejected = row(
        "pruned-75", 0.80, 0.0005, verdict=CandidateVerdict.REJECTED, reason="loses 15 points"
    )
    missing = CandidateRow(
        "separable-1", "x", verdict=CandidateVerdict.NOT_MADE, reason="no convolution <here>"
    )
    return shrunk(row("pruned-50", 0.95, 0.0008, 30_000), chosen, rejected, missing, **other)
