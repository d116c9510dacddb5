"""The files of a run: those that are as they were, and those that are not."""

import hashlib
from pathlib import Path

from quickfit.fixing.sources import sources_of
from quickfit.recording.reader import ProcessRecording, Recording


def row(path, data=None):
    data = path.read_bytes() if data is None else data
    return {"file": str(path), "sha256": hashlib.sha256(data).hexdigest(), "text": ""}


def recording(rows, *others):
    processes = [ProcessRecording(Path("1"), {}, {"sources": r}) for r in (rows, *others)]
    return Recording(Path("run"), {}, processes[0], processes[1:], [])


def test_files_that_are_as_they_were_are_found_with_their_text(tmp_path):
    path = tmp_path / "train.py"
    path.write_bytes(b"a = 1\r\n")
    found = sources_of(recording([row(path)]))
    assert found.texts == {str(path): "a = 1\r\n"}
    assert found.changed == ()


def test_a_file_that_changed_is_set_apart(tmp_path):
    path = tmp_path / "train.py"
    path.write_bytes(b"a = 1\n")
    found = sources_of(recording([row(path, b"a = 0\n")]))
    assert (found.files, found.changed) == ({}, (str(path),))


def test_a_file_that_is_gone_or_no_text_is_set_apart(tmp_path):
    gone, binary = tmp_path / "gone.py", tmp_path / "x.py"
    binary.write_bytes(b"\xff\xff")
    found = sources_of(recording([row(gone, b""), row(binary)]))
    assert set(found.changed) == {str(gone), str(binary)}


def test_what_has_no_file_is_left_out(tmp_path):
    rows = [{"file": "<ipython-input-3>", "sha256": "", "text": "a = 1"}]
    found = sources_of(recording(rows))
    assert (found.files, found.changed) == ({}, ())


def test_files_of_all_processes_are_found_once(tmp_path):
    one, two = tmp_path / "a.py", tmp_path / "b.py"
    one.write_text("a = 1\n")
    two.write_text("b = 1\n")
    found = sources_of(recording([row(one)], [row(one), row(two)]))
    assert list(found.files) == [str(one), str(two)]
    changed = sources_of(recording([row(one, b"x")], [row(one, b"x")])).changed
    assert changed == (str(one),)
