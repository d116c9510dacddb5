"""Packs what a program gives, in its order and in this process.

How many there are is known at the end only: whole shards wait in `.partial` for their names.
To go on, the iterable is run through again, and what is packed already is compared, not trusted.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import chain, islice
from typing import Any

from quickfit.data.entries import Rejection, SourceImageError
from quickfit.data.packing import faults, forms, json_lines
from quickfit.data.packing.example import Record
from quickfit.data.packing.finishing import finish
from quickfit.data.packing.items import Item, Labels, item, labels_of, png, rgb
from quickfit.data.packing.layout import Layout, ShardFiles, shard_name
from quickfit.data.packing.making import Progress, Ticker
from quickfit.data.packing.packed import Packed
from quickfit.data.packing.settings import Settings
from quickfit.data.packing.shard import Note, ShardWriter, framed, note_of_whole
from quickfit.data.packing.task import Task
from quickfit.errors import PipelineError

_NAMED = re.compile(r"data-(\d+)-of-\d+\.(tfrecord|jsonl|json)")


def with_paths_listed(source: Any) -> Any:
    """Return an iterator of paths, such as `Path.glob` gives, as a list; all else as it is."""
    if not isinstance(source, Iterator):
        return source
    first = list(islice(source, 1))
    rest = chain(first, source)
    return list(rest) if first and isinstance(first[0], str | os.PathLike) else rest


def is_iterable_of_images(source: Any) -> bool:  # whatever the user gives
    """Return whether a source gives images itself; else it says where they are."""
    if isinstance(source, str | bytes | os.PathLike | Mapping):
        return False
    if any(hasattr(source, name) for name in ("columns", "entries")):
        return False
    if hasattr(source, "tolist"):  # an array: of pixels, or a column of paths
        is_pixels = str(getattr(source, "dtype", "")) == "uint8"
        return is_pixels and len(getattr(source, "shape", ())) > 2
    if isinstance(source, Sequence):
        return bool(source) and not isinstance(source[0], str | os.PathLike)
    return hasattr(source, "__iter__") or hasattr(source, "__getitem__")


def pack_items(
    source: Any,  # whatever can be iterated over
    names: Sequence[str] | None,
    task: Task,
) -> Packed:
    """Pack what an iterable gives, or go on with it.

    Raises:
        UsageError: an item is no image with a label.
        PipelineError: the pack cannot be made, or the iterable gives something else than before.
    """
    labels = labels_of(names)
    identity = {"kind": "iterable", "labels": list(names) if names is not None else None}
    with task.opened():
        with faults.told(task.layout.folder):
            there = task.finished_before(identity)
            if there is not None:
                return there
            task.begin(identity)
            _take_names_back(task.layout)
        display = task.display(_length(source))
        try:
            run = _Run(task, labels, Ticker(display.heed))
            count = run.pack(source)
        finally:
            display.close()
        with faults.told(task.layout.folder):
            manifest = finish(
                task.layout,
                task.settings,
                classes=labels.classes(),
                sources=identity | {"count": count},
                shards=_named(task.layout, run.shards),
                listing_rejected=(),
            )
    return task.packed(manifest)


def _length(source: Any) -> int | None:
    try:
        return len(source)
    except TypeError:
        return None  # nobody knows, also a dataset of TensorFlow that has a length by its looks


class _Run:
    """One run through the iterable."""

    def __init__(self, task: Task, labels: Labels, ticker: Ticker) -> None:
        self.shards = 0
        self._task = task
        self._labels = labels
        self._ticker = ticker
        self._taken = 0

    def pack(self, source: Iterable[Any]) -> int:
        """Pack all items; return how many there were."""
        items = self._items(source)
        first = next(items, None)
        while first is not None:
            files = self._task.layout.staged(self.shards)
            note = note_of_whole(files)
            if note is None:
                first = self._write(first, items, files)
            else:
                first = self._compare(first, items, files, note)
            self.shards += 1
        left_over = self._task.layout.staged(self.shards).note
        if left_over.exists():
            raise _changed(f"it ended after {self._taken:,} items; more were packed before")
        self._ticker.flush()
        return self._taken

    def _items(self, source: Iterable[Any]) -> Iterator[Item]:
        for position, value in enumerate(source):
            self._taken += 1
            yield item(value, position, self._labels)

    def _write(self, first: Item, items: Iterator[Item], files: ShardFiles) -> Item | None:
        """Write a shard; return the first item of the next one."""
        one: Item | None = first
        with self._told():
            writer = ShardWriter(self._task.layout, files)
        with writer:
            while one is not None and writer.bytes < self._task.settings.shard_bytes:
                self._add(one, writer)
                one = next(items, None)
            with self._told():
                writer.place()
        return one

    def _add(self, one: Item, writer: ShardWriter) -> None:
        before = writer.bytes
        try:
            record = _record(one, self._task.settings)
        except SourceImageError as error:
            writer.reject(Rejection(one.name, error.reason, error.detail))
            self._ticker.add(Progress(1, rejected=1))
            return
        with self._told():
            writer.add(framed(record))
        self._ticker.add(Progress(1, writer.bytes - before))

    def _told(self) -> AbstractContextManager[None]:
        """Tell errors of writing, and no others: those of the iterable are the user's."""
        settings = self._task.settings
        return faults.told(self._task.layout.folder, lambda: settings.shard_bytes)

    def _compare(
        self, first: Item, items: Iterator[Item], files: ShardFiles, note: Note
    ) -> Item | None:
        """Run past a shard that is whole; return the first item of the next one."""
        left_out = {values["position"]: values for values in note.rejected}
        index = json_lines.read_lines(files.index)
        one: Item | None = first
        for position in range(note.count + len(note.rejected)):
            if one is None:
                raise _changed(f"it ended after {self._taken:,} items; more were packed before")
            expected = left_out.get(position) or next(index)
            found = {"path": one.name} if position in left_out else _identity(one, self._task)
            if any(expected[name] != value for name, value in found.items()):
                before = expected["path"]
                raise _changed(f"{one.name!r} is not what was packed before as {before!r}")
            one = next(items, None)
        images = note.count + len(note.rejected)
        self._ticker.add(Progress(images, note.bytes, len(note.rejected), kept=images))
        return one


