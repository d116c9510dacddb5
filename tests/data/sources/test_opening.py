import os
from pathlib import Path

import numpy as np
import pytest

from quickfit.data import sources


@pytest.fixture
def photos(tmp_path):
    (tmp_path / "cat").mkdir()
    (tmp_path / "cat" / "1.jpg").write_bytes(b"x")
    (tmp_path / "list.txt").write_text("cat/1.jpg\n")
    (tmp_path / "table.csv").write_text("path\ncat/1.jpg\n")
    return tmp_path


@pytest.mark.parametrize("spelled", [str, Path, os.fsencode])
@pytest.mark.parametrize(
    ("name", "kind"), [("", "folder"), ("list.txt", "list"), ("table.csv", "table")]
)
def test_takes_a_path_in_every_spelling(photos, spelled, name, kind):
    source = sources.open(spelled(photos / name))
    assert source.kind == kind
    assert [entry.name for entry in source.entries] == ["cat/1.jpg"]


class Tensor:
    """Has its values as tensors of TensorFlow do."""

    def __init__(self, values):
        self._values = np.array(values)

    def numpy(self):
        return self._values


def test_takes_tensors_of_paths_and_labels(photos):
    path = os.fsencode(photos / "cat" / "1.jpg")
    source = sources.open(Tensor([path, path]), labels=Tensor([b"owl", b"cat"]))
    assert [source.classes[entry.label] for entry in source.entries] == ["owl", "cat"]


def test_takes_any_iterable_of_paths(photos):
    assert len(sources.open(photos.glob("cat/*.jpg")).entries) == 1
    assert len(sources.open((photos / "cat" / "1.jpg",)).entries) == 1
