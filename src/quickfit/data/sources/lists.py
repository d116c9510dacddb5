"""Sources that are lists: paths, text files of paths, tables."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from quickfit.data.sources.labels import encode, encode_text
from quickfit.data.sources.listing import Gathered, Listing
from quickfit.data.sources.names import shown
from quickfit.data.sources.options import Options
from quickfit.data.sources.paths import Paths, as_names
from quickfit.data.sources.readers import FileReader
from quickfit.data.sources.source import ImageSource, in_order
from quickfit.data.sources.table import Table, from_columns
from quickfit.data.sources.text_tables import folder_of, read_lines, read_table
from quickfit.errors import PipelineError

_MOST_COLUMNS = 5


def open_paths(paths: Iterable[Any], options: Options) -> ImageSource:  # Any: checked here
    """List images from their paths, relative to the working directory."""
    return _listed("the list", as_names(paths), options, ".")


def open_lines(path: str, options: Options) -> ImageSource:
    """List images from a text file of paths, relative to its folder."""
    names, texts = read_lines(path)
    if texts is not None and options.labels is None:
        source = _listed(path, names, options, folder_of(path), encode_text(texts, names))
        return replace(source, notes=("labels from the end of each line", *source.notes))
    return _listed(path, names, options, folder_of(path))


def open_table(path: str, options: Options) -> ImageSource:
    """List images from a CSV or TSV file, relative to its folder."""
    return _from_table(read_table(path), options, folder_of(path))


def open_columns(columns: Any, options: Options) -> ImageSource:  # Any: pandas is not imported
    """List images from a DataFrame, relative to the working directory."""
    return _from_table(from_columns(columns), options, ".")


def _from_table(table: Table, options: Options, folder: str) -> ImageSource:
    path_column = table.path_column(options.path_column)
    names = as_names(
        table.values(path_column), f"{table.where}, column {table.columns[path_column]}"
    )
    notes = [f"paths from the column {table.columns[path_column]}"]
    label_column = None
    if options.labels is None:
        label_column = table.label_column(options.label_column, path_column)
    if label_column is None:
        source = _listed(table.where, names, options, folder)
        others = [name for at, name in enumerate(table.columns) if at != path_column]
        if options.labels is None and others:
            notes.append(_without_labels(others))
    else:
        values = table.values(label_column)
        labels = encode_text(values, names) if table.is_text else encode(values, names)
        source = _listed(table.where, names, options, folder, labels)
        notes.append(f"labels from the column {table.columns[label_column]}")
    return replace(source, kind="table", notes=(*notes, *source.notes))


def _without_labels(others: list[str]) -> str:
    """Say that no column was taken for the labels, and how to name one."""
    return shown(
        f"no labels: none of the columns ({', '.join(others[:_MOST_COLUMNS])}"
        f"{', …' if len(others) > _MOST_COLUMNS else ''}) looks like one; use --label-column "
        f"{_word(others[0])}"
    )


def _word(name: str) -> str:
    return f"'{name}'" if " " in name else name


def _listed(
    where: str,
    names: list[str],
    options: Options,
    folder: str,
    labels: tuple[Sequence[int], tuple[str, ...]] | None = None,
) -> ImageSource:
    if not names:
        raise PipelineError(f"{where}: there is no path in it.")
    if options.labels is not None and options.labels is not False:
        labels = encode(options.labels, names)
    gathered = Gathered(options.keep_odd_names)
    paths = Paths(options.root or folder, gathered)
    paths.take(names)
    if not gathered.names:
        first = gathered.rejected[0]
        raise PipelineError(
            f"{where}: none of its {len(names):,} images can be used, for example "
            f"{shown(first.name)}: {first.detail}."
        )
    numbers = None if labels is None else array("q", [labels[0][place] for place in paths.kept])
    return ImageSource(
        where=where,
        kind="list",
        entries=Listing(gathered.names, gathered.sizes, numbers, files=paths.files),
        classes=() if labels is None else labels[1],
        rejected=in_order(gathered.rejected),
        notes=(),
        other_files=0,
        _reader=FileReader(),
    )
