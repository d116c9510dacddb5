"""Loaders of torch and Grain, and the native limit: what two threads of C code can do."""

from __future__ import annotations

import queue
import random
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from data.outputs import BATCH, SIDE, pil
from data.photos import photos


class Files:
    """All photographs by number, as torch and Grain want them.

    Args:
        folder: of the photographs.
        decoder: "pil", "cv2" or "simplejpeg" (with cv2 for the size).
    """

    def __init__(self, folder: Path, decoder: str) -> None:
        taken = photos(folder)
        self._files, self._labels = [str(file) for file in taken.files], taken.labels()
        self._load: Callable[[str], np.ndarray] = {
            "pil": lambda file: pil(Path(file)),
            "cv2": cv2_load,
            "simplejpeg": simplejpeg_load,
        }[decoder]

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, number: int) -> tuple[np.ndarray, int]:
        return self._load(self._files[number]), self._labels[number]


def cv2_load(file: str) -> np.ndarray:
    """Decode and shrink with OpenCV."""
    import cv2

    cv2.setNumThreads(1)
    image = cv2.cvtColor(cv2.imread(file), cv2.COLOR_BGR2RGB)
    return cv2.resize(image, (SIDE, SIDE), interpolation=cv2.INTER_LINEAR)


def simplejpeg_load(file: str) -> np.ndarray:
    """Decode with libjpeg-turbo at its fastest, in the smallest size that is large enough."""
    import cv2
    import simplejpeg

    cv2.setNumThreads(1)
    with open(file, "rb") as opened:
        content = opened.read()
    image = simplejpeg.decode_jpeg(
        content, fastdct=True, fastupsample=True, min_height=SIDE, min_width=SIDE, min_factor=1
    )
    return cv2.resize(image, (SIDE, SIDE), interpolation=cv2.INTER_LINEAR)


def torch_loader(folder: Path, *, decoder: str) -> Iterable[Any]:
    """A `torch.utils.data.DataLoader` with two worker processes."""
    from torch.utils.data import DataLoader

    return DataLoader(
        Files(folder, decoder),  # type: ignore[arg-type]
        batch_size=BATCH,
        shuffle=True,
        num_workers=2,
        persistent_workers=True,
        prefetch_factor=4,
    )


def grain_threads(folder: Path, *, decoder: str) -> Iterable[Any]:
    """Grain with two threads."""
    import grain

    ds = grain.MapDataset.source(Files(folder, decoder)).seed(0).shuffle().repeat()
    reading = grain.ReadOptions(num_threads=2, prefetch_buffer_size=4 * BATCH)
    return ds.to_iter_dataset(reading).batch(BATCH)


def grain_processes(folder: Path, *, decoder: str) -> Iterable[Any]:
    """Grain with two worker processes."""
    import grain
    from absl import flags

    flags.FLAGS(["benchmark"])  # its workers take the flags of the program, parsed
    source = _PickledFiles(folder, decoder)
    # Repeated here: workers are started anew with each iteration.
    ds = grain.MapDataset.source(source).seed(0).shuffle().repeat().batch(BATCH)
    reading = grain.ReadOptions(num_threads=1, prefetch_buffer_size=2)
    working = grain.MultiprocessingOptions(num_workers=2, per_worker_buffer_size=4)
    return ds.to_iter_dataset(reading).mp_prefetch(working)


class _PickledFiles(Files):
    """Files that can be sent to another process."""

    def __init__(self, folder: Path, decoder: str) -> None:
        super().__init__(folder, decoder)
        self._made_of = (folder, decoder)

    def __reduce__(self) -> tuple[type[_PickledFiles], tuple[Path, str]]:
        return _PickledFiles, self._made_of


def native_limit(folder: Path, *, decoder: str) -> Iterable[Any]:
    """Two threads that do nothing but decode and shrink into batches made beforehand."""
    return _Threads(Files(folder, decoder))


class _Threads:
    """Batches made by two threads in the background, four of them ahead."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._pool = ThreadPoolExecutor(2)

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        made: queue.Queue[Any] = queue.Queue(4)
        order = random.sample(range(len(self._files)), len(self._files))
        parts = [order[begin : begin + BATCH] for begin in range(0, len(order), BATCH)]

        def feed() -> None:
            for part in parts:
                made.put(self._pool.submit(self._batch, part))
            made.put(None)

        threading.Thread(target=feed, daemon=True).start()
        while (future := made.get()) is not None:
            yield future.result()

    def _batch(self, part: list[int]) -> tuple[np.ndarray, np.ndarray]:
        images = np.empty((len(part), SIDE, SIDE, 3), np.uint8)
        labels = np.empty(len(part), np.int64)
        for row, number in enumerate(part):
            images[row], labels[row] = self._files[number]
        return images, labels
