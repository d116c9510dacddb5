"""A result as a small report in Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from quickfit import units
from quickfit.compression.shrinking.cells import FRONT_MARK, accuracy, cells, columns
from quickfit.compression.shrinking.folder import CANDIDATES, CHART
from quickfit.compression.shrinking.rows import Row
from quickfit.compression.shrinking.shrunk import Shrunk
from quickfit.compression.shrinking.to_text import headline

_HOW_TO_KERAS = 'model = keras.saving.load_model("{}")'
_HOW_TO_LITERT = """from quickfit.compression.litert import Runner

run = Runner("{}")
outputs = run(inputs)"""


def markdown(shrunk: Shrunk) -> str:
    """Return the report."""
    return "\n".join(_lines(shrunk)) + "\n"


def _lines(shrunk: Shrunk) -> Iterator[str]:
    yield from ("# A smaller model", "", f"Target: {shrunk.target.text}.", "")
    yield from (headline(shrunk), "")
    yield from _table(shrunk)
    yield from ("", f"`{FRONT_MARK}` is on the front: nothing else is better in every respect.", "")
    yield from (f"![accuracy against time]({CHART})", "")
    yield from (f"- {_escaped(note)}" for note in shrunk.notes)
    yield f"- It took {units.seconds(shrunk.took_s)}."
    yield from _use(shrunk)
    yield from ("", "## Candidates", "", f"Their files are in `{CANDIDATES}/`.")
    for row in shrunk.rows:
        yield from _candidate(row)


def _table(shrunk: Shrunk) -> Iterator[str]:
    heads = [" ", *(column.head for column in columns(shrunk))]
    yield _row(heads)
    yield _row(["---"] * len(heads))
    for row, line in zip(shrunk.rows, cells(shrunk), strict=True):
        yield _row([FRONT_MARK if row.is_on_front else " ", *line])


def _row(cells_of_it: list[str]) -> str:
    return f"| {' | '.join(_escaped(cell) for cell in cells_of_it)} |"


def _use(shrunk: Shrunk) -> Iterator[str]:
    if shrunk.keras_path is None:
        return
    yield from ("", "## To use it", "", "```python", _HOW_TO_KERAS.format(shrunk.keras_path.name))
    if shrunk.litert_path is not None:
        yield from ("", _HOW_TO_LITERT.format(shrunk.litert_path.name))
    yield "```"


def _candidate(row: Row) -> Iterator[str]:
    yield from ("", f"### {row.name}", "", f"{_escaped(row.title)}: {row.verdict.value}.")
    if row.reason:
        yield f"- {_escaped(row.reason)}"
    if row.held_out is not None:
        yield f"- {accuracy(row.held_out)} on samples that nothing has seen"
    for note in row.notes:
        yield f"- {_escaped(note)}"


def _escaped(text: str) -> str:
    """Keep names of layers from being read as a table or as HTML."""
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split()) or " "
