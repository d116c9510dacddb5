"""Step time and memory over the run, on one axis of time, with what happened beside them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from quickfit import units
from quickfit.findings import Diagnosis, Mark, MemoryPoint, RunDetails, StepPoint
from quickfit.report import _sentences as sentences
from quickfit.report import text
from quickfit.report.page.markup import Html, Rules, element, join

# The plane of a drawing: it is stretched to whatever room there is.
WIDE, HIGH = 1000.0, 100.0
# From so many times the median on, long steps would press the others flat.
LOG_FROM = 8.0
# A step this many times as long as the others is drawn as a slow one.
SLOW_FACTOR = 5.0
# More epochs than this are a band, not lines.
MAX_EPOCH_LINES = 40
# A limit of memory further away than this would do the same.
MAX_LIMIT_FACTOR = 1.6
# Steps further apart than this share of the run are not joined by a line.
MAX_JOIN_SHARE = 0.012
# A span narrower than this, in percent, is drawn so wide.
MIN_SPAN = 0.15
MARKS = {
    "epoch": "an epoch begins",
    "validation": "validation",
    "trace": "a function is traced",
    "spike": "a slow step",
    "stuck": "nothing moved",
}


@dataclass(frozen=True)
class Plane:
    """The plane of a lane: the time of the run across, a quantity upwards."""

    total_s: float
    lowest: float
    highest: float
    is_log: bool = False

    def across(self, at_s: float) -> float:
        """Return where a moment lies, from the left."""
        return min(max(at_s / self.total_s, 0.0), 1.0) * WIDE

    def up(self, value: float) -> float:
        """Return where a value lies, from the top."""
        low, high = self.lowest, self.highest
        if self.is_log:
            value, low, high = (math.log10(max(each, 1e-9)) for each in (value, low, high))
        return HIGH * (1 - (value - low) / (high - low))


def draw_course(diagnosis: Diagnosis, details: RunDetails, rules: Rules) -> Html:
    """Return the charts of a run over its time."""
    lanes = [_phase_lane(details, rules)]
    if details.points:
        lanes.append(_step_lane(details, rules))
    if details.memory:
        lanes.append(_memory_lane(diagnosis, details, rules))
    return element(
        "div",
        *lanes,
        _axis(details.total_s, rules),
        element("div", class_="cursor", id="cursor", hidden=True),
        class_="course",
        id="course",
        role="slider",
        tabindex="0",
        aria_label="A moment of the run: arrow keys move it",
        aria_valuemin="0",
        aria_valuemax=str(round(details.total_s)),
        aria_valuenow="0",
        aria_valuetext="the start",
    )


def mark_legend(details: RunDetails) -> Html:
    """Return what the marks of this run mean."""
    kinds = {mark.kind for mark in details.marks}
    if details.points and _slow(details.marks, details.points):
        kinds.add("spike")
    return element(
        "ul",
        *(
            element("li", element("i", class_=f"dot m-{kind}"), label)
            for kind, label in MARKS.items()
            if kind in kinds
        ),
        class_="legend",
        aria_label="Marks",
    )


def course_facts(details: RunDetails) -> dict[str, object]:
    """Return what the page's script needs to say what happened at a moment."""
    return {
        "total": details.total_s,
        "steps": [[round(p.begin_s, 4), round(p.end_s, 4), _step_text(p)] for p in details.points],
        "memory": [[round(p.at_s, 3), units.size(p.bytes)] for p in details.memory],
        "marks": [
            [round(m.begin_s, 4), round(m.end_s, 4), m.kind, _mark_text(m)] for m in details.marks
        ],
    }


def _step_text(point: StepPoint) -> str:
    if point.steps == 1:
        return f"step {units.count(point.first + 1)}: {units.seconds(point.median_s)}"
    last = point.first + point.steps
    longest = f", longest {units.seconds(point.longest_s)}"
    median = f"median {units.seconds(point.median_s)}"
    return f"steps {units.count(point.first + 1)}–{units.count(last)}: {median}{longest}"


