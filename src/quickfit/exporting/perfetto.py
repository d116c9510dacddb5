"""A run as a trace that Perfetto (ui.perfetto.dev) and chrome://tracing open.

The format is the JSON of Chrome's trace events: spans with a beginning and a length, counters, and
moments, all in microseconds from the start of the run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

from quickfit import __version__, trust, units
from quickfit.errors import UsageError
from quickfit.exporting.series import details_of, figures_of, tags_of
from quickfit.findings import Diagnosis, Mark, RunDetails, StepPoint
from quickfit.report import text

Event: TypeAlias = dict[str, Any]  # numbers, texts and one level of arguments

# How every file of ours begins: what is none is not replaced.
BEGINNING = '{"otherData":{"quickfit":'
# The tracks, in the order in which they are shown. Spans of one track lie inside each other.
PROCESS = 1
TRACKS = ("loop", "epoch", "steps", "validation", "trace", "spike", "stuck", "findings")


def write(
    diagnosis: Diagnosis, place: str, *, after_s: float = -1.0, replaces: bool = False
) -> str:
    """Write a trace to a file; it has all of the run each time."""
    file = Path(place)
    tags = {key.partition(".")[2]: value for key, value in tags_of(diagnosis).items()}
    trace = {
        "otherData": {"quickfit": __version__, **tags},
        "displayTimeUnit": "ms",
        "traceEvents": list(trace_events(diagnosis)),
    }
    shown = json.dumps(trace, separators=(",", ":"), allow_nan=False)
    try:
        if not replaces and (file.exists() or file.is_symlink()):
            begins = trust.read_regular(file, len(BEGINNING), follow=False)
            if begins != BEGINNING.encode():
                raise UsageError(
                    f"{file}: there is a file that is no trace of quickfit; nothing was changed.\n"
                    "Name another file, or replace it with --force."
                )
        trust.write_private(file, shown.encode(), sync=False)
    except OSError as error:
        raise UsageError(
            f"{file}: the trace cannot be written ({error.strerror or error}).\n"
            "Name a file in a folder that exists."
        ) from error
    return f"{file}; to look at it: open it in https://ui.perfetto.dev or in chrome://tracing"


def trace_events(diagnosis: Diagnosis) -> Iterator[Event]:
    """Yield the events of a run: names of the tracks, spans, counters, findings."""
    details = details_of(diagnosis)
    script = text.path(diagnosis.script) or "a run"
    yield _named("process_name", 0, f"quickfit: {script}")
    for number, track in enumerate(TRACKS, start=1):
        yield _named("thread_name", number, track)
        yield {**_named("thread_sort_index", number, ""), "args": {"sort_index": number}}
    for mark in details.marks:
        yield _span(mark.kind, _prose(mark.label), mark.begin_s, mark.end_s, _place(mark))
    for point in details.points:
        yield _span("steps", _step_name(point), point.begin_s, point.end_s, _step_args(point))
        yield _counter("step time (ms)", point.begin_s, {"median": 1000 * point.median_s})
    yield from _memory(details)
    yield from _findings(diagnosis, details)


def _named(kind: str, track: int, name: str) -> Event:
    return {"ph": "M", "name": kind, "pid": PROCESS, "tid": track, "args": {"name": name}}


def _micros(at_s: float) -> float:
    return round(max(at_s, 0.0) * 1e6, 3)


def _span(track: str, name: str, begin_s: float, end_s: float, args: Event) -> Event:
    return {
        "ph": "X",
        "name": name,
        "cat": track,
        "pid": PROCESS,
        "tid": TRACKS.index(track) + 1,
        "ts": _micros(begin_s),
        "dur": _micros(end_s - begin_s),
        "args": args,
    }


def _counter(name: str, at_s: float, values: dict[str, float]) -> Event:
    finite = {key: value for key, value in values.items() if math.isfinite(value)}
    return {"ph": "C", "name": name, "pid": PROCESS, "ts": _micros(at_s), "args": finite}


def _prose(said: str) -> str:
    return text.prose(said).replace("`", "")


def _place(mark: Mark) -> Event:
    return {"line": text.one_line(mark.where.short)} if mark.where is not None else {}


def _step_name(point: StepPoint) -> str:
    last = point.first + point.steps
    first = units.count(point.first + 1)
    return f"step {first}" if point.steps == 1 else f"steps {first}–{units.count(last)}"


def _step_args(point: StepPoint) -> Event:
    if point.steps == 1:
        return {"loop": point.loop}
    times = (("median_ms", point.median_s), ("longest_ms", point.longest_s))
    return {"loop": point.loop, **{name: round(1000 * value, 4) for name, value in times}}


def _memory(details: RunDetails) -> Iterator[Event]:
    labels = [label for _, label in details.memory_parts]
    for held in details.memory:
        parts = {label: part / 1e6 for label, part in zip(labels, held.parts, strict=True)}
        yield _counter("memory (MB)", held.at_s, parts)


def _findings(diagnosis: Diagnosis, details: RunDetails) -> Iterator[Event]:
    """Yield findings as spans of the whole run, which is what they are about, behind each other."""
    known = figures_of(diagnosis)
    count = max(len(diagnosis.findings), 1)
    for number, finding in enumerate(diagnosis.findings):
        where = {"line": text.one_line(finding.where.short)} if finding.where is not None else {}
        gain = known.get(f"quickfit/finding/{finding.cause}/gain_likely")
        args = {
            "summary": _prose(finding.summary),
            **where,
            "share": round(finding.cost_share, 4) if math.isfinite(finding.cost_share) else 0.0,
            **({"gain": round(gain, 3)} if gain is not None else {}),
        }
        begin_s = details.total_s * number / count
        end_s = details.total_s * (number + 1) / count
        yield _span("findings", text.one_line(finding.cause), begin_s, end_s, args)
