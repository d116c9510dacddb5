"""A comparison of two trainings for the terminal, as Markdown, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from quickfit import __version__, units
from quickfit.findings import ComparedNode, ComparedSide, Comparison, Finding
from quickfit.report import text
from quickfit.report._layout import wrap
from quickfit.report._sentences import place
from quickfit.report.markdown import code, prose
from quickfit.report.to_json import Json, strict_json

SCHEMA_VERSION = 1
# Nodes of a comment or a terminal: those that changed, and the largest of the others.
MAX_ROWS = 16
WIDTH = 100
STATES = {"grew": "longer", "shrank": "shorter", "same": "same", "unsure": "not sure"}


@dataclass(frozen=True)
class NodeRow:
    """A node as it is shown: everything is text."""

    indent: int
    label: str
    before: str
    after: str
    change: str
    state: str
    place: str


def node_rows(comparison: Comparison, *, most: int = MAX_ROWS) -> list[NodeRow]:
    """Return the nodes worth a row, in their order."""
    ranked = sorted(comparison.nodes, key=_weight, reverse=True)[:most]
    return [_row(node) for node in comparison.nodes if node in ranked]


def _weight(node: ComparedNode) -> tuple[bool, float]:
    return node.state in ("grew", "shrank"), max(node.before_s, node.after_s)


def _row(node: ComparedNode) -> NodeRow:
    per = ", a step" if node.unit == "step" else ""
    span = node.change_s
    change = f"{_signed(span.likely)} ± {units.seconds((span.high - span.low) / 2)}"
    return NodeRow(
        indent=node.depth,
        label=text.one_line(node.label, limit=48 - 2 * node.depth) + per,
        before=units.seconds(node.before_s) if node.before_s else "–",
        after=units.seconds(node.after_s) if node.after_s else "–",
        change=change,
        state=STATES[node.state],
        place=text.one_line(node.where.short, limit=40) if node.where is not None else "",
    )


def _signed(seconds: float) -> str:
    return f"{'+' if seconds > 0 else '-' if seconds < 0 else ''}{units.seconds(abs(seconds))}"


def side_text(side: ComparedSide, unit: str) -> str:
    """Return one side in a line: its name, its time, its steps."""
    name = text.path(side.name)
    if side.unit_s is None:
        return f"{name}: too few steps"
    a = "an epoch" if unit == "epoch" else "a step"
    return f"{name}: {units.seconds(side.unit_s)} {a}, {units.count(side.steps)} steps"


def finding_text(finding: Finding) -> str:
    """Return a finding in a line."""
    where = place(finding.where)
    summary = text.prose(finding.summary)
    return f"`{text.one_line(finding.cause, limit=60)}`: {summary}{f' ({where})' if where else ''}"


def headline(comparison: Comparison) -> str:
    """Return what the comparison says, in a sentence."""
    return text.prose(comparison.headline)


def comparison_to_text(comparison: Comparison) -> str:
    """Return a comparison for a terminal, with a line break at its end."""
    return "\n".join(_text_lines(comparison)) + "\n"


def _text_lines(comparison: Comparison) -> Iterator[str]:
    yield from _paragraph("verdict", headline(comparison))
    yield from _paragraph("", f"by {text.prose(comparison.basis)}")
    yield f"before   {side_text(comparison.before, comparison.unit)}"
    yield f"after    {side_text(comparison.after, comparison.unit)}"
    rows = node_rows(comparison)
    if rows:
        yield ""
        cells = [
            ("  " * row.indent + row.label, row.before, row.after, row.change, row.state, row.place)
            for row in rows
        ]
        table = [("where the time goes", "before", "after", "change, 95 %", "", ""), *cells]
        widths = [max(len(row[n]) for row in table) for n in range(6)]
        for row in table:
            shown = [
                cell.rjust(width) if n in (1, 2, 3) else cell.ljust(width)
                for n, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            yield "  ".join(shown).rstrip()
        yield ""
    for title, findings in (("new", comparison.new), ("gone", comparison.gone)):
        for finding in findings:
            yield from _paragraph(title, finding_text(finding))
    for note in comparison.differences:
        yield from _paragraph("note", text.prose(note))


def _paragraph(lead: str, said: str) -> Iterator[str]:
    """Yield a paragraph behind a word in the margin."""
    for number, line in enumerate(wrap(said, WIDTH - len(f"{lead:8} "))):
        yield f"{'' if number else lead:8} {line}"


def comparison_to_markdown(comparison: Comparison) -> str:
    """Return a comparison as Markdown, for a comment, with a line break at its end."""
    return "\n".join(_markdown_lines(comparison)) + "\n"


def _markdown_lines(comparison: Comparison) -> Iterator[str]:
    yield f"### quickfit: {prose(headline(comparison))}"
    yield ""
    yield f"By {prose(text.prose(comparison.basis))}."
    yield ""
    yield f"- before: {prose(side_text(comparison.before, comparison.unit))}"
    yield f"- after: {prose(side_text(comparison.after, comparison.unit))}"
    rows = node_rows(comparison)
    if rows:
        yield from ("", "| where the time goes | before | after | change (95 %) | | line |")
        yield "| --- | --: | --: | --: | --- | --- |"
        for row in rows:
            label = "&nbsp;" * 2 * row.indent + prose(row.label)
            where = code(row.place) if row.place else ""
            state = f"**{row.state}**" if row.state in ("longer", "shorter") else row.state
            yield f"| {label} | {row.before} | {row.after} | {row.change} | {state} | {where} |"
    for title, findings in (
        ("New findings", comparison.new),
        ("Findings that are gone", comparison.gone),
    ):
        yield from _list(title, [finding_text(finding) for finding in findings])
    yield from _list("Also different", [text.prose(note) for note in comparison.differences])


def _list(title: str, entries: Sequence[str]) -> Iterator[str]:
    if entries:
        yield from ("", f"{title}:", "", *(f"- {prose(entry)}" for entry in entries))


def comparison_to_json(comparison: Comparison) -> dict[str, Json]:
    """Return a comparison as a dictionary; `report/schemas/compare.schema.json` describes it."""
    report = {
        "schema_version": SCHEMA_VERSION,
        "quickfit_version": __version__,
        "verdict": comparison.verdict,
        "headline": comparison.headline,
        "slower": asdict(comparison.slower) if comparison.slower else None,
        "unit": comparison.unit,
        "basis": comparison.basis,
        "pairs": comparison.pairs,
        "before": _side(comparison.before),
        "after": _side(comparison.after),
        "nodes": [asdict(node) for node in comparison.nodes],
        "new": [_finding(finding) for finding in comparison.new],
        "gone": [_finding(finding) for finding in comparison.gone],
        "differences": comparison.differences,
    }
    return {key: strict_json(value) for key, value in report.items()}


def comparison_dumps(comparison: Comparison) -> str:
    """Return the JSON as text, without a line break at its end."""
    return json.dumps(comparison_to_json(comparison), indent=2, allow_nan=False)


def _side(side: ComparedSide) -> dict[str, object]:
    diagnosis = side.diagnosis
    return {
        "name": side.name,
        "run": diagnosis.run,
        "script": diagnosis.script,
        "steps": side.steps,
        "unit_s": side.unit_s,
        "verdict": diagnosis.verdict,
        "headline": diagnosis.headline,
        "findings": [finding.cause for finding in diagnosis.findings],
    }


def _finding(finding: Finding) -> dict[str, object]:
    return {
        "cause": finding.cause,
        "summary": finding.summary,
        "where": asdict(finding.where) if finding.where else None,
        "gain": asdict(finding.gain),
    }
