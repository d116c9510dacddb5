"""Opens whatever the user gave as a source of images: folder, archive, table or list."""

from __future__ import annotations

import difflib
import os
from array import array
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from quickfit.data.sources.files import (
    FileReader,
    ImageSource,
    PathLister,
    Reader,
    path_names,
    sorted_order,
    walk_folder,
)
from quickfit.data.sources.labels import (
    encode_label_texts,
    encode_labels,
    folder_notes,
    label_by_folder,
)
from quickfit.data.sources.listing import (
    IMAGE_EXTENSIONS,
    Gathered,
    Listing,
    common_top,
    gather_members,
    is_image_name,
    option_name,
    printable_name,
)
from quickfit.data.sources.tables import (
    Table,
    containing_folder,
    is_table,
    is_tabular,
    read_path_lines,
    read_table,
    table_from_columns,
)
from quickfit.data.sources.tar_archives import (
    BLOCK_BYTES,
    TarReader,
    archive_compression,
    parse_tar_header,
    tar_members,
)
from quickfit.data.sources.zip_archives import ZipReader, zip_members
from quickfit.errors import PipelineError, UsageError

_FOREIGN_FILES = {
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"Rar!": "RAR",
    b"\x89HDF": "HDF5",
    b"PAR1": "Parquet",
}
_MOST_COLUMNS = 5


class SourceKind(Enum):
    """What images can be listed from."""

    FOLDER = "folder"
    ZIP = "zip"
    TAR = "tar"
    TABLE = "table"  # a CSV or TSV file
    LINES = "list"  # a text file of paths
    COLUMNS = "columns"  # a DataFrame, a dictionary
    PATHS = "paths"


def source_kind(where: object) -> SourceKind:
    """Return what kind of source this is.

    Raises:
        UsageError: images cannot be listed from it.
    """
    if isinstance(where, str | bytes | os.PathLike):
        return _kind_of_path(os.fsdecode(where))
    if is_table(where):
        return SourceKind.COLUMNS
    if isinstance(where, Mapping | Set):
        raise UsageError(
            f"the paths are a {type(where).__name__}, which has no order that labels could follow."
            "\nGive a list: sorted(paths)."
        )
    if isinstance(where, Iterable):
        return SourceKind.PATHS
    raise UsageError(
        f"images cannot be read from {where!r} ({type(where).__name__}).\n"
        "Give a folder, an archive, a CSV file, a DataFrame or a list of paths."
    )


def _kind_of_path(path: str) -> SourceKind:
    if not path:
        raise UsageError("the path of the images is empty. Give a folder, an archive or a list.")
    if os.path.isdir(path):
        return SourceKind.FOLDER
    if not os.path.exists(path):
        raise UsageError(_missing_path_text(path))
    if not os.path.isfile(path):
        raise UsageError(f"{path}: is neither a folder nor a file.")
    if is_image_name(path):
        folder = os.path.dirname(path) or "."
        raise UsageError(
            f"{printable_name(path)}: is one image. Give its folder ({printable_name(folder)}), "
            "or a text file "
            "with paths in it."
        )
    return _kind_of_file(path)


def _kind_of_file(path: str) -> SourceKind:
    compression = archive_compression(path)
    if compression is not None:
        raise UsageError(
            f"{path}: is compressed with {compression}, so its images cannot be read one by one.\n"
            f"Pack it (quickfit pack {path} packed), or unpack it and give the folder."
        )
    with open(path, "rb") as file:
        begin = file.read(BLOCK_BYTES)
    if begin.startswith((b"PK\x03\x04", b"PK\x05\x06")) or path.lower().endswith(".zip"):
        return SourceKind.ZIP
    if parse_tar_header(begin) is not None or path.lower().endswith(".tar"):
        return SourceKind.TAR
    foreign = next(
        (name for magic, name in _FOREIGN_FILES.items() if begin.startswith(magic)), None
    )
    if foreign or (b"\0" in begin and not begin.startswith((b"\xff\xfe", b"\xfe\xff"))):
        raise UsageError(
            f"{path}: is {'a ' + foreign + ' file' if foreign else 'no text'}, and no folder, "
            "archive, table or list of images.\n"
            "Give a folder, a zip or tar archive, a CSV file or a text file with paths in it."
        )
    return SourceKind.TABLE if is_tabular(path) else SourceKind.LINES


