"""Finds the images that could not be decoded, and names them: as an error, or as a list."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Sequence

import numpy as np

from quickfit import terminal
from quickfit.data import pixels
from quickfit.data.entries import Entry, Reason, Rejection, Source, SourceImageError
from quickfit.data.imaging._graph import Dataset, Tensor, in_python, plain
from quickfit.data.imaging.order import Epochs, Indices
from quickfit.errors import PipelineError

# As many names as fit on a screen beside the rest.
_SHOWN = 10
_NOTHING = np.int64(0)


class Faults:
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
        self.rejections = list(listed)
        self._files = len(entries) + len(listed)
        self.skips = skips
        self._source = source
        self._entries = entries
        self._load = load
        self._left_out: set[int] = set()
        self._told = 0
        self._lock = threading.Lock()

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
                raise PipelineError(self._error(lost))
            for index in lost:
                self._leave_out(index)
            if is_end and self.skips:
                self._tell()
        return _NOTHING

    def check(self, index: int) -> None:
        """Look at a file without decoding it.

        Raises:
            PipelineError: it cannot be used.
        """
        entry = self._entries[index]
        try:
            pixels.look(self._source.read(entry))
        except SourceImageError as error:
            rejection = Rejection(entry.name, error.reason, error.detail)
            raise PipelineError(self._named(index, rejection)) from None

    def _error(self, lost: list[int]) -> str:
        """Return the message for a batch that is missing; one bad file is enough for that."""
        for reason_of in (self._refused_by_pixels, self._refused_by_tensorflow):
            for index in lost:
                rejection = reason_of(self._entries[index])
                if rejection is not None:
                    return self._named(index, rejection)
        return self._unsteady(self._entries[lost[0]])

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

        graph: Callable[[Tensor], Tensor] = tf.function(plain(self._load))
        return graph

    def _named(self, index: int, rejection: Rejection) -> str:
        return (
            f"{line(rejection)}.\n"
            f"The file is {printable(self._entries[index].file)}. "
            'Repair or remove it, or leave such files out: images(..., on_bad="skip")'
        )

    def _unsteady(self, entry: Entry) -> str:
        return (
            f"{printable(entry.name)}, or an image of the same batch, could not be read when its "
            "turn came, and can be read now: the storage or the memory of this machine is not "
            "reliable at the moment. Run it again once that is solved, or go on without such "
            'images: images(..., on_bad="skip")'
        )

    def _tell(self) -> None:
        """Say once what is left out; raise if nothing is left."""
        total = len(self._entries)
        if len(self._left_out) == total:
            raise PipelineError(
                f"none of the {total:,} images can be used; the first is\n"
                f"  {line(self.rejections[0])}\nLook at that file with an image viewer."
            )
        if len(self.rejections) > self._told:
            self._told = len(self.rejections)
            terminal.write(sys.stderr, f"{self.summary()}\n")

    def summary(self) -> str:
        """Return the list of what is left out, for people."""
        shown = [f"  {line(rejection)}" for rejection in self.rejections[:_SHOWN]]
        if len(self.rejections) > _SHOWN:
            shown.append(f"  and {len(self.rejections) - _SHOWN:,} more")
        first = f"quickfit: left out {len(self.rejections):,} of {self._files:,} files"
        return "\n".join([f"{first} (all of them: `bad_files` of the dataset):", *shown])


def line(rejection: Rejection) -> str:
    """Return a rejection in one line: name, reason and detail."""
    return f"{printable(rejection.name)}: {rejection.reason.value}: {rejection.detail}"


def printable(name: str) -> str:
    """Return a file name so that every terminal can show it, on one line."""
    shown = name.encode("utf-8", "backslashreplace").decode()
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in shown)


def without_faults(batches: Dataset, faults: Faults, epochs: Epochs, count: int) -> Dataset:
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

    @plain
    def checked(state: Tensor, batch: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        places, images = batch
        positions, last = places[:, 0], places[-1, 0]
        expected, epoch = state[0], tf.maximum(state[1], places[0, 1])
        is_whole = last - expected + 1 == tf.size(positions, tf.int64)
        looked = tf.cond(
            is_whole & (last < count),
            lambda: tf.constant(0, tf.int64),
            lambda: in_python(look, [positions, expected, epoch], tf.int64, ()),
        )
        return tf.stack([last + 1, epoch]), (places[:, 2] + looked, images)

    start = tf.constant([0, 0], tf.int64)
    looked_through = batches.concatenate(_end_like(batches, count)).scan(start, checked)
    return looked_through.filter(plain(lambda _indices, images: tf.shape(images)[0] > 0))


def _end_like(batches: Dataset, count: int) -> Dataset:
    """Return a batch without images, so that what is missing at the very end is seen."""
    import tensorflow as tf

    _, images = batches.element_spec
    places = tf.constant([[count, -1, -1]], tf.int64)
    empty = tf.zeros((0, *images.shape[1:]), images.dtype)
    return tf.data.Dataset.from_tensors((places, empty))
