"""A result as text, Markdown and a chart."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from xml.sax.saxutils import escape

from quickfit import units
from quickfit.compression.shrinking.output_folder import CANDIDATES, CHART
from quickfit.compression.shrinking.result import (
    CandidateFigures,
    CandidateKind,
    CandidateRow,
    CandidateVerdict,
    Shrunk,
    time_of,
)

NOTHING = "–"
FRONT_MARK = "*"


@dataclass(frozen=True)
class TableColumn:
    """One column: its head, and the cell of a row beside the original's figures.

    Args:
        head: its first line.
        cell: returns the text for a row.
        is_extra: whether it is left out first where there is little room.
    """

    head: str
    cell: Callable[[CandidateRow, CandidateFigures], str]
    is_extra: bool = False


def table_columns(shrunk: Shrunk) -> list[TableColumn]:
    """Return the columns of a table; the times that count for this purpose come first."""
    training = shrunk.for_training
    faster = TableColumn("faster", lambda row, base: _faster_text(row, base, for_training=training))
    step = TableColumn("step", lambda row, _: _time_text(row.figures.step_s), not training)
    one, many = (_latency_column(batch, is_extra=training) for batch in (1, 64))
    times = ([step, faster], [one, many]) if training else ([one, faster, many], [step])
    return [
        TableColumn("candidate", lambda row, _: row.name),
        TableColumn("accuracy", lambda row, _: accuracy_text(row.figures.accuracy)),
        TableColumn("points", _points_text),
        *times[0],
        TableColumn("file", lambda row, _: _size_text(row.figures.file_bytes), training),
        TableColumn("flops", lambda row, base: _share_text(row.figures.flops, base.flops)),
        TableColumn("parameters", lambda row, _: _count_text(row.figures.parameters), not training),
        *times[1],
        TableColumn("verdict", lambda row, _: verdict_word(row)),
    ]


def _latency_column(batch: int, *, is_extra: bool) -> TableColumn:
    return TableColumn(
        f"batch {batch}", lambda row, _: _time_text(row.figures.latency_s.get(batch)), is_extra
    )


def table_cells(shrunk: Shrunk, some: list[TableColumn] | None = None) -> list[list[str]]:
    """Return the rows of a table as text, the original first."""
    base = shrunk.rows[0].figures
    chosen = table_columns(shrunk) if some is None else some
    return [[column.cell(row, base) for column in chosen] for row in shrunk.rows]


def verdict_word(row: CandidateRow) -> str:
    """Return what became of a row, in a word."""
    return "" if row.verdict is CandidateVerdict.ORIGINAL else row.verdict.value


def verdict_reasons(shrunk: Shrunk) -> list[str]:
    """Return why rows are what they are; those with the same reason together."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in shrunk.rows:
        if row.reason:
            found.setdefault((row.verdict.value, row.reason), []).append(row.name)
    return [f"{', '.join(names)}: {key[1]}" for key, names in found.items()]


def accuracy_text(value: float | None) -> str:
    """Return an accuracy in percent; what is no share, as it is."""
    if value is None:
        return NOTHING
    return f"{100 * value:.1f} %" if 0 <= value <= 1 else f"{value:.4g}"


def _points_text(row: CandidateRow, base: CandidateFigures) -> str:
    value = row.figures.accuracy
    if value is None or base.accuracy is None or row.verdict is CandidateVerdict.ORIGINAL:
        return NOTHING
    points = round(100 * (value - base.accuracy), 1)
    return f"{points:+.1f}" if points else "0.0"


def _faster_text(row: CandidateRow, base: CandidateFigures, *, for_training: bool) -> str:
    own, old = (time_of(one, for_training=for_training) for one in (row.figures, base))
    return NOTHING if not own or not old else units.factor(old / own)


def _time_text(value: float | None) -> str:
    return NOTHING if value is None else units.seconds(value)


def _size_text(value: int | None) -> str:
    return NOTHING if value is None else units.size(value)


def _count_text(value: int | None) -> str:
    return NOTHING if value is None else units.count(value)


def _share_text(value: int | None, base: int | None) -> str:
    return NOTHING if value is None or not base else units.share(value / base)


_COLUMN_GAP = "  "
_LEFT_ALIGNED = ("candidate", "verdict")


def text_report(shrunk: Shrunk, width: int = 100) -> str:
    """Return the whole answer."""
    if not shrunk.rows:
        return "Interrupted before anything was made."
    lines = [f"target: {shrunk.target.text}", "", *text_table(shrunk, width)]
    lines.append(f"{FRONT_MARK} on the front: nothing else is better in every respect")
    paragraphs = [
        *verdict_reasons(shrunk),
        "",
        *_chosen_text(shrunk),
        *shrunk.notes,
        *_next_steps(shrunk),
    ]
    return "\n".join([*lines, *_wrap_paragraphs(paragraphs, width)])


