"""Packs the images that a program yields, in its order and in this process."""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from quickfit.data.entries import NO_LABEL, Entry, Rejection, SourceImageError
from quickfit.data.packing import destination
from quickfit.data.packing.destination import finish_pack
from quickfit.data.packing.manifest import PackLayout, ShardFiles, read_json_lines, shard_name
from quickfit.data.packing.plan import PackSettings
from quickfit.data.packing.report import Packed
from quickfit.data.packing.resume import PackTask
from quickfit.data.packing.shards import (
    ShardNote,
    ShardWriter,
    encode_pixels,
    frame_record,
    image_record,
    read_shard_note,
)
from quickfit.data.packing.workers import PackProgress, ProgressTicker
from quickfit.data.tfrecord import ImageRecord
from quickfit.errors import PipelineError, UsageError

if TYPE_CHECKING:
    import numpy as np

# Numbers up to here are classes; beyond, they are something else that is called a label.
_MOST_NUMBERS = 100_000
_ITEM_FORMS = (
    "Each item must be (image, label) or (image, label, name), or a dictionary of these, where the "
    "image is the bytes of a file, a uint8 array [height, width, 3], a PIL image or a path; images "
    "other than paths may stand alone, without a label."
)
_NAMED_SHARDS = re.compile(r"data-(\d+)-of-\d+\.(tfrecord|jsonl|json)")


@dataclass(frozen=True, slots=True)
class IterableItem:
    """An image to pack.

    Args:
        name: given, or its number.
        label: its class, or `NO_LABEL`.
        image: the bytes of its file, or its pixels, or the path of its file.
    """

    name: str
    label: int
    image: bytes | np.ndarray | str

    def entry(self) -> Entry:
        """Return the entry of an image that is a file."""
        return Entry(self.name, self.label, 0, str(self.image))


@dataclass
class ItemLabels:
    """Numbers for labels; names get theirs in the order given, or as they appear.

    Args:
        names: of the classes, in the order of their numbers; empty where labels are numbers.
        is_fixed: whether there can be no others.
    """

    names: list[str] = field(default_factory=list)
    is_fixed: bool = False
    _numbers: dict[str, int] = field(default_factory=dict)
    _kind: type | None = None
    _highest: int = NO_LABEL

    def classes(self) -> list[str]:
        """Return the name of each label; of numbers, their text."""
        if self.names or self._highest >= _MOST_NUMBERS:
            return self.names
        return [str(number) for number in range(self._highest + 1)]

    def number(self, label: Any, position: int) -> int:  # whatever the user gives
        """Return the number of a label.

        Raises:
            UsageError: it is no label, or of another kind than those before.
        """
        if label is None:
            return NO_LABEL
        label = _python_value(label)
        kind = str if isinstance(label, str) else int
        if self._kind not in (None, kind):
            raise UsageError(
                f"pack: item {position:,} has the label {label!r}, but the labels before it were "
                f"{'names' if self._kind is str else 'numbers'}. Give all labels in one way."
            )
        self._kind = kind
        number = (
            self._named_class(label, position) if kind is str else _whole_label(label, position)
        )
        self._highest = max(self._highest, number)
        return number

    def _named_class(self, name: str, position: int) -> int:
        if not self._numbers:
            self._numbers = {known: number for number, known in enumerate(self.names)}
        if name not in self._numbers:
            if self.is_fixed:
                known = ", ".join(self.names[:10])
                raise UsageError(
                    f"pack: item {position:,} has the label {name!r}, which is none of `labels` "
                    f"({known})."
                )
            self._numbers[name] = len(self.names)
            self.names.append(name)
        return self._numbers[name]


def _python_value(label: Any) -> Any:
    """Return the Python value of a number of NumPy's or a tensor."""
    label = label.numpy() if callable(getattr(label, "numpy", None)) else label
    if isinstance(label, bytes):
        return label.decode("utf-8", "surrogateescape")
    shape = getattr(label, "shape", None)
    return label.item() if shape is not None and all(side == 1 for side in shape) else label


def _whole_label(label: Any, position: int) -> int:
    if not isinstance(label, int) or not 0 <= label < 2**63:
        hint = " Of a one-hot label give label.argmax()." if hasattr(label, "shape") else ""
        raise UsageError(
            f"pack: item {position:,} has the label {_format_value(label)}. A label is a whole "
            "number "
            f"from 0, a name, or None.{hint}"
        )
    return int(label)


def read_item(value: Any, position: int, labels: ItemLabels) -> IterableItem:
    """Return an item of the user's iterable.

    Raises:
        UsageError: it is none.
    """
    given, label, name = _split_item(value, position)
    image = _item_image(given, position)
    if name is None:
        name = image if isinstance(image, str) else f"{position:08d}"
    name = _python_value(name)
    if not isinstance(name, str) or not name:
        raise UsageError(
            f"pack: item {position:,} has the name {_format_value(name)}; a name is a text."
        )
    return IterableItem(name, labels.number(label, position), image)