def _missing_path_text(path: str) -> str:
    if "://" in path:
        return f"{printable_name(path)}: is not on this machine. Copy it here first, or mount it."
    if any(sign in path for sign in "*?["):
        return (
            f"{printable_name(path)}: there is no such folder. Patterns are not read: give a "
            "folder, or in "
            "Python the list that glob.glob returns."
        )
    message = f"{printable_name(path)}: there is no such folder or file"
    if not os.path.isabs(path):
        message += f", looked for in {os.getcwd()}"
    parent = os.path.dirname(path.rstrip("/")) or "."
    if not os.path.isdir(parent):
        return (
            f"{message}.\nThere is no {printable_name(parent)} either: check the path from its "
            "beginning."
        )
    try:
        names = sorted(name for name in os.listdir(parent) if not name.startswith("."))
    except OSError:
        return f"{message}."
    near = difflib.get_close_matches(os.path.basename(path), names, 3, 0.4) or names[:5]
    more = ", …" if len(names) > len(near) else ""
    return (
        f"{message}.\n{printable_name(parent)} has: "
        f"{printable_name(', '.join(near)) or 'nothing'}{more}."
    )


@dataclass(frozen=True)
class SourceOptions:
    """The options of `sources.open`, described there."""

    labels: Any  # whatever the user has: None, False, or one value for each image
    path_column: str | int | None
    label_column: str | int | None
    root: str | None
    follow_links: bool
    keep_odd_names: bool

    def check(self, kind: SourceKind, where: object) -> None:
        """Refuse options that mean nothing for this kind of source.

        Raises:
            UsageError: one of them is given.
        """
        has_columns = kind in (SourceKind.TABLE, SourceKind.COLUMNS)
        for option in ("path_column", "label_column"):
            value = getattr(self, option)
            if value is not None and not has_columns:
                raise UsageError(
                    f"{option_name(option)} is {value!r}, and only tables have columns: "
                    f"{printable_name(str(where))} is a {kind.value}.\n"
                    "Leave it out, or give a CSV file or a DataFrame."
                )
        if self.root is not None and kind is SourceKind.FOLDER:
            raise UsageError(
                f"{option_name('root')} is {self.root!r}, and {printable_name(str(where))} is a "
                "folder: "
                "its images lie in it.\n"
                "Leave it out; it is for lists, tables and archives."
            )
        if self.labels is not None and self.label_column is not None:
            raise UsageError("both labels and label_column are given: leave one of them out.")
        self._check_labels()

    def _check_labels(self) -> None:
        if self.labels is not False and isinstance(self.labels, int | float):
            raise UsageError(
                f"labels is {self.labels!r}: give one label for each image, False for none, or "
                "leave it out to take class folders or the table's column."
            )
        if isinstance(self.labels, Mapping | Set):
            raise UsageError(
                f"labels is a {type(self.labels).__name__}, which has no order: give a list with "
                "one label for each image,\nin the order of the paths: "
                "[labels[path] for path in paths]."
            )


def column_option(labels: str, kind: SourceKind) -> str | None:
    """Return the column that a text given as labels names; None for Keras' word of the default.

    Raises:
        UsageError: the source has no columns.
    """
    if labels == "inferred":
        return None
    if kind not in (SourceKind.TABLE, SourceKind.COLUMNS):
        raise UsageError(
            f"labels is {labels!r}, a single text: give one label for each image, False for none, "
            "or leave it out to take class folders."
        )
    return labels


def open_paths(paths: Iterable[Any], options: SourceOptions) -> ImageSource:  # Any: checked here
    """List images from their paths, relative to the working directory."""
    return _list_source("the list", path_names(paths), options, ".")


def open_lines(path: str, options: SourceOptions) -> ImageSource:
    """List images from a text file of paths, relative to its folder."""
    names, texts = read_path_lines(path)
    if texts is not None and options.labels is None:
        source = _list_source(
            path, names, options, containing_folder(path), encode_label_texts(texts, names)
        )
        return replace(source, notes=("labels from the end of each line", *source.notes))
    return _list_source(path, names, options, containing_folder(path))