def text_table(shrunk: Shrunk, width: int | None = None) -> list[str]:
    """Return the table, a line per row; without the less important columns if it is too wide."""
    lines = _table_lines(shrunk, table_columns(shrunk))
    if width is None or max(map(len, lines)) <= width:
        return lines
    return _table_lines(shrunk, [column for column in table_columns(shrunk) if not column.is_extra])


def _table_lines(shrunk: Shrunk, some: list[TableColumn]) -> list[str]:
    heads = [column.head for column in some]
    body = table_cells(shrunk, some)
    widths = [max(map(len, column)) for column in zip(heads, *body, strict=True)]
    marks = [FRONT_MARK if row.is_on_front else " " for row in shrunk.rows]
    return [
        f"{mark} {_table_line(line, heads, widths)}".rstrip()
        for mark, line in zip([" ", *marks], [heads, *body], strict=True)
    ]


def _table_line(line: list[str], heads: list[str], widths: list[int]) -> str:
    return _COLUMN_GAP.join(
        cell.ljust(width) if head in _LEFT_ALIGNED else cell.rjust(width)
        for cell, head, width in zip(line, heads, widths, strict=True)
    )


def result_headline(shrunk: Shrunk) -> str:
    """Return what was chosen, and what it brings."""
    if shrunk.chosen is None:
        return "Chosen: nothing."
    row = shrunk.row(shrunk.chosen)
    gains = ", ".join(_gains_text(row, shrunk))
    return f"Chosen: {row.name} ({row.title}){': ' if gains else ''}{gains}."


def _chosen_text(shrunk: Shrunk) -> Iterator[str]:
    if shrunk.chosen is not None:
        yield result_headline(shrunk)


def _gains_text(row: CandidateRow, shrunk: Shrunk) -> Iterator[str]:
    new, old = row.figures, shrunk.original.figures
    times = [time_of(one, for_training=shrunk.for_training) for one in (new, old)]
    what = "training step" if shrunk.for_training else "prediction"
    if times[0] and times[1]:
        yield f"{units.factor(times[1] / times[0])} as fast ({what}: {units.seconds(times[0])})"
    if new.file_bytes and old.file_bytes:
        yield f"{units.share(new.file_bytes / old.file_bytes)} of the size"


def _next_steps(shrunk: Shrunk) -> Iterator[str]:
    yield f"It took {units.seconds(shrunk.took_s)}."
    if shrunk.out is not None:
        found = [one for one in (shrunk.keras_path, shrunk.litert_path) if one is not None]
        if found:
            yield f"Written: {', '.join(map(str, found))}"
        yield f"Report and chart: {shrunk.out / 'report.md'}, {shrunk.out / 'chart.svg'}"


def _wrap_paragraphs(paragraphs: list[str], width: int) -> Iterator[str]:
    for one in paragraphs:
        if not one:
            yield ""
        else:
            yield from textwrap.wrap(one, width, break_long_words=False, break_on_hyphens=False)


_HOW_TO_KERAS = 'model = keras.saving.load_model("{}")'
_HOW_TO_LITERT = """from quickfit.compression.litert import Runner

run = Runner("{}")
outputs = run(inputs)"""


def markdown_report(shrunk: Shrunk) -> str:
    """Return the report."""
    return "\n".join(_markdown_lines(shrunk)) + "\n"


def _markdown_lines(shrunk: Shrunk) -> Iterator[str]:
    yield from ("# A smaller model", "", f"Target: {shrunk.target.text}.", "")
    yield from (result_headline(shrunk), "")
    yield from _markdown_table(shrunk)
    yield from ("", f"`{FRONT_MARK}` is on the front: nothing else is better in every respect.", "")
    yield from (f"![accuracy against time]({CHART})", "")
    yield from (f"- {_escape_markdown(note)}" for note in shrunk.notes)
    yield f"- It took {units.seconds(shrunk.took_s)}."
    yield from _usage_lines(shrunk)
    yield from ("", "## Candidates", "", f"Their files are in `{CANDIDATES}/`.")
    for row in shrunk.rows:
        yield from _candidate_line(row)


def _markdown_table(shrunk: Shrunk) -> Iterator[str]:
    heads = [" ", *(column.head for column in table_columns(shrunk))]
    yield _markdown_row(heads)
    yield _markdown_row(["---"] * len(heads))
    for row, line in zip(shrunk.rows, table_cells(shrunk), strict=True):
        yield _markdown_row([FRONT_MARK if row.is_on_front else " ", *line])