def _split_item(value: Any, position: int) -> tuple[Any, Any, Any]:
    """Return image, label and name as they were given; None for what was not."""
    if isinstance(value, Mapping) and "image" in value:
        return value["image"], value.get("label"), value.get("name")
    if isinstance(value, tuple | list) and len(value) in (2, 3):
        return (*value, None) if len(value) == 2 else tuple(value)
    # A path alone is an error: a list of paths is packed with its labels, in many processes.
    if isinstance(value, tuple | list | Mapping | str | os.PathLike):
        raise UsageError(
            f"pack: item {position:,} of the iterable is {_format_value(value)}.\n{_ITEM_FORMS}"
        )
    return value, None, None


def _item_image(image: Any, position: int) -> bytes | np.ndarray | str:
    image = image.numpy() if callable(getattr(image, "numpy", None)) else image
    if hasattr(image, "mode") and hasattr(image, "convert"):  # PIL, which is not imported for it
        return _item_pixels(_from_pil(image), position)
    if isinstance(image, bytes | bytearray | memoryview):
        return bytes(image)
    if isinstance(image, str | os.PathLike):
        return os.fsdecode(image)
    return _item_pixels(image, position)


def _from_pil(image: Any) -> np.ndarray:
    import numpy as np

    return np.asarray(image if image.mode in ("L", "RGB", "RGBA") else image.convert("RGB"))


def _item_pixels(image: Any, position: int) -> np.ndarray:
    import numpy as np

    shape = getattr(image, "shape", None)
    if shape is None or not (hasattr(image, "dtype") or hasattr(image, "__array__")):
        raise UsageError(
            f"pack: item {position:,}: the image is {_format_value(image)}.\n{_ITEM_FORMS}"
        )
    pixels = np.asarray(image)
    if pixels.dtype != np.uint8:
        raise UsageError(
            f"pack: item {position:,}: the image has the type {pixels.dtype}; pixels are uint8, 0 "
            "to 255. Convert it:\n    (image * 255).round().astype('uint8')   # from 0..1"
        )
    is_image = pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] in (1, 3, 4))
    if not is_image or not pixels.size:
        hint = " This looks like a batch: give one image at a time." if pixels.ndim == 4 else ""
        raise UsageError(
            f"pack: item {position:,}: the image has the shape {pixels.shape}; [height, width], or "
            f"with 1, 3 or 4 channels, can be packed.{hint}"
        )
    return np.ascontiguousarray(pixels)


def encode_png(image: np.ndarray) -> bytes:
    """Return pixels as a PNG file, which loses nothing."""
    from PIL import Image

    content = io.BytesIO()
    flat = image[:, :, 0] if image.ndim == 3 and image.shape[2] == 1 else image
    Image.fromarray(flat).save(content, "PNG")
    return content.getvalue()


def as_rgb(image: np.ndarray) -> np.ndarray:
    """Return pixels with three channels: gray widened, alpha dropped."""
    import numpy as np

    if image.ndim == 2 or image.shape[2] == 1:
        return np.repeat(image.reshape(*image.shape[:2], 1), 3, axis=2)
    return np.ascontiguousarray(image[:, :, :3])


def _format_value(value: Any) -> str:
    text = " ".join(repr(value).split())
    return f"{type(value).__name__} {text if len(text) < 80 else text[:77] + '…'}"


def labels_of(given: Sequence[str] | None) -> ItemLabels:
    """Return how labels get their numbers.

    Raises:
        UsageError: what was given are no names.
    """
    if given is None:
        return ItemLabels()
    names = list(given)
    if not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
        raise UsageError(
            "pack: for an iterable, `labels` are the names of the classes, each once, in the order "
            f"of their numbers; got {_format_value(given)}.\nTo give each image its own label:\n"
            "    quickfit.data.pack(zip(images, labels), …)"
        )
    return ItemLabels(names, is_fixed=True)


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
    task: PackTask,
) -> Packed:
    """Pack what an iterable gives, or go on with it.

    Raises:
        UsageError: an item is no image with a label.
        PipelineError: the pack cannot be made, or the iterable gives something else than before.
    """
    labels = labels_of(names)
    identity = {"kind": "iterable", "labels": list(names) if names is not None else None}
    with task.open_locked():
        with destination.writing_errors(task.layout.folder):
            there = task.finished_before(identity)
            if there is not None:
                return there
            task.begin(identity)
            _take_names_back(task.layout)
        display = task.display(_known_length(source))
        try:
            run = _IterableRun(task, labels, ProgressTicker(display.show))
            count = run.pack(source)
        finally:
            display.close()
        with destination.writing_errors(task.layout.folder):
            manifest = finish_pack(
                task.layout,
                task.settings,
                classes=labels.classes(),
                sources=identity | {"count": count},
                shards=_name_shards(task.layout, run.shards),
                listing_rejected=(),
            )
    return task.packed(manifest)


def _known_length(source: Any) -> int | None:
    try:
        return len(source)
    except TypeError:
        return None  # nobody knows, also a dataset of TensorFlow that has a length by its looks


