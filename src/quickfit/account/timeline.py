"""Cuts the time of a run into spans that follow each other: its loops, and what lies around them.

A call of `fit`, `evaluate` or `predict` is a span from the call to its return. A loop of the
script's own is a span per epoch, from its first step to its last. Loops inside another span
belong to it, apart from a `fit` in a loop of the script: that one trains by itself.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from quickfit.recording.reader import ProcessRecording
from quickfit.signals import Signals
from quickfit.signals.stacks import is_in_fit, is_returning

# Runs of Keras, as against loops of the script's own.
KERAS_RUNS = ("fit", "evaluate", "predict")
# A call that returns sooner after its last step is not looked at.
MIN_RETURN_S = 0.2


@dataclass(frozen=True)
class LoopSpan:
    """A part of the time that one loop owns. `loop` is its number after merging by line.

    `return_s` is the part at its end in which Keras had ended the training, and `fit` had not
    returned.
    """

    begin_s: float
    end_s: float
    loop: int
    is_keras: bool
    first_step_s: float | None = None
    return_s: float = 0.0

    @property
    def duration_s(self) -> float:
        """How long it lasts."""
        return self.end_s - self.begin_s


@dataclass(frozen=True)
class Gap:
    """Time that no loop owns. `after` and `before` are the loops around it, zero without."""

    begin_s: float
    end_s: float
    after: int
    before: int

    @property
    def duration_s(self) -> float:
        """How long it lasts."""
        return self.end_s - self.begin_s


@dataclass(frozen=True)
class Timeline:
    """The run of the training process, cut into spans without overlap or holes.

    `begin_s` and `end_s` are those of the watched time; `start_s` came before it, while the
    interpreter started, and `exit_s` after it, while it ended.
    """

    begin_s: float
    end_s: float
    start_s: float
    exit_s: float
    spans: tuple[LoopSpan, ...]
    gaps: tuple[Gap, ...]

    @property
    def total_s(self) -> float:
        """The wall time of the whole run."""
        return self.start_s + (self.end_s - self.begin_s) + self.exit_s


def timeline(signals: Signals) -> Timeline | None:
    """Return the spans of a run; None for a recording without a clock."""
    if "timeline" not in signals.shared:
        signals.shared["timeline"] = _timeline(signals)
    found: Timeline | None = signals.shared["timeline"]
    return found


def _timeline(signals: Signals) -> Timeline | None:
    process = signals.recorded_process
    begin_s = process.facts.get("started_s")
    if not isinstance(begin_s, int | float):
        return None
    end_s = max(_last_seen_s(process), float(begin_s))
    spans = _without_overlap(_all_spans(signals, process, end_s), float(begin_s), end_s)
    spans = _until_return(signals, spans, end_s)
    start_s, exit_s = _outside_s(signals, process, float(begin_s), end_s)
    gaps = _gaps(spans, float(begin_s), end_s)
    return Timeline(float(begin_s), end_s, start_s, exit_s, tuple(spans), tuple(gaps))


def _last_seen_s(process: ProcessRecording) -> float:
    """Return when the process ended, or when something was last written of it."""
    ended_s = process.facts.get("ended_s")
    if isinstance(ended_s, int | float):
        return float(ended_s)
    rows = [process.rows(name)[-1:] for name in ("samples", "machine")]
    seen = [row[0]["at_s"] for row in rows if row]
    ends = [row["end_s"] for name in ("steps", "epochs") for row in process.rows(name)[-1:]]
    return max([*seen, *ends], default=0.0)


def _outside_s(
    signals: Signals, process: ProcessRecording, begin_s: float, end_s: float
) -> tuple[float, float]:
    """Return the time before watching began and after it ended, by the parent's clock."""
    run, started_at = signals.recording.run, process.facts.get("started_at")
    if not process.is_main or not isinstance(started_at, int | float):
        return 0.0, 0.0
    began_at, ended_at = run.get("started_at"), run.get("ended_at")
    start_s = started_at - began_at if isinstance(began_at, int | float) else 0.0
    exit_s = 0.0
    if isinstance(ended_at, int | float) and process.facts.get("ended_s") is not None:
        exit_s = ended_at - (started_at + end_s - begin_s)
    # The wall clock may be set while a run goes on; the monotonic one is not.
    is_sane = 0.0 <= start_s < 60.0 and 0.0 <= exit_s < 60.0
    return (start_s, exit_s) if is_sane else (0.0, 0.0)