def _mark_text(mark: Mark) -> str:
    place = sentences.place(mark.where) if mark.kind in ("trace", "stuck", "loop") else ""
    took = units.seconds(mark.end_s - mark.begin_s)
    label = text.prose(mark.label).replace("`", "")
    return f"{label}, {took}" + (f" ({place})" if place else "")


# -- lanes --------------------------------------------------------------------------------------


def _span(begin_s: float, end_s: float, total_s: float, rules: Rules) -> str:
    left = min(max(begin_s / total_s, 0.0), 1.0) * 100
    width = max((end_s - begin_s) / total_s * 100, MIN_SPAN)
    return rules.place(left=left, width=min(width, 100 - left))


def _phase_lane(details: RunDetails, rules: Rules) -> Html:
    """Return a narrow band that says what the run was doing: its loops, epochs, validation."""
    total_s = details.total_s
    drawn = []
    for mark in details.marks:
        if mark.kind == "loop":
            place = _span(mark.begin_s, mark.end_s, total_s, rules)
            drawn.append(element("span", class_=f"phase b-loop {place}", title=_mark_text(mark)))
    epochs = [mark for mark in details.marks if mark.kind == "epoch"]
    for number, mark in enumerate(epochs):
        place = _span(mark.begin_s, mark.end_s, total_s, rules)
        kind = "b-even" if number % 2 else "b-odd"
        label = mark.label.removeprefix("epoch ") if len(epochs) <= 24 else ""
        drawn.append(element("span", label, class_=f"phase {kind} {place}", title=_mark_text(mark)))
    for mark in details.marks:
        if mark.kind in ("validation", "stuck"):
            place = _span(mark.begin_s, mark.end_s, total_s, rules)
            drawn.append(
                element("span", class_=f"phase b-{mark.kind} {place}", title=_mark_text(mark))
            )
    name = "epochs" if epochs else "loops"
    return _lane("phases", name, Html(""), element("div", *drawn, class_="phases-inner"))


def _lane(kind: str, name: str, ticks: str, plot: str) -> Html:
    return element(
        "div",
        element("div", name, class_="lane-name"),
        element("div", plot, ticks, class_="plot"),
        class_=f"lane lane-{kind}",
    )


def _drawing(label: str, *shapes: str) -> Html:
    return element(
        "svg",
        *shapes,
        viewBox=f"0 0 {WIDE:g} {HIGH:g}",
        preserveAspectRatio="none",
        role="img",
        aria_label=label,
    )


def _step_lane(details: RunDetails, rules: Rules) -> Html:
    points, total_s = details.points, details.total_s
    usual = statistics.median(p.median_s for p in points)
    longest = max(p.longest_s for p in points)
    least = min(p.low_s for p in points)
    is_log = longest > LOG_FROM * usual > 0 and least > 0
    if is_log:
        plane = Plane(total_s, least * 0.8, longest * 1.25, is_log=True)
        ticks = _log_ticks(plane.lowest, plane.highest)
    else:
        plane = Plane(total_s, 0.0, longest * 1.12 or 1.0)
        ticks = _linear_ticks(plane.highest)
    shapes = [
        *_spans_behind(details.marks, plane),
        *(_path(f"M0 {plane.up(tick):.2f}H{WIDE:g}", "grid") for tick in ticks),
        *_step_shapes(points, plane),
        *_dots(details.marks, points, plane),
    ]
    name = "step time (log)" if is_log else "step time"
    label = (
        f"Step time over the run: usually {units.seconds(usual)}, at most {units.seconds(longest)}"
    )
    return _lane(
        "steps", name, _tick_labels(ticks, plane, units.seconds, rules), _drawing(label, *shapes)
    )


def _path(data: str, kind: str) -> Html:
    return element("path", d=data, class_=kind)


