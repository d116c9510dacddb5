import os
from pathlib import Path

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


def test_takes_any_iterable_of_paths(photos):
    assert len(sources.open(photos.glob("cat/*.jpg")).entries) == 1
    assert len(sources.open((photos / "cat" / "1.jpg",)).entries) == 1
