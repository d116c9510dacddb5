"""Finds out what kind of source something is: from its type, or from a file's first bytes."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping, Set
from enum import Enum

from quickfit.data.sources.names import is_image_name, shown
from quickfit.data.sources.table import is_table
from quickfit.data.sources.tar_format import BLOCK_BYTES, header_of
from quickfit.data.sources.text_tables import is_tabular
from quickfit.data.sources.unpacking import compression_of
from quickfit.errors import UsageError


class Kind(Enum):
    """What images can be listed from."""

    FOLDER = "folder"
    ZIP = "zip"
    TAR = "tar"
    TABLE = "table"  # a CSV or TSV file
    LINES = "list"  # a text file of paths
    COLUMNS = "columns"  # a DataFrame, a dictionary
    PATHS = "paths"


_FOREIGN = {b"7z\xbc\xaf\x27\x1c": "7z", b"Rar!": "RAR", b"\x89HDF": "HDF5", b"PAR1": "Parquet"}


def kind_of(where: object) -> Kind:
    """Return what kind of source this is.

    Raises:
        UsageError: images cannot be listed from it.
    """
    if isinstance(where, str | bytes | os.PathLike):
        return _kind_of_path(os.fsdecode(where))
    if is_table(where):
        return Kind.COLUMNS
    if isinstance(where, Mapping | Set):
        raise UsageError(
            f"the paths are a {type(where).__name__}, which has no order that labels could follow."
            "\nGive a list: sorted(paths)."
        )
    if isinstance(where, Iterable):
        return Kind.PATHS
    raise UsageError(
        f"images cannot be read from {where!r} ({type(where).__name__}).\n"
        "Give a folder, an archive, a CSV file, a DataFrame or a list of paths."
    )


def _kind_of_path(path: str) -> Kind:
    if not path:
        raise UsageError("the path of the images is empty. Give a folder, an archive or a list.")
    if os.path.isdir(path):
        return Kind.FOLDER
    if not os.path.exists(path):
        raise UsageError(_missing(path))
    if not os.path.isfile(path):
        raise UsageError(f"{path}: is neither a folder nor a file.")
    if is_image_name(path):
        folder = os.path.dirname(path) or "."
        raise UsageError(
            f"{shown(path)}: is one image. Give its folder ({shown(folder)}), or a text file "
            "with paths in it."
        )
    return _kind_of_file(path)


def _kind_of_file(path: str) -> Kind:
    compression = compression_of(path)
    if compression is not None:
        raise UsageError(
            f"{path}: is compressed with {compression}, so its images cannot be read one by one.\n"
            f"Pack it (quickfit pack {path} packed), or unpack it and give the folder."
        )
    with open(path, "rb") as file:
        begin = file.read(BLOCK_BYTES)
    if begin.startswith((b"PK\x03\x04", b"PK\x05\x06")) or path.lower().endswith(".zip"):
        return Kind.ZIP
    if header_of(begin) is not None or path.lower().endswith(".tar"):
        return Kind.TAR
    foreign = next((name for magic, name in _FOREIGN.items() if begin.startswith(magic)), None)
    if foreign or (b"\0" in begin and not begin.startswith((b"\xff\xfe", b"\xfe\xff"))):
        raise UsageError(
            f"{path}: is {'a ' + foreign + ' file' if foreign else 'no text'}, and no folder, "
            "archive, table or list of images.\n"
            "Give a folder, a zip or tar archive, a CSV file or a text file with paths in it."
        )
    return Kind.TABLE if is_tabular(path) else Kind.LINES


def _missing(path: str) -> str:
    if "://" in path:
        return f"{shown(path)}: is not on this machine. Copy it here first, or mount it."
    if any(sign in path for sign in "*?["):
        return (
            f"{shown(path)}: there is no such folder. Patterns are not read: give a folder, or in "
            "Python the list that glob.glob returns."
        )
    message = f"{shown(path)}: there is no such folder or file"
    if not os.path.isabs(path):
        message += f", looked for in {os.getcwd()}"
    parent = os.path.dirname(path.rstrip("/")) or "."
    if not os.path.isdir(parent):
        return f"{message}.\nThere is no {shown(parent)} either: check the path from its beginning."
    try:
        names = sorted(name for name in os.listdir(parent) if not name.startswith("."))
    except OSError:
        return f"{message}."
    near = difflib.get_close_matches(os.path.basename(path), names, 3, 0.4) or names[:5]
    more = ", …" if len(names) > len(near) else ""
    return f"{message}.\n{shown(parent)} has: {shown(', '.join(near)) or 'nothing'}{more}."