def _spans_behind(marks: Sequence[Mark], plane: Plane) -> list[Html]:
    shapes = []
    for mark in marks:
        left, right = plane.across(mark.begin_s), plane.across(mark.end_s)
        if mark.kind in ("validation", "stuck"):
            width = max(right - left, 1.0)
            shapes.append(
                element(
                    "rect",
                    x=round(left, 2),
                    y=0,
                    width=round(width, 2),
                    height=HIGH,
                    class_=f"s-{mark.kind}",
                )
            )
    starts = [plane.across(mark.begin_s) for mark in marks if mark.kind == "epoch"]
    if len(starts) <= MAX_EPOCH_LINES:
        shapes.append(_path("".join(f"M{x:.2f} 0V{HIGH:g}" for x in starts), "s-epoch"))
    return shapes


def _step_shapes(points: Sequence[StepPoint], plane: Plane) -> list[Html]:
    """Return the band that most steps lie in, and the line of their medians."""
    runs: list[list[StepPoint]] = []
    for point in points:
        last = runs[-1][-1] if runs else None
        widest_s = MAX_JOIN_SHARE * plane.total_s
        if last and last.loop == point.loop and point.begin_s - last.end_s <= widest_s:
            runs[-1].append(point)
        else:
            runs.append([point])
    bands, lines = [], []
    for run in runs:
        if any(p.steps > 1 for p in run):
            spans = [(plane.across(p.begin_s), plane.across(p.end_s), p) for p in run]
            high = [f"{x0:.2f} {plane.up(p.high_s):.2f}H{x1:.2f}" for x0, x1, p in spans]
            low = [f"{x1:.2f} {plane.up(p.low_s):.2f}H{x0:.2f}" for x0, x1, p in spans]
            bands.append(f"M{'L'.join([*high, *reversed(low)])}Z")
        # As stairs: a long step is as wide as it took.
        stairs = [f"V{plane.up(p.median_s):.2f}H{plane.across(p.end_s):.2f}" for p in run]
        lines.append(
            f"M{plane.across(run[0].begin_s):.2f} {plane.up(run[0].median_s):.2f}{''.join(stairs)}"
        )
    return [_path("".join(bands), "band"), _path("".join(lines), "median")]


def _dots(marks: Sequence[Mark], points: Sequence[StepPoint], plane: Plane) -> list[Html]:
    """Return slow steps and traces as dots: lines without a length, with round ends."""
    traces = [mark for mark in marks if mark.kind == "trace"]
    at_top = "".join(
        f"M{plane.across(m.begin_s):.2f} 2H{plane.across(m.end_s):.2f}" for m in traces
    )
    slow = "".join(
        f"M{plane.across(at_s):.2f} {max(plane.up(took_s), 1.5):.2f}h0"
        for at_s, took_s in _slow(marks, points)
    )
    kind = "s-spike many" if _is_thinned(points) else "s-spike"
    return [_path(at_top, "s-trace"), _path(slow, kind)]


def _is_thinned(points: Sequence[StepPoint]) -> bool:
    return any(point.steps > 1 for point in points)


def _slow(marks: Sequence[Mark], points: Sequence[StepPoint]) -> list[tuple[float, float]]:
    """Return the moment and the time of slow steps; of many steps, the longest of each stretch.

    Spikes are known of the steps that are kept in full, which are the last ones of a long run.
    """
    if not _is_thinned(points):
        return [(m.end_s, m.end_s - m.begin_s) for m in marks if m.kind == "spike"]
    usual = statistics.median(p.median_s for p in points)
    far = [p for p in points if p.longest_s > max(SLOW_FACTOR * usual, 3 * p.high_s)]
    return [((p.begin_s + p.end_s) / 2, p.longest_s) for p in far]