def _markdown_row(cells_of_it: list[str]) -> str:
    return f"| {' | '.join(_escape_markdown(cell) for cell in cells_of_it)} |"


def _usage_lines(shrunk: Shrunk) -> Iterator[str]:
    if shrunk.keras_path is None:
        return
    yield from ("", "## To use it", "", "```python", _HOW_TO_KERAS.format(shrunk.keras_path.name))
    if shrunk.litert_path is not None:
        yield from ("", _HOW_TO_LITERT.format(shrunk.litert_path.name))
    yield "```"


def _candidate_line(row: CandidateRow) -> Iterator[str]:
    yield from ("", f"### {row.name}", "", f"{_escape_markdown(row.title)}: {row.verdict.value}.")
    if row.reason:
        yield f"- {_escape_markdown(row.reason)}"
    if row.held_out is not None:
        yield f"- {accuracy_text(row.held_out)} on samples that nothing has seen"
    for note in row.notes:
        yield f"- {_escape_markdown(note)}"


def _escape_markdown(text: str) -> str:
    """Keep names of layers from being read as a table or as HTML."""
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split()) or " "


CHART_WIDTH, CHART_HEIGHT = 820, 480
_CHART_LEFT, _CHART_RIGHT, _CHART_TOP, _CHART_BOTTOM = 70, 30, 50, 60
_LABEL_HEIGHT = 12
_COLORS = {CandidateKind.KERAS: "#3564b4", CandidateKind.LITERT: "#c26a00"}
_FADED = "#b4b4b4"
_LEVELS = 6
# Sums of decimal fractions are a little off.
_NEARLY = 1e-9


@dataclass(frozen=True)
class ChartPoint:
    """A row in the plane: time in seconds, accuracy from 0 to 1."""

    row: CandidateRow
    time_s: float
    accuracy: float


@dataclass(frozen=True)
class AxisScale:
    """Where values of one axis go; `low` and `high` are at `start` and `end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the place of a value."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def svg_chart(shrunk: Shrunk) -> str:
    """Return the chart; rows without a time or an accuracy are not in it."""
    points = list(_chart_points(shrunk))
    body = "\n".join(
        _draw_chart(points, shrunk)
        if points
        else [_draw_text(CHART_WIDTH / 2, CHART_HEIGHT / 2, _EMPTY_CHART)]
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{CHART_WIDTH}" height="{CHART_HEIGHT}"'
        f' viewBox="0 0 {CHART_WIDTH} {CHART_HEIGHT}" font-family="sans-serif" font-size="12">\n'
        f'<rect width="{CHART_WIDTH}" height="{CHART_HEIGHT}" fill="white"/>\n{body}\n</svg>\n'
    )


_EMPTY_CHART = "Nothing was measured."


def _chart_points(shrunk: Shrunk) -> Iterator[ChartPoint]:
    for row in shrunk.rows:
        time_s = time_of(row.figures, for_training=shrunk.for_training)
        if time_s and row.figures.accuracy is not None and row.is_there:
            yield ChartPoint(row, time_s, row.figures.accuracy)


def _draw_chart(points: list[ChartPoint], shrunk: Shrunk) -> Iterator[str]:
    times = _axis_span([math.log10(point.time_s) for point in points], least=0.2)
    marks = _axis_span([point.accuracy for point in points], least=0.01)
    x = AxisScale(*times, _CHART_LEFT, CHART_WIDTH - _CHART_RIGHT)
    y = AxisScale(*marks, CHART_HEIGHT - _CHART_BOTTOM, _CHART_TOP)
    yield from _draw_axes(x, y, shrunk)
    best = max(1.0, *(point.accuracy for point in points))  # above 1 only with marks of the user's
    yield from _draw_levels(x, y, best)
    places = [(x.at(math.log10(one.time_s)), y.at(one.accuracy)) for one in points]
    yield _draw_front(
        [place for place, one in zip(places, points, strict=True) if one.row.is_on_front]
    )
    labels = _label_heights(places)
    for point, place, height in zip(points, places, labels, strict=True):
        yield _draw_dot(point, place, shrunk.chosen)
        yield _draw_label(point, place, height)


def _axis_span(values: list[float], *, least: float) -> tuple[float, float]:
    """Return the ends of an axis, with some air; never nothing."""
    low, high = min(values), max(values)
    air = max(0.08 * (high - low), least / 2)
    return low - air, high + air


def _draw_axes(x: AxisScale, y: AxisScale, shrunk: Shrunk) -> Iterator[str]:
    what = (
        "time of a training step" if shrunk.for_training else "time of a prediction of one sample"
    )
    yield _draw_text(CHART_WIDTH / 2, 22, f"accuracy against the {what}", size=15)
    yield _draw_text(CHART_WIDTH / 2, CHART_HEIGHT - 14, f"{what} (faster to the left)")
    for value in _axis_ticks(x):
        yield _draw_rule(x.at(value), y.start, x.at(value), y.end)
        yield _draw_text(x.at(value), y.start + 18, units.seconds(10**value))


def _draw_levels(x: AxisScale, y: AxisScale, best: float) -> Iterator[str]:
    """Draw round accuracies, none above what there can be."""
    step = _round_step((y.high - y.low) / _LEVELS)
    for number in range(math.ceil(y.low / step), math.floor(y.high / step) + 1):
        value = number * step
        if value <= best + step * _NEARLY:
            yield _draw_rule(x.start, y.at(value), x.end, y.at(value))
            yield _draw_text(
                x.start - 6, y.at(value) + 4, accuracy_text(min(value, best)), anchor="end"
            )


def _round_step(least: float) -> float:
    """Return the next of 1, 2 and 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(lead * power for lead in (1, 2, 5, 10) if lead * power >= least * (1 - _NEARLY))


