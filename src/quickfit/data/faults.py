"""Images and records that cannot be used: an error that names the first, or a list of them."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from quickfit import terminal
from quickfit.data import pixels
from quickfit.data.entries import Entry, Reason, Rejection, Source, SourceImageError, escape_name
from quickfit.data.epoch_order import EpochOrder, Indices
from quickfit.data.graph import (
    Dataset,
    Tensor,
    tensor_from_python,
    without_autograph,
)
from quickfit.data.options import PipelineOptions
from quickfit.errors import PipelineError

# As many names as fit on a screen beside the rest.
_MOST_SHOWN = 10
_NOTHING = np.int64(0)


class FaultList:
    """What of a dataset cannot be used.

    Args:
        skips: whether it is left out; otherwise the first one is an error.
        listed: what listing has left out before.
    """

    def __init__(self, *, skips: bool, listed: Sequence[Rejection] = ()) -> None:
        self.skips = skips
        self.rejections = list(listed)
        self._lock = threading.Lock()

    def _nothing_left(self, count: int, what: str, remedy: str = "") -> PipelineError:
        """Return the error of a pass that left out everything; count 0: not known."""
        of_how_many = f"{count:,} " if count else ""
        first = (
            f"; the first is\n  {format_rejection(self.rejections[0])}" if self.rejections else ""
        )
        return PipelineError(f"none of the {of_how_many}{what} can be used{first}{remedy}")


class ImageFaults(FaultList):
    """The images of one dataset that cannot be used.

    Args:
        source: reads them.
        entries: the images, by index.
        skips: whether they are left out; otherwise the first one is an error.
        load: what the pipeline does with the content of a file.
        listed: what listing has left out before.
    """

    def __init__(
        self,
        source: Source,
        entries: Sequence[Entry],
        *,
        skips: bool,
        load: Callable[[Tensor], Tensor],
        listed: Sequence[Rejection] = (),
    ) -> None:
        super().__init__(skips=skips, listed=listed)
        self._files = len(entries) + len(listed)
        self._source = source
        self._entries = entries
        self._load = load
        self._left_out: set[int] = set()
        self._told = 0

    @property
    def left_out(self) -> frozenset[int]:
        """The indices that are not used."""
        return frozenset(self._left_out)

    def look(self, indices: Indices, *, is_end: bool) -> np.int64:
        """Find out why these images did not arrive; `is_end`: the epoch is over.

        Raises:
            PipelineError: naming the first of them, unless they are to be left out.
        """
        lost = sorted(indices.tolist())
        with self._lock:
            if lost and not self.skips:
                raise PipelineError(self._error_text(lost))
            for index in lost:
                self._leave_out(index)
            if is_end and self.skips:
                self._say_summary()
        return _NOTHING

    def check(self, index: int) -> None:
        """Look at a file without decoding it.

        Raises:
            PipelineError: it cannot be used.
        """
        entry = self._entries[index]
        try:
            pixels.read_header(self._source.read(entry))
        except SourceImageError as error:
            rejection = Rejection(entry.name, error.reason, error.detail)
            raise PipelineError(self._named_error(index, rejection)) from None

    def _error_text(self, lost: list[int]) -> str:
        """Return the message for a batch that is missing; one bad file is enough for that."""
        for reason_of in (self._refused_by_pixels, self._refused_by_tensorflow):
            for index in lost:
                rejection = reason_of(self._entries[index])
                if rejection is not None:
                    return self._named_error(index, rejection)
        return self._unsteady_error(self._entries[lost[0]])

    def _leave_out(self, index: int) -> None:
        if index in self._left_out:
            return
        entry = self._entries[index]
        detail = "could not be read when its turn came, and can be read now"
        rejection = self._refused_by_pixels(entry) or self._refused_by_tensorflow(entry)
        self._left_out.add(index)
        self.rejections.append(rejection or Rejection(entry.name, Reason.UNREADABLE, detail))

    def _refused_by_pixels(self, entry: Entry) -> Rejection | None:
        try:
            pixels.decode(self._source.read(entry))
        except SourceImageError as error:
            return Rejection(entry.name, error.reason, error.detail)
        return None

    def _refused_by_tensorflow(self, entry: Entry) -> Rejection | None:
        import tensorflow as tf

        try:
            self._load_once(tf.constant(self._source.read(entry)))
        except (tf.errors.OpError, SourceImageError) as error:
            told = str(getattr(error, "message", error)).splitlines() or [""]
            detail = f"TensorFlow cannot decode it: {told[0]}"
            return Rejection(entry.name, Reason.CORRUPT, detail)
        return None

    @functools.cached_property
    def _load_once(self) -> Callable[[Tensor], Tensor]:
        """Loads one image outside of the pipeline, as a graph, which is how the pipeline does."""
        import tensorflow as tf

        graph: Callable[[Tensor], Tensor] = tf.function(without_autograph(self._load))
        return graph

    def _named_error(self, index: int, rejection: Rejection) -> str:
        return (
            f"{format_rejection(rejection)}.\n"
            f"The file is {escape_name(self._entries[index].file)}. "
            'Repair or remove it, or leave such files out: images(..., on_bad="skip")'
        )

    def _unsteady_error(self, entry: Entry) -> str:
        return (
            f"{escape_name(entry.name)}, or an image of the same batch, could not be read "
            "when its "
            "turn came, and can be read now: the storage or the memory of this machine is not "
            "reliable at the moment. Run it again once that is solved, or go on without such "
            'images: images(..., on_bad="skip")'
        )

    def _say_summary(self) -> None:
        """Say once what is left out; raise if nothing is left."""
        total = len(self._entries)
        if len(self._left_out) == total:
            raise self._nothing_left(total, "images", "\nLook at that file with an image viewer.")
        if len(self.rejections) > self._told:
            self._told = len(self.rejections)
            terminal.write(sys.stderr, f"{self.summary()}\n")

    def summary(self) -> str:
        """Return the list of what is left out, for people."""
        shown = [f"  {format_rejection(rejection)}" for rejection in self.rejections[:_MOST_SHOWN]]
        if len(self.rejections) > _MOST_SHOWN:
            shown.append(f"  and {len(self.rejections) - _MOST_SHOWN:,} more")
        first = f"quickfit: left out {len(self.rejections):,} of {self._files:,} files"
        return "\n".join([f"{first} (all of them: `bad_files` of the dataset):", *shown])


def format_rejection(rejection: Rejection) -> str:
    """Return a rejection in one line: name, reason and detail."""
    return f"{escape_name(rejection.name)}: {rejection.reason.value}: {rejection.detail}"


def drop_faulty_images(
    batches: Dataset, faults: ImageFaults, epochs: EpochOrder, count: int
) -> Dataset:
    """Return batches of `(index, image)` in which nothing is missing unnoticed.

    Positions grow by one from image to image, so that a gap tells what got lost before.

    Args:
        batches: of `([position, epoch, index], image)`, in the order of the positions; images
            or whole batches that failed are missing.
        faults: looks at what is missing.
        epochs: the order that the positions are in.
        count: of the images of an epoch.
    """
    import tensorflow as tf

    def look(arrived: Indices, expected: np.int64, epoch: np.int64) -> np.int64:
        missing = np.setdiff1d(np.arange(expected, arrived[-1]), arrived)
        order = epochs.order(int(epoch), count)
        return faults.look(order[missing], is_end=int(arrived[-1]) == count)

    @without_autograph
    def checked(state: Tensor, batch: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        places, images = batch
        positions, last = places[:, 0], places[-1, 0]
        expected, epoch = state[0], tf.maximum(state[1], places[0, 1])
        is_whole = last - expected + 1 == tf.size(positions, tf.int64)
        looked = tf.cond(
            is_whole & (last < count),
            lambda: tf.constant(0, tf.int64),
            lambda: tensor_from_python(look, [positions, expected, epoch], tf.int64, ()),
        )
        return tf.stack([last + 1, epoch]), (places[:, 2] + looked, images)

    start = tf.constant([0, 0], tf.int64)
    looked_through = batches.concatenate(_empty_end_batch(batches, count)).scan(start, checked)
    return looked_through.filter(
        without_autograph(lambda _indices, images: tf.shape(images)[0] > 0)
    )


def _empty_end_batch(batches: Dataset, count: int) -> Dataset:
    """Return a batch without images, so that what is missing at the very end is seen."""
    import tensorflow as tf

    _, images = batches.element_spec
    places = tf.constant([[count, -1, -1]], tf.int64)
    empty = tf.zeros((0, *images.shape[1:]), images.dtype)
    return tf.data.Dataset.from_tensors((places, empty))


class RecordFaults(FaultList):
    """The records that were found damaged."""

    def __init__(self, *, skips: bool) -> None:
        super().__init__(skips=skips)
        self._places: set[str] = set()

    def note(self, place: str, error: SourceImageError, advice: str) -> None:
        """Take note of a record; once, although every epoch finds it again.

        Args:
            place: which record, in words.
            error: what is wrong with it.
            advice: what to do, in one line, beside leaving it out.

        Raises:
            PipelineError: records are not to be left out.
        """
        if not self.skips:
            raise PipelineError(
                f"{escape_name(place)}: {error.reason.value}: {error.detail}.\n{advice}\n"
                'To leave out what is damaged: records(..., on_bad="skip")'
            ) from None
        with self._lock:
            if place not in self._places:
                self._places.add(place)
                self.rejections.append(Rejection(place, error.reason, error.detail))
                self._say_last()

    def nothing_left(self, count: int) -> np.int64:
        """End a pass that left out everything.

        Raises:
            PipelineError: always, naming the first record.
        """
        raise self._nothing_left(count, "records")

    def _say_last(self) -> None:
        count = len(self.rejections)
        if count <= _MOST_SHOWN:
            terminal.say(f"left out: {format_rejection(self.rejections[-1])}")
        if count == _MOST_SHOWN:
            terminal.say("no more of them are shown: see `bad_records` of the dataset")


def without_gaps(
    batches: Dataset, options: PipelineOptions, faults: RecordFaults, count: int
) -> Dataset:
    """Return batches that lost some of their records, without those that lost all.

    They are not filled up, so that their number stays as it is told; only where every batch must
    be full, they are.

    Args:
        batches: what is left of each.
        options: what the user asked for.
        faults: raises the error at the end of a pass that lost all records.
        count: of the records of a pass.
    """
    import tensorflow as tf

    batches = _require_some(batches, faults, count)
    if options.drop_remainder:
        return batches.rebatch(options.batch, drop_remainder=True)

    @without_autograph
    def has_any(*parts: object) -> object:
        return tf.shape(tf.nest.flatten(parts)[0])[0] > 0

    return batches.filter(has_any)


def _require_some(batches: Dataset, faults: RecordFaults, count: int) -> Dataset:
    """Return the batches and an empty one; where all are empty, that is an error."""
    import tensorflow as tf

    def empty(spec: Any) -> Tensor:  # a tf.TensorSpec
        return tf.zeros((0, *spec.shape[1:]), spec.dtype)

    @without_autograph
    def counted(total: Tensor, element: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        parts, is_end = element
        total += tf.shape(tf.nest.flatten(parts)[0], tf.int64)[0]
        looked = tf.cond(
            is_end & (total == 0),
            lambda: tensor_from_python(lambda: faults.nothing_left(count), [], tf.int64, ()),
            lambda: tf.constant(0, tf.int64),
        )
        return total + looked, parts

    end = tf.data.Dataset.from_tensors(tf.nest.map_structure(empty, batches.element_spec))
    marks = [tf.data.Dataset.from_tensors(is_end).repeat() for is_end in (False, True)]
    zipped = [tf.data.Dataset.zip(pair) for pair in zip((batches, end), marks, strict=True)]
    return zipped[0].concatenate(zipped[1]).scan(tf.constant(0, tf.int64), counted)