def _memory_lane(diagnosis: Diagnosis, details: RunDetails, rules: Rules) -> Html:
    points, total_s = details.memory, details.total_s
    peak = max(point.bytes for point in points)
    limit = diagnosis.memory.limit_bytes if diagnosis.memory is not None else None
    shows_limit = limit is not None and limit <= MAX_LIMIT_FACTOR * peak
    highest = max(peak, float(limit or 0) if shows_limit else 0.0) * 1.1 or 1.0
    plane = Plane(total_s, 0.0, highest)
    ticks = _linear_ticks(highest)
    shapes = [*_areas(details, points, plane)]
    shapes += [_path(f"M0 {plane.up(tick):.2f}H{WIDE:g}", "grid") for tick in ticks]
    if shows_limit and limit is not None:
        shapes.append(_path(f"M0 {plane.up(limit):.2f}H{WIDE:g}", "limit"))
    label = f"Memory over the run: at most {units.size(peak)}"
    return _lane(
        "memory", "memory", _tick_labels(ticks, plane, units.size, rules), _drawing(label, *shapes)
    )


def _areas(details: RunDetails, points: Sequence[MemoryPoint], plane: Plane) -> list[Html]:
    """Return one area per part, stacked."""
    below = [0.0] * len(points)
    shapes = []
    for place, (name, _) in enumerate(details.memory_parts):
        above = [b + p.parts[place] for b, p in zip(below, points, strict=True)]
        if any(p.parts[place] > 0 for p in points):
            xs = [plane.across(p.at_s) for p in points]
            top = [f"{x:.2f} {plane.up(v):.2f}" for x, v in zip(xs, above, strict=True)]
            bottom = [f"{x:.2f} {plane.up(v):.2f}" for x, v in zip(xs, below, strict=True)]
            shapes.append(_path(f"M{'L'.join([*top, *reversed(bottom)])}Z", f"area h-{name}"))
        below = above
    return shapes


# -- axes ---------------------------------------------------------------------------------------


def _linear_ticks(highest: float, *, most: int = 4) -> list[float]:
    """Return round numbers from zero on, at most so many above it."""
    rough = highest / most
    power = 10.0 ** math.floor(math.log10(rough)) if rough > 0 else 1.0
    step = next((m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough), 10 * power)
    return [n * step for n in range(most + 1) if n * step <= highest]


def _log_ticks(lowest: float, highest: float) -> list[float]:
    powers = range(math.floor(math.log10(lowest)), math.ceil(math.log10(highest)) + 1)
    steps = (1, 3) if len(powers) <= 3 else (1,)
    every = [m * 10.0**p for p in powers for m in steps]
    return [tick for tick in every if lowest <= tick <= highest]


def _tick_labels(
    ticks: Sequence[float], plane: Plane, say: Callable[[float], str], rules: Rules
) -> Html:
    labels = [
        element(
            "span", say(tick) if tick else "0", class_=f"tick {rules.place(top=plane.up(tick))}"
        )
        for tick in ticks
    ]
    return element("div", *labels, class_="ticks", aria_hidden="true")


def _axis(total_s: float, rules: Rules) -> Html:
    """Return the labels of the time."""
    step = next((s for s in _TIME_STEPS if total_s / s <= 8), total_s / 6)
    labels = [
        element(
            "span",
            _time_label(n * step, step),
            class_=f"tick {rules.place(left=n * step / total_s * 100)}",
        )
        for n in range(int(total_s / step) + 1)
        if n * step <= 0.97 * total_s
    ]
    return join(
        element("div", element("div", *labels, class_="plot"), class_="axis", aria_hidden="true")
    )


_TIME_STEPS = (
    *(0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0),
    *(60.0, 120.0, 300.0, 600.0, 900.0, 1800.0),
    *(3600.0, 7200.0, 14400.0, 28800.0, 86400.0, 172800.0, 604800.0),
)


def _time_label(at_s: float, step_s: float) -> str:
    if at_s == 0:
        return "0"
    if step_s >= 86400:
        return f"{at_s / 86400:g} d"
    if step_s >= 3600:
        return f"{at_s / 3600:g} h"
    if step_s >= 60:
        return f"{at_s / 60:g} min"
    return f"{at_s:g} s"