class _IterableRun:
    """One run through the iterable."""

    def __init__(self, task: PackTask, labels: ItemLabels, ticker: ProgressTicker) -> None:
        self.shards = 0
        self._task = task
        self._labels = labels
        self._ticker = ticker
        self._taken = 0

    def pack(self, source: Iterable[Any]) -> int:
        """Pack all items; return how many there were."""
        items = self._read_items(source)
        first = next(items, None)
        while first is not None:
            files = self._task.layout.staged(self.shards)
            note = read_shard_note(files)
            if note is None:
                first = self._write(first, items, files)
            else:
                first = self._compare(first, items, files, note)
            self.shards += 1
        left_over = self._task.layout.staged(self.shards).note
        if left_over.exists():
            raise _changed_error(f"it ended after {self._taken:,} items; more were packed before")
        self._ticker.flush()
        return self._taken

    def _read_items(self, source: Iterable[Any]) -> Iterator[IterableItem]:
        for position, value in enumerate(source):
            self._taken += 1
            yield read_item(value, position, self._labels)

    def _write(
        self, first: IterableItem, items: Iterator[IterableItem], files: ShardFiles
    ) -> IterableItem | None:
        """Write a shard; return the first item of the next one."""
        one: IterableItem | None = first
        with self._report_progress():
            writer = ShardWriter(self._task.layout, files)
        with writer:
            while one is not None and writer.bytes < self._task.settings.shard_bytes:
                self._add_item(one, writer)
                one = next(items, None)
            with self._report_progress():
                writer.place()
        return one

    def _add_item(self, one: IterableItem, writer: ShardWriter) -> None:
        before = writer.bytes
        try:
            record = _item_record(one, self._task.settings)
        except SourceImageError as error:
            writer.reject(Rejection(one.name, error.reason, error.detail))
            self._ticker.add(PackProgress(1, rejected=1))
            return
        with self._report_progress():
            writer.add(frame_record(record))
        self._ticker.add(PackProgress(1, writer.bytes - before))

    def _report_progress(self) -> AbstractContextManager[None]:
        """Tell errors of writing, and no others: those of the iterable are the user's."""
        settings = self._task.settings
        return destination.writing_errors(self._task.layout.folder, lambda: settings.shard_bytes)

    def _compare(
        self, first: IterableItem, items: Iterator[IterableItem], files: ShardFiles, note: ShardNote
    ) -> IterableItem | None:
        """Run past a shard that is whole; return the first item of the next one."""
        left_out = {values["position"]: values for values in note.rejected}
        index = read_json_lines(files.index)
        one: IterableItem | None = first
        for position in range(note.count + len(note.rejected)):
            if one is None:
                raise _changed_error(
                    f"it ended after {self._taken:,} items; more were packed before"
                )
            expected = left_out.get(position) or next(index)
            found = {"path": one.name} if position in left_out else _item_identity(one, self._task)
            if any(expected[name] != value for name, value in found.items()):
                before = expected["path"]
                raise _changed_error(f"{one.name!r} is not what was packed before as {before!r}")
            one = next(items, None)
        images = note.count + len(note.rejected)
        self._ticker.add(PackProgress(images, note.bytes, len(note.rejected), kept=images))
        return one


def _changed_error(how: str) -> PipelineError:
    return PipelineError(
        f"pack: the iterable has changed since this pack was begun: {how}.\nTo go on, it must give "
        "the same items in the same order. To begin anew:\n    quickfit.data.pack(…, restart=True)"
    )


def _item_identity(one: IterableItem, task: PackTask) -> dict[str, Any]:
    try:
        digest = hashlib.sha256(_item_content(one, task.settings)).hexdigest()
    except SourceImageError as error:
        raise _changed_error(f"{one.name!r} {error.detail}") from error
    return {"path": one.name, "label": one.label, "sha256": digest}


def _item_content(one: IterableItem, settings: PackSettings) -> bytes:
    """Return what an item's checksum is of: its file; of an array, what is like a file."""
    if isinstance(one.image, bytes):
        return one.image
    if isinstance(one.image, str):
        from quickfit.data.sources.files import FileReader

        return FileReader().read(one.entry())
    return encode_png(one.image) if settings.form == "original" else one.image.tobytes()


def _item_record(one: IterableItem, settings: PackSettings) -> ImageRecord:
    content = _item_content(one, settings)
    if isinstance(one.image, bytes | str) or settings.form == "original":
        return image_record(content, one.name, one.label, settings)
    stored = encode_pixels(as_rgb(one.image), settings)
    digest = hashlib.sha256(content).digest()
    return ImageRecord(*stored, label=one.label, path=one.name, sha256=digest)


def _name_shards(layout: PackLayout, total: int) -> list[ShardFiles]:
    """Give all whole shards their names, and return them."""
    shards = []
    for number in range(total):
        staged, named = layout.staged(number), layout.shard(shard_name(number, total))
        staged.rename(named)
        shards.append(named)
    return shards


def _take_names_back(layout: PackLayout) -> None:
    """Undo the naming of a pack that ended in the middle of it."""
    for file in list(layout.written()):
        if found := _NAMED_SHARDS.fullmatch(file.name):
            file.replace(layout.partial / f"data-{int(found[1]):05d}.{found[2]}")
