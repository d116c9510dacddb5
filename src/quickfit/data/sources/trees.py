"""Sources with folders in them: a folder on disk, a zip or tar archive."""

from __future__ import annotations

import os
from array import array
from dataclasses import dataclass

from quickfit.data.sources.class_folders import label_by_folder, notes_on
from quickfit.data.sources.folder import walk
from quickfit.data.sources.kinds import Kind
from quickfit.data.sources.labels import encode
from quickfit.data.sources.listing import Gathered, Listing
from quickfit.data.sources.members import common_top, gather
from quickfit.data.sources.names import IMAGE_EXTENSIONS, is_image_name, shown
from quickfit.data.sources.options import Options
from quickfit.data.sources.readers import FileReader, Reader
from quickfit.data.sources.source import ImageSource, in_order
from quickfit.data.sources.tar_archive import TarReader, tar_members
from quickfit.data.sources.zip_archive import zip_members
from quickfit.data.sources.zip_reader import ZipReader
from quickfit.errors import PipelineError


@dataclass(frozen=True)
class _Tree:
    where: str
    kind: Kind
    gathered: Gathered
    top: str  # the folder that class folders lie in, with its slash
    reader: Reader


def open_folder(path: str, options: Options) -> ImageSource:
    """List a folder; class folders are those of its first level."""
    gathered = Gathered(options.keep_odd_names)
    walk(path, gathered, follow_links=options.follow_links)
    return _labelled(_Tree(path, Kind.FOLDER, gathered, "", FileReader()), options)


def open_archive(path: str, kind: Kind, options: Options) -> ImageSource:
    """List an archive; a folder that everything in it lies in is no class."""
    gathered = Gathered(options.keep_odd_names)
    root = f"{options.root.strip('/')}/" if options.root else ""
    members = zip_members if kind is Kind.ZIP else tar_members
    gather(members(path, os.path.basename(path)), gathered, root)
    reader: Reader = ZipReader() if kind is Kind.ZIP else TarReader()
    top = root or common_top(gathered.names)
    return _labelled(_Tree(path, kind, gathered, top, reader), options)


def _labelled(tree: _Tree, options: Options) -> ImageSource:
    gathered = tree.gathered
    if not gathered.names:
        raise PipelineError(_nothing(tree.where, gathered))
    numbers: array[int] | None = None
    classes: tuple[str, ...] = ()
    notes = _notes(gathered)
    if options.labels is None:
        numbers, classes = label_by_folder(gathered, tree.top)
        offer = f"--root {tree.top}" if tree.kind is not Kind.FOLDER else f"{tree.where}/"
        notes += notes_on(gathered.names, classes, tree.top, offer)
    elif options.labels is not False:
        numbers, classes = _given(options.labels, gathered)
    is_folder = tree.kind is Kind.FOLDER
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
        rejected=in_order(gathered.rejected),
        notes=tuple(notes),
        other_files=gathered.other_files,
        _reader=tree.reader,
    )


def _given(labels: object, gathered: Gathered) -> tuple[array[int], tuple[str, ...]]:
    """Return the labels of the listed images; those of rejected ones are not passed on."""
    rejected = [item.name for item in gathered.rejected if is_image_name(item.name)]
    names = sorted([*gathered.names, *rejected], key=os.fsencode)
    numbers, classes = encode(labels, names)  # type: ignore[arg-type]  # it is checked there
    places = dict(zip(names, numbers, strict=True))
    return array("q", [places[name] for name in gathered.names]), classes


def _notes(gathered: Gathered) -> list[str]:
    notes = []
    if gathered.other_files:
        others = _number(gathered.other_files, "other file")
        notes.append(f"{others} left alone, for example {shown(gathered.other_example)}")
    hidden = [(gathered.hidden_files, "hidden file"), (gathered.hidden_folders, "hidden folder")]
    if counted := [_number(count, what) for count, what in hidden if count]:
        notes.append(f"{' and '.join(counted)} left alone")
    return notes


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' if count > 1 else ''}"


def _nothing(where: str, gathered: Gathered) -> str:
    if gathered.rejected:
        first = in_order(gathered.rejected)[0]
        return (
            f"{where}: none of the images in it can be used; {len(gathered.rejected):,} "
            f"left out, for example {shown(first.name)}: {first.detail}."
        )
    message = f"{where}: no image in it. Looked for {', '.join(IMAGE_EXTENSIONS)} in all folders"
    if gathered.other_files:
        found = _number(gathered.other_files, "other file")
        return f"{message}; found {found}, for example {shown(gathered.other_example)}."
    return f"{message}; found nothing at all."