def _axis_ticks(x: AxisScale) -> list[float]:
    """Return round times on the axis: 1, 2 and 5 of each power of ten."""
    powers = range(math.floor(x.low), math.ceil(x.high) + 1)
    found = [power + math.log10(lead) for power in powers for lead in (1, 2, 5)]
    inside = [value for value in found if x.low <= value <= x.high]
    step = math.ceil(len(inside) / 10) or 1
    return inside[::step]


def _draw_front(places: list[tuple[float, float]]) -> str:
    joined = " ".join(f"{left:.1f},{top:.1f}" for left, top in sorted(places))
    return f'<polyline points="{joined}" fill="none" stroke="#888" stroke-dasharray="4 3"/>'


def _draw_dot(point: ChartPoint, place: tuple[float, float], chosen: str | None) -> str:
    row = point.row
    color = _FADED if row.verdict is CandidateVerdict.REJECTED else _COLORS[row.kind]
    radius = 8 if row.name == chosen else 5
    ring = ' stroke="black" stroke-width="2"' if row.name == chosen else ""
    told = f"{row.name}: {accuracy_text(point.accuracy)}, {units.seconds(point.time_s)}"
    size = row.figures.file_bytes
    told += "" if size is None else f", {units.size(size)}"
    return (
        f'<circle cx="{place[0]:.1f}" cy="{place[1]:.1f}" r="{radius}" fill="{color}"{ring}>'
        f"<title>{escape(told)}</title></circle>"
    )


def _draw_label(point: ChartPoint, place: tuple[float, float], height: float) -> str:
    is_right = place[0] > CHART_WIDTH * 0.7
    left = place[0] - 10 if is_right else place[0] + 10
    color = "#999" if point.row.verdict is CandidateVerdict.REJECTED else "#222"
    anchor = "end" if is_right else "start"
    return _draw_text(left, height + 4, point.row.name, anchor=anchor, color=color, size=10)


def _label_heights(places: list[tuple[float, float]]) -> list[float]:
    """Return where names go so that none stands on another one nearby."""
    heights: list[float] = []
    for left, top in places:
        taken = [
            height
            for (other, _), height in zip(places, heights, strict=False)
            if abs(other - left) < CHART_WIDTH / 4
        ]
        heights.append(_free_height(top, taken))
    return heights


def _free_height(top: float, taken: list[float]) -> float:
    """Return the nearest height that is free."""
    for step in range(40):
        for at in (top + step * _LABEL_HEIGHT, top - step * _LABEL_HEIGHT):
            is_free = all(abs(at - one) >= _LABEL_HEIGHT for one in taken)
            if is_free and _CHART_TOP - _LABEL_HEIGHT <= at <= CHART_HEIGHT - _CHART_BOTTOM:
                return at
    return top


def _draw_rule(left: float, top: float, right: float, bottom: float) -> str:
    ends = f'x1="{left:.1f}" y1="{top:.1f}" x2="{right:.1f}" y2="{bottom:.1f}"'
    return f'<line {ends} stroke="#e4e4e4"/>'


def _draw_text(
    left: float,
    top: float,
    text: str,
    *,
    anchor: str = "middle",
    color: str = "#222",
    size: int = 12,
) -> str:
    return (
        f'<text x="{left:.1f}" y="{top:.1f}" text-anchor="{anchor}" fill="{color}"'
        f' font-size="{size}">{escape(text)}</text>'
    )
