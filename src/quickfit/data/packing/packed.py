"""What `pack` returns: what is in the pack, and how to read it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quickfit.data.entries import Reason, Rejection
from quickfit.data.packing import json_lines
from quickfit.data.packing.finishing import reasons
from quickfit.data.packing.layout import Layout
from quickfit.data.packing.manifest import Manifest
from quickfit.data.sources.listing import UNKNOWN_LOSS
from quickfit.data.sources.names import shown
from quickfit.errors import PipelineError
from quickfit.units import count, seconds, size

_MOST_CLASSES = 8
_MOST_FOLDERS = 3


@dataclass(frozen=True, repr=False)
class Packed:
    """A finished pack.

    Args:
        folder: where it is.
        manifest: what it holds.
        was_there: whether it had been finished before, so that nothing was done.
        took_s: the time it took.
        notes: what a person should know of the source.
    """

    folder: Path
    manifest: Manifest
    was_there: bool
    took_s: float
    notes: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """The images in the pack."""
        return self.manifest.count

    @property
    def rejected(self) -> int:
        """The lines of `rejected.jsonl`: images that were left out, and losses nobody can count."""
        return self.manifest.rejected

    @property
    def class_names(self) -> tuple[str, ...]:
        """The name of each label."""
        return self.manifest.classes

    @property
    def class_counts(self) -> tuple[int, ...]:
        """The images of each class."""
        return self.manifest.class_counts

    def rejections(self) -> list[Rejection]:
        """Return what was left out, and why."""
        return [
            Rejection(values["path"], Reason(values["reason"]), values["detail"])
            for values in self._rejected()
        ]

    def warnings(self) -> list[str]:
        """Return the losses that nobody can count: archives that end early, closed folders."""
        lost = [values for values in self._rejected() if _is_unknown(values)]
        folders = [values for values in lost if "folder could not be listed" in values["detail"]]
        told = [f"{shown(one['path'])}: {one['detail']}" for one in lost if one not in folders]
        if folders:
            number = f"{count(len(folders))} folder{'s' if len(folders) > 1 else ''}"
            some = ", ".join(shown(one["path"]) for one in folders[:_MOST_FOLDERS])
            more = ", …" if len(folders) > _MOST_FOLDERS else ""
            told.append(f"{number} could not be listed ({some}{more}): {UNKNOWN_LOSS}")
        return told

    def _rejected(self) -> list[dict[str, Any]]:  # whatever JSON holds
        if not self.manifest.rejected:
            return []
        file = Layout(self.folder).rejected
        try:
            found = list(json_lines.read_lines(file))
            if all(_is_rejection(values) for values in found):
                return found
            why = "a line in it is none that a pack writes"
        except (OSError, ValueError) as error:
            why = str(error)[:200]
        raise PipelineError(
            f"{file}: cannot be read as a list of what was left out: {why}.\n"
            f"To see all that differs:\n    quickfit pack --verify {self.folder}"
        )

    def __repr__(self) -> str:
        return f"{self.summary()}\n\n{self.reading()}"

    def summary(self) -> str:
        """Return what is in the pack in a few lines."""
        facts = self.manifest
        shards = f"{count(len(facts.shards))} shard{'s' if len(facts.shards) != 1 else ''}"
        time = "" if self.was_there else f" in {seconds(self.took_s)}"
        verb = "already packed" if self.was_there else "packed"
        lines = [
            f"{verb}: {count(facts.count)} images as {_form(facts)}, {size(facts.bytes)} in "
            f"{shards}{time}: {self.folder}"
        ]
        if self.was_there:
            lines[0] += f" (not compared byte by byte: quickfit pack --verify {self.folder})"
        lines.extend(f"WARNING: {_plain(warning)}" for warning in self.warnings())
        if facts.classes:
            lines.append(f"classes: {_classes(facts)}")
        if facts.rejected:
            rejected = [values for values in self._rejected() if not _is_unknown(values)]
        if facts.rejected and rejected:
            lines.append(
                f"{count(len(rejected))} of {count(facts.count + len(rejected))} images were left "
                f"out: {reasons(rejected)} ({Layout(self.folder).rejected})"
            )
        lines.extend(f"note: {_plain(note)}" for note in self.notes)
        return "\n".join(lines)

    def reading(self) -> str:
        """Return the lines that read the pack, to copy."""
        # Images of many sizes make batches when they are resized.
        size = "" if self.manifest.image_shape else ", size=224"
        return (
            "To train on it:\n"
            f"    dataset = quickfit.data.records({str(self.folder)!r}, batch=32{size})\n\n"
            "Or without quickfit:\n" + _indented(plain_reading(self.folder, self.manifest))
        )


def _is_rejection(values: dict[str, Any]) -> bool:
    is_text = all(isinstance(values.get(name), str) for name in ("path", "reason", "detail"))
    return is_text and values["reason"] in set(Reason)


def _is_unknown(values: dict[str, Any]) -> bool:
    return UNKNOWN_LOSS in values["detail"]


def _form(facts: Manifest) -> str:
    settings = facts.settings
    if facts.form == "jpeg256":
        return f"JPEG, short side at most {settings['size']}, quality {settings['quality']}"
    if facts.form == "raw":
        return f"raw pixels {settings['size']}"
    return "they are"


def _classes(facts: Manifest) -> str:
    pairs = list(zip(facts.classes, facts.class_counts, strict=True))
    some = ", ".join(f"{_plain(name)} {count(number)}" for name, number in pairs[:_MOST_CLASSES])
    more = len(pairs) - _MOST_CLASSES
    return some + (f", and {count(more)} more" if more > 0 else "")


def _plain(name: str) -> str:
    """Return a name that cannot move the cursor or break the encoding of a terminal."""
    return name if name.isprintable() else repr(name)


def plain_reading(folder: Path, facts: Manifest) -> str:
    """Return the TensorFlow code that reads a pack, with its feature spec."""
    types = {"bytes": "tf.string", "int64": "tf.int64"}
    spec = "".join(
        f'    "{name}": tf.io.FixedLenFeature([], {types[kind]}),\n'
        for name, kind in facts.features.items()
    )
    decode = 'tf.io.decode_image(r["image"], 3, expand_animations=False)'
    if facts.image_shape:
        decode = f'tf.reshape(tf.io.decode_raw(r["image"], tf.uint8), {list(facts.image_shape)})'
    pattern = str(folder / "data-*.tfrecord")
    return (
        f"features = {{\n{spec}}}\n"
        f"files = tf.data.Dataset.list_files({pattern!r}, shuffle=False)\n"
        "dataset = tf.data.TFRecordDataset(files)\n"
        "dataset = dataset.map(lambda r: tf.io.parse_single_example(r, features))\n"
        f'dataset = dataset.map(lambda r: ({decode}, r["label"]))'
    )


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines()).rstrip("\n")