def open_table(path: str, options: SourceOptions) -> ImageSource:
    """List images from a CSV or TSV file, relative to its folder."""
    return _from_table(read_table(path), options, containing_folder(path))


def open_columns(
    columns: Any, options: SourceOptions
) -> ImageSource:  # Any: pandas is not imported
    """List images from a DataFrame, relative to the working directory."""
    return _from_table(table_from_columns(columns), options, ".")


def _from_table(table: Table, options: SourceOptions, folder: str) -> ImageSource:
    path_column = table.path_column(options.path_column)
    names = path_names(
        table.values(path_column), f"{table.where}, column {table.columns[path_column]}"
    )
    notes = [f"paths from the column {table.columns[path_column]}"]
    label_column = None
    if options.labels is None:
        label_column = table.label_column(options.label_column, path_column)
    if label_column is None:
        source = _list_source(table.where, names, options, folder)
        others = [name for at, name in enumerate(table.columns) if at != path_column]
        if options.labels is None and others:
            notes.append(_without_labels(others))
    else:
        values = table.values(label_column)
        labels = (
            encode_label_texts(values, names) if table.is_text else encode_labels(values, names)
        )
        source = _list_source(table.where, names, options, folder, labels)
        notes.append(f"labels from the column {table.columns[label_column]}")
    return replace(source, kind="table", notes=(*notes, *source.notes))


def _without_labels(others: list[str]) -> str:
    """Say that no column was taken for the labels, and how to name one."""
    return printable_name(
        f"no labels: none of the columns ({', '.join(others[:_MOST_COLUMNS])}"
        f"{', …' if len(others) > _MOST_COLUMNS else ''}) looks like one; use --label-column "
        f"{_shell_word(others[0])}"
    )


def _shell_word(name: str) -> str:
    return f"'{name}'" if " " in name else name


def _list_source(
    where: str,
    names: list[str],
    options: SourceOptions,
    folder: str,
    labels: tuple[Sequence[int], tuple[str, ...]] | None = None,
) -> ImageSource:
    if not names:
        raise PipelineError(f"{where}: there is no path in it.")
    if options.labels is not None and options.labels is not False:
        labels = encode_labels(options.labels, names)
    gathered = Gathered(options.keep_odd_names)
    paths = PathLister(options.root or folder, gathered)
    paths.take(names)
    if not gathered.names:
        first = gathered.rejected[0]
        raise PipelineError(
            f"{where}: none of its {len(names):,} images can be used, for example "
            f"{printable_name(first.name)}: {first.detail}."
        )
    numbers = None if labels is None else array("q", [labels[0][place] for place in paths.kept])
    return ImageSource(
        where=where,
        kind="list",
        entries=Listing(gathered.names, gathered.sizes, numbers, files=paths.files),
        classes=() if labels is None else labels[1],
        rejected=sorted_order(gathered.rejected),
        notes=(),
        other_files=0,
        _reader=FileReader(),
    )


@dataclass(frozen=True)
class _SourceTree:
    where: str
    kind: SourceKind
    gathered: Gathered
    top: str  # the folder that class folders lie in, with its slash
    reader: Reader


def open_folder(path: str, options: SourceOptions) -> ImageSource:
    """List a folder; class folders are those of its first level."""
    gathered = Gathered(options.keep_odd_names)
    walk_folder(path, gathered, follow_links=options.follow_links)
    return _labelled_source(
        _SourceTree(path, SourceKind.FOLDER, gathered, "", FileReader()), options
    )


def open_archive(path: str, kind: SourceKind, options: SourceOptions) -> ImageSource:
    """List an archive; a folder that everything in it lies in is no class."""
    gathered = Gathered(options.keep_odd_names)
    root = f"{options.root.strip('/')}/" if options.root else ""
    members = zip_members if kind is SourceKind.ZIP else tar_members
    gather_members(members(path, os.path.basename(path)), gathered, root)
    reader: Reader = ZipReader() if kind is SourceKind.ZIP else TarReader()
    top = root or common_top(gathered.names)
    return _labelled_source(_SourceTree(path, kind, gathered, top, reader), options)


