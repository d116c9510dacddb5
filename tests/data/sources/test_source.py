import pickle
import subprocess
import sys
import zipfile

import pytest

from quickfit.data import sources
from quickfit.data.entries import Reason, Rejection
from quickfit.data.sources.source import in_order


@pytest.fixture
def folder(tmp_path):
    for number in range(200):
        (tmp_path / f"{number:03d}.jpg").write_bytes(b"content")
    return tmp_path


def test_can_be_sent_to_another_process_whole_or_as_a_small_reader(folder):
    source = sources.open(folder)
    again = pickle.loads(pickle.dumps(source))
    assert again.entries == source.entries
    assert again.read(again.entries[5]) == b"content"
    assert len(pickle.dumps(source.reader())) < 200
    assert source.reader().read(source.entries[7]) == b"content"


def test_an_archive_can_be_read_in_another_process(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("a.jpg", b"content")
    source = sources.open(tmp_path / "x.zip")
    source.read(source.entries[0])
    sent = pickle.dumps((source.reader(), source.entries[0]))
    code = "import pickle, sys; r, e = pickle.load(sys.stdin.buffer); print(r.read(e).decode())"
    done = subprocess.run([sys.executable, "-c", code], input=sent, capture_output=True, check=True)
    assert done.stdout == b"content\n"


def test_says_in_a_line_what_it_is(folder):
    (folder / "empty.jpg").write_bytes(b"")
    assert repr(sources.open(folder)) == f"<folder {folder}: 200 images, 1 left out>"


def test_rejections_are_in_the_order_of_their_names():
    items = [Rejection(name, Reason.EMPTY, "") for name in ("b", "a\udce9", "a")]
    assert [item.name for item in in_order(items)] == ["a", "a\udce9", "b"]


def test_importing_sources_loads_nothing_heavy():
    code = "import sys, quickfit.data.sources; print(sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    for heavy in ("tensorflow", "numpy", "PIL", "pandas"):
        assert f"'{heavy}'" not in loaded
