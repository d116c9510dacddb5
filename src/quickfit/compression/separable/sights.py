"""What a convolution and the halves in its place see of the calibration data, and should make."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from quickfit.compression.separable.windows import output_sizes, windows

# Neighbouring places of an image say nearly the same: more of them cost time and change nothing.
PLACES = 16384
# So many bytes of windows are in memory at a time.
CHUNK_BYTES = 1 << 26

Array = npt.NDArray[np.float64]


class Sights:
    """Inputs of one convolution in the old model and of its halves in the new one.

    Args:
        layer: the convolution.
        draw: picks the places of images to look at, where there are too many.
    """

    def __init__(self, layer: Any, draw: np.random.Generator) -> None:
        self._layer = layer
        self._draw = draw
        self._kernel = np.asarray(layer.kernel, np.float32)
        self._batches: list[tuple[Any, Any, Any]] = []

    def add(self, ours: Sequence[Any], theirs: Sequence[Any]) -> None:
        """Add what one call reads for all samples, batch by batch: new model, old model."""
        height, width = output_sizes(self._layer, ours[0].shape)
        ends = np.cumsum([len(batch) * height * width for batch in ours])
        places = self._picked(int(ends[-1]))
        parts = np.split(places, np.searchsorted(places, ends[:-1]))
        begins = [0, *ends[:-1]]
        for our, their, part, begin in zip(ours, theirs, parts, begins, strict=True):
            self._batches.append((our, their, part - begin))

    def chunks(self) -> Iterator[tuple[Array, Any]]:
        """Yield what the halves see, (rows, taps, channels), and what shall come out of them.

        That is what the convolution makes of what it sees itself, bias and activation left out.
        """
        flat = self._kernel.reshape(-1, self._kernel.shape[-1])
        step = max(64, CHUNK_BYTES // (8 * len(flat)))
        for ours, theirs, places in self._batches:
            for start in range(0, len(places), step):
                some = places[start : start + step]
                seen = windows(self._layer, theirs, some).astype(np.float32)
                targets = seen.reshape(len(some), -1) @ flat
                yield windows(self._layer, ours, some).astype(np.float64), targets

    def _picked(self, total: int) -> Any:
        if total <= PLACES:
            return np.arange(total)
        return np.sort(self._draw.choice(total, size=PLACES, replace=False))
