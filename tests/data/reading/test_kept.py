"""Decoded images that are kept for later epochs."""

import errno

import numpy as np
import pytest

from quickfit.data.reading.kept import Kept
from quickfit.data.reading.shelves import Disk, Memory

SHAPE = (2, 3, 3)
OWN = np.array([1, 4, 5, 9, 12])


class Reader:
    """Gives images full of their position; counts what it is asked for."""

    def __init__(self, bad=()):
        self.asked = []
        self.bad = bad

    def read(self, positions):
        self.asked.extend(positions.tolist())
        used = np.array([p for p in positions.tolist() if p not in self.bad], np.int64)
        return np.stack([np.full(SHAPE, p, np.uint8) for p in used]), used


@pytest.mark.parametrize("shelf", ["memory", "disk"])
def test_an_image_is_read_once(tmp_path, shelf):
    room = Memory(len(OWN), SHAPE) if shelf == "memory" else Disk(str(tmp_path), SHAPE)
    reader = Reader()
    kept = Kept(reader, room, OWN)
    for wanted in (OWN, OWN[::-1].copy(), OWN[[1, 3]]):
        images, used = kept.read(wanted)
        assert used.tolist() == wanted.tolist()
        assert images[:, 0, 0, 0].tolist() == wanted.tolist()
    assert reader.asked == OWN.tolist()


def test_what_cannot_be_used_is_asked_for_again_and_never_given():
    reader = Reader(bad=(5,))
    kept = Kept(reader, Memory(len(OWN), SHAPE), OWN)
    for _ in range(2):
        images, used = kept.read(OWN)
        assert used.tolist() == [1, 4, 9, 12]
        assert images[:, 0, 0, 0].tolist() == [1, 4, 9, 12]


def test_a_full_disk_ends_the_cache_and_nothing_else(capsys):
    class Full:
        def write(self, indices, images):
            raise OSError(errno.ENOSPC, "No space left on device")

    kept = Kept(Reader(), Full(), OWN)
    for _ in range(2):
        assert kept.read(OWN)[1].tolist() == OWN.tolist()
    told = capsys.readouterr().err
    assert told.count("no more images are cached: No space left on device") == 1