def _changed(how: str) -> PipelineError:
    return PipelineError(
        f"pack: the iterable has changed since this pack was begun: {how}.\nTo go on, it must give "
        "the same items in the same order. To begin anew:\n    quickfit.data.pack(…, restart=True)"
    )


def _identity(one: Item, task: Task) -> dict[str, Any]:
    try:
        digest = hashlib.sha256(_content(one, task.settings)).hexdigest()
    except SourceImageError as error:
        raise _changed(f"{one.name!r} {error.detail}") from error
    return {"path": one.name, "label": one.label, "sha256": digest}


def _content(one: Item, settings: Settings) -> bytes:
    """Return what an item's checksum is of: its file; of an array, what is like a file."""
    if isinstance(one.image, bytes):
        return one.image
    if isinstance(one.image, str):
        from quickfit.data.sources.readers import FileReader

        return FileReader().read(one.entry())
    return png(one.image) if settings.form == "original" else one.image.tobytes()


def _record(one: Item, settings: Settings) -> Record:
    content = _content(one, settings)
    if isinstance(one.image, bytes | str) or settings.form == "original":
        return forms.record(content, one.name, one.label, settings)
    stored = forms.from_pixels(rgb(one.image), settings)
    digest = hashlib.sha256(content).digest()
    return Record(*stored, label=one.label, path=one.name, sha256=digest)


def _named(layout: Layout, total: int) -> list[ShardFiles]:
    """Give all whole shards their names, and return them."""
    shards = []
    for number in range(total):
        staged, named = layout.staged(number), layout.shard(shard_name(number, total))
        staged.rename(named)
        shards.append(named)
    return shards


def _take_names_back(layout: Layout) -> None:
    """Undo the naming of a pack that ended in the middle of it."""
    for file in list(layout.written()):
        if found := _NAMED.fullmatch(file.name):
            file.replace(layout.partial / f"data-{int(found[1]):05d}.{found[2]}")
