"""What `pack` shows: progress while it runs, and what is in the pack at the end."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from quickfit import terminal
from quickfit.data.entries import Reason, Rejection
from quickfit.data.packing.destination import format_reasons
from quickfit.data.packing.manifest import Manifest, PackLayout, read_json_lines
from quickfit.data.packing.workers import PackProgress
from quickfit.data.sources.listing import UNKNOWN_LOSS, printable_name
from quickfit.errors import PipelineError
from quickfit.units import about, count, seconds, size

if TYPE_CHECKING:
    from rich.progress import TaskID

# Not every second: such lines end up in the log of a batch job.
_LINE_EVERY_S = 5.0
_BAR_EVERY_S = 0.1
# Before that, the start of the workers counts for too much.
_FIRST_GUESS_S = 3.0
_MOST_CLASSES = 8
_MOST_FOLDERS = 3


class ProgressDisplay(Protocol):
    """What is told of the progress."""

    def show(self, done: PackProgress) -> None:
        """Take note of what has been done since the last time."""

    def close(self) -> None:
        """Stop showing it."""


def progress_display(
    stream: TextIO | None, images: int | None, verb: str = "packing"
) -> ProgressDisplay:
    """Return what shows progress on a stream; nothing without one.

    Args:
        stream: where it is shown.
        images: how many there are; None if nobody knows.
        verb: what is being done.
    """
    if stream is None:
        return NoDisplay()
    return (
        ProgressBar(stream, images, verb)
        if stream.isatty()
        else ProgressLines(stream, images, verb)
    )


class NoDisplay:
    """Shows nothing."""

    def show(self, done: PackProgress) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class ProgressTally:
    """How much has been done, how fast, and how long the rest takes."""

    def __init__(self, images: int | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.total = images
        self.done = PackProgress()
        self.clock = clock
        self._start_s = clock()

    def sentence(self) -> str:
        """Return all of it in one line."""
        done = self.done
        of = f" of {count(self.total)}" if self.total is not None else ""
        parts = [f"{count(done.images)}{of} images", size(done.bytes), *self._images_per_s()]
        if done.rejected:
            parts.append(f"{count(done.rejected)} left out")
        return ", ".join(parts)

    def _images_per_s(self) -> list[str]:
        """Return rates and the time to go; images that were in place already count for none."""
        passed_s = self.clock() - self._start_s
        made = self.done.images - self.done.kept
        if passed_s <= 0 or made <= 0:
            return []
        share = made / self.done.images
        rates = [
            f"{made / passed_s:,.0f} images/s",
            f"{size(self.done.bytes * share / passed_s)}/s",
        ]
        if self.total is None or passed_s < _FIRST_GUESS_S:
            return rates
        left_s = (self.total - self.done.images) * passed_s / made
        return [*rates, f"{about(left_s)} to go"]


class ProgressLines:
    """One line every few seconds, for logs."""

    def __init__(
        self,
        stream: TextIO,
        images: int | None,
        verb: str = "packing",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._verb = verb
        self._tally = ProgressTally(images, clock)
        self._next_s = clock() + _LINE_EVERY_S

    def show(self, done: PackProgress) -> None:
        """Count, and print a line when it is time."""
        self._tally.done = self._tally.done.plus(done)
        now_s = self._tally.clock()
        if now_s >= self._next_s:
            self._next_s = now_s + _LINE_EVERY_S
            _print_line(f"{self._verb}: {self._tally.sentence()}", self._stream)

    def close(self) -> None:
        """Do nothing: all lines are out."""


def _print_line(text: str, stream: TextIO) -> None:
    try:
        terminal.write(stream, f"{text}\n")
    except (OSError, ValueError):
        return  # nobody reads it any more (`2>&1 | head`), and the pack goes on


class UnpackingProgress:
    """One line every few seconds while an archive is unpacked."""

    def __init__(self, stream: TextIO | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._next_s = clock() + _LINE_EVERY_S

    def show(self, read_bytes: int, total_bytes: int) -> None:
        """Print a line when it is time."""
        if self._stream is not None and self._clock() >= self._next_s:
            self._next_s = self._clock() + _LINE_EVERY_S
            text = f"unpacking: {size(read_bytes)} of {size(total_bytes)}"
            _print_line(text, self._stream)


class ProgressBar:
    """A bar that goes away when the pack is done."""

    def __init__(self, stream: TextIO, images: int | None, verb: str = "packing") -> None:
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as RichProgress

        self._tally = ProgressTally(images)
        self._next_s = 0.0
        self._bar = RichProgress(
            TextColumn(verb),
            BarColumn(bar_width=24),
            # Never as markup: it is made of numbers only, and stays so.
            TextColumn("{task.description}", markup=False),
            console=terminal.console(stream),
            transient=True,
            auto_refresh=False,
        )
        self._task: TaskID = self._bar.add_task("", total=images)
        self._bar.start()

    def show(self, done: PackProgress) -> None:
        """Count, and draw the bar when it is time."""
        self._tally.done = self._tally.done.plus(done)
        now_s = self._tally.clock()
        if now_s < self._next_s:
            return
        self._next_s = now_s + _BAR_EVERY_S
        images, text = self._tally.done.images, self._tally.sentence()
        self._bar.update(self._task, completed=images, description=text, refresh=True)

    def close(self) -> None:
        """Remove the bar."""
        self._bar.stop()


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
        told = [
            f"{printable_name(one['path'])}: {one['detail']}" for one in lost if one not in folders
        ]
        if folders:
            number = f"{count(len(folders))} folder{'s' if len(folders) > 1 else ''}"
            some = ", ".join(printable_name(one["path"]) for one in folders[:_MOST_FOLDERS])
            more = ", …" if len(folders) > _MOST_FOLDERS else ""
            told.append(f"{number} could not be listed ({some}{more}): {UNKNOWN_LOSS}")
        return told

    def _rejected(self) -> list[dict[str, Any]]:  # whatever JSON holds
        if not self.manifest.rejected:
            return []
        file = PackLayout(self.folder).rejected
        try:
            found = list(read_json_lines(file))
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
            f"{verb}: {count(facts.count)} images as {_format_form(facts)}, {size(facts.bytes)} in "
            f"{shards}{time}: {self.folder}"
        ]
        if self.was_there:
            lines[0] += f" (not compared byte by byte: quickfit pack --verify {self.folder})"
        lines.extend(f"WARNING: {_printable_name(warning)}" for warning in self.warnings())
        if facts.classes:
            lines.append(f"classes: {_format_classes(facts)}")
        if facts.rejected:
            rejected = [values for values in self._rejected() if not _is_unknown(values)]
        if facts.rejected and rejected:
            lines.append(
                f"{count(len(rejected))} of {count(facts.count + len(rejected))} images were left "
                f"out: {format_reasons(rejected)} ({PackLayout(self.folder).rejected})"
            )
        lines.extend(f"note: {_printable_name(note)}" for note in self.notes)
        return "\n".join(lines)

    def reading(self) -> str:
        """Return the lines that read the pack, to copy."""
        # Images of many sizes make batches when they are resized.
        size = "" if self.manifest.image_shape else ", size=224"
        return (
            "To train on it:\n"
            f"    dataset = quickfit.data.records({str(self.folder)!r}, batch=32{size})\n\n"
            "Or without quickfit:\n"
            + textwrap.indent(plain_tensorflow_code(self.folder, self.manifest), "    ").rstrip(
                "\n"
            )
        )


def _is_rejection(values: dict[str, Any]) -> bool:
    is_text = all(isinstance(values.get(name), str) for name in ("path", "reason", "detail"))
    return is_text and values["reason"] in set(Reason)


def _is_unknown(values: dict[str, Any]) -> bool:
    return UNKNOWN_LOSS in values["detail"]


def _format_form(facts: Manifest) -> str:
    settings = facts.settings
    if facts.form == "jpeg256":
        return f"JPEG, short side at most {settings['size']}, quality {settings['quality']}"
    if facts.form == "raw":
        return f"raw pixels {settings['size']}"
    return "they are"


def _format_classes(facts: Manifest) -> str:
    pairs = list(zip(facts.classes, facts.class_counts, strict=True))
    some = ", ".join(
        f"{_printable_name(name)} {count(number)}" for name, number in pairs[:_MOST_CLASSES]
    )
    more = len(pairs) - _MOST_CLASSES
    return some + (f", and {count(more)} more" if more > 0 else "")


def _printable_name(name: str) -> str:
    """Return a name that cannot move the cursor or break the encoding of a terminal."""
    return name if name.isprintable() else repr(name)


def plain_tensorflow_code(folder: Path, facts: Manifest) -> str:
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
