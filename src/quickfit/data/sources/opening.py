"""Lists the images of whatever the user gave."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from quickfit.data.sources.kinds import Kind, kind_of
from quickfit.data.sources.lists import open_columns, open_lines, open_paths, open_table
from quickfit.data.sources.options import Options, column_of
from quickfit.data.sources.source import ImageSource
from quickfit.data.sources.trees import open_archive, open_folder


def open(
    where: object,
    *,
    labels: object = None,
    path_column: str | int | None = None,
    label_column: str | int | None = None,
    root: str | os.PathLike[str] | None = None,
    follow_links: bool = True,
    keep_odd_names: bool = False,
) -> ImageSource:
    """List the images of a folder, an archive, a table or a list of paths.

    Args:
        where: a folder, a zip or plain tar archive, a CSV or TSV file, a text file with a path in
            each line, a DataFrame or dictionary of columns, or paths.
        labels: None: from class folders or the table. False: none. Otherwise one number or text
            for each image (those of a folder or archive in the order of the images' names), or
            the name of the table's column.
        path_column: the table's column of paths, if its name or content does not tell.
        label_column: the table's column of labels, if its name does not tell.
        root: the folder that relative paths of a list or table begin at; of an archive, the
            folder in it to list.
        follow_links: whether links to files and folders are followed.
        keep_odd_names: whether to list names with line breaks and names that are no UTF-8.

    Raises:
        UsageError: there is no such thing, or an option does not fit it.
        PipelineError: there is no image in it that can be used.
    """
    where, labels = _from_tensor(where), _from_tensor(labels)
    kind = kind_of(where)
    if isinstance(labels, str):
        label_column = column_of(labels, kind) or label_column
        labels = None
    folder = None if root is None else os.fspath(root)
    options = Options(labels, path_column, label_column, folder, follow_links, keep_odd_names)
    options.check(kind, where)
    if isinstance(where, str | bytes | os.PathLike):
        return _open_path(os.fsdecode(where), kind, options)
    if kind is Kind.COLUMNS:
        return open_columns(where, options)
    return open_paths(where if isinstance(where, Iterable) else (), options)


def _from_tensor(value: Any) -> Any:  # Any: whatever the user has
    """Return a tensor's array; everything else as it is."""
    return value.numpy() if callable(getattr(value, "numpy", None)) else value


def _open_path(path: str, kind: Kind, options: Options) -> ImageSource:
    if kind is Kind.FOLDER:
        return open_folder(path, options)
    if kind is Kind.TABLE:
        return open_table(path, options)
    if kind is Kind.LINES:
        return open_lines(path, options)
    return open_archive(path, kind, options)