def _labelled_source(tree: _SourceTree, options: SourceOptions) -> ImageSource:
    gathered = tree.gathered
    if not gathered.names:
        raise PipelineError(_nothing_found(tree.where, gathered))
    numbers: array[int] | None = None
    classes: tuple[str, ...] = ()
    notes = _tree_notes(gathered)
    if options.labels is None:
        numbers, classes = label_by_folder(gathered, tree.top)
        offer = f"--root {tree.top}" if tree.kind is not SourceKind.FOLDER else f"{tree.where}/"
        notes += folder_notes(gathered.names, classes, tree.top, offer)
    elif options.labels is not False:
        numbers, classes = _given_labels(options.labels, gathered)
    is_folder = tree.kind is SourceKind.FOLDER
    listing = Listing(
        gathered.names,
        gathered.sizes,
        numbers,
        where=tree.where.rstrip("/") + "/" if is_folder else tree.where,
        offsets=None if is_folder else gathered.offsets,
    )
    return ImageSource(
        where=tree.where,
        kind=tree.kind.value,
        entries=listing,
        classes=classes,
        rejected=sorted_order(gathered.rejected),
        notes=tuple(notes),
        other_files=gathered.other_files,
        _reader=tree.reader,
    )


def _given_labels(labels: object, gathered: Gathered) -> tuple[array[int], tuple[str, ...]]:
    """Return the labels of the listed images; those of rejected ones are not passed on."""
    rejected = [item.name for item in gathered.rejected if is_image_name(item.name)]
    names = sorted([*gathered.names, *rejected], key=os.fsencode)
    numbers, classes = encode_labels(labels, names)  # type: ignore[arg-type]  # it is checked there
    places = dict(zip(names, numbers, strict=True))
    return array("q", [places[name] for name in gathered.names]), classes


def _tree_notes(gathered: Gathered) -> list[str]:
    notes = []
    if gathered.other_files:
        others = _format_number(gathered.other_files, "other file")
        notes.append(f"{others} left alone, for example {printable_name(gathered.other_example)}")
    hidden = [(gathered.hidden_files, "hidden file"), (gathered.hidden_folders, "hidden folder")]
    if counted := [_format_number(count, what) for count, what in hidden if count]:
        notes.append(f"{' and '.join(counted)} left alone")
    return notes


def _format_number(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' if count > 1 else ''}"


def _nothing_found(where: str, gathered: Gathered) -> str:
    if gathered.rejected:
        first = sorted_order(gathered.rejected)[0]
        return (
            f"{where}: none of the images in it can be used; {len(gathered.rejected):,} "
            f"left out, for example {printable_name(first.name)}: {first.detail}."
        )
    message = f"{where}: no image in it. Looked for {', '.join(IMAGE_EXTENSIONS)} in all folders"
    if gathered.other_files:
        found = _format_number(gathered.other_files, "other file")
        return f"{message}; found {found}, for example {printable_name(gathered.other_example)}."
    return f"{message}; found nothing at all."


def open_source(
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
    kind = source_kind(where)
    if isinstance(labels, str):
        label_column = column_option(labels, kind) or label_column
        labels = None
    folder = None if root is None else os.fspath(root)
    options = SourceOptions(labels, path_column, label_column, folder, follow_links, keep_odd_names)
    options.check(kind, where)
    if isinstance(where, str | bytes | os.PathLike):
        return _open_path(os.fsdecode(where), kind, options)
    if kind is SourceKind.COLUMNS:
        return open_columns(where, options)
    return open_paths(where if isinstance(where, Iterable) else (), options)


def _from_tensor(value: Any) -> Any:  # Any: whatever the user has
    """Return a tensor's array; everything else as it is."""
    return value.numpy() if callable(getattr(value, "numpy", None)) else value


def _open_path(path: str, kind: SourceKind, options: SourceOptions) -> ImageSource:
    if kind is SourceKind.FOLDER:
        return open_folder(path, options)
    if kind is SourceKind.TABLE:
        return open_table(path, options)
    if kind is SourceKind.LINES:
        return open_lines(path, options)
    return open_archive(path, kind, options)