def _all_spans(signals: Signals, process: ProcessRecording, run_end_s: float) -> list[LoopSpan]:
    number_of = _merged_numbers(signals, process)
    steps: dict[int, list[dict[str, Any]]] = {}
    for row in process.rows("steps"):
        steps.setdefault(row["loop"], []).append(row)
    blocks: dict[int, list[dict[str, Any]]] = {}
    for row in process.rows("step_blocks"):
        blocks.setdefault(row["loop"], []).append(row)
    spans: list[LoopSpan] = []
    for row in process.rows("loops"):
        number = number_of.get(row["id"])
        if number is None:
            continue
        mine, old = steps.get(row["id"], []), blocks.get(row["id"], [])
        if row["kind"] in KERAS_RUNS and "head" not in row["facts"]:
            begin_s = min(row["entered_s"], row["begin_s"])
            first_s = old[0]["begin_s"] if old else mine[0]["begin_s"] if mine else None
            end_s = row["end_s"] if row["end_s"] is not None else run_end_s
            spans.append(LoopSpan(begin_s, end_s, number, True, first_s))
        else:
            spans += [
                LoopSpan(begin_s, end_s, number, False, begin_s)
                for begin_s, end_s in _epoch_runs(mine, old)
            ]
    return spans


def _merged_numbers(signals: Signals, process: ProcessRecording) -> dict[int, int]:
    """Return the number that each recorded loop has after loops of one line were merged."""
    kept: dict[tuple[Any, Any, Any], int] = {}
    for row in signals.process.rows("loops"):
        kept.setdefault((row["kind"], row["file"], row["line"]), row["id"])
    known = {row["id"] for row in signals.process.rows("loops")}
    numbers = {}
    for row in process.rows("loops"):
        merged = kept.get((row["kind"], row["file"], row["line"]))
        if row["id"] in known:
            numbers[row["id"]] = row["id"]
        elif merged is not None and row["line"] is not None:
            numbers[row["id"]] = merged
    return numbers


def _epoch_runs(
    steps: list[dict[str, Any]], blocks: list[dict[str, Any]]
) -> list[tuple[float, float]]:
    """Return from when to when a loop of the script took steps without a pause between epochs."""
    runs: list[tuple[float, float]] = [(block["begin_s"], block["end_s"]) for block in blocks]
    epoch = None
    for row in steps:
        if row["epoch"] == epoch and runs:
            runs[-1] = (runs[-1][0], max(runs[-1][1], row["end_s"]))
        else:
            runs.append((row["begin_s"], row["end_s"]))
        epoch = row["epoch"]
    return runs


def _without_overlap(spans: list[LoopSpan], begin_s: float, end_s: float) -> list[LoopSpan]:
    """Return spans that follow each other; one inside another is a part of that one."""
    kept: list[LoopSpan] = []
    for span in sorted(spans, key=lambda one: (one.begin_s, -one.end_s)):
        first_s, last_s = max(span.begin_s, begin_s), min(span.end_s, end_s)
        outer = kept[-1] if kept else None
        if outer is not None and first_s < outer.end_s:
            if span.is_keras and not outer.is_keras and last_s <= outer.end_s:
                # A `fit` in every turn of a loop: the loop owns what is around it.
                kept[-1] = _cut(outer, outer.begin_s, first_s)
                kept.append(_cut(span, first_s, last_s))
                kept.append(_cut(outer, last_s, outer.end_s))
                continue
            first_s = outer.end_s
        if last_s > first_s:
            kept.append(_cut(span, first_s, last_s))
    return [span for span in kept if span.end_s > span.begin_s]


def _until_return(signals: Signals, spans: list[LoopSpan], end_s: float) -> list[LoopSpan]:
    """Return the spans with calls of Keras that reach until they return.

    Keras says that training ends before TensorFlow has ended the iterators, which may take
    seconds; samples see the thread inside `fit` meanwhile.
    """
    found = []
    for number, span in enumerate(spans):
        next_s = spans[number + 1].begin_s if number + 1 < len(spans) else end_s
        if span.is_keras and next_s - span.end_s >= MIN_RETURN_S:
            stacks = signals.stack_clock.between(
                span.end_s, next_s, wanted=lambda frames, loop: True
            )
            inside_s = sum(
                stack.seconds
                for stack in stacks
                if is_in_fit(stack.frames) or is_returning(stack.frames)
            )
            span = dataclasses.replace(span, end_s=span.end_s + inside_s, return_s=inside_s)
        found.append(span)
    return found


def _cut(span: LoopSpan, begin_s: float, end_s: float) -> LoopSpan:
    return dataclasses.replace(span, begin_s=begin_s, end_s=max(end_s, begin_s))


def _gaps(spans: list[LoopSpan], begin_s: float, end_s: float) -> list[Gap]:
    gaps: list[Gap] = []
    at_s, after = begin_s, 0
    for span in spans:
        if span.begin_s > at_s:
            gaps.append(Gap(at_s, span.begin_s, after, span.loop))
        at_s, after = span.end_s, span.loop
    if end_s > at_s:
        gaps.append(Gap(at_s, end_s, after, 0))
    return gaps
