import errno
import os
import pickle
import resource
import threading

import pytest

from quickfit.data.entries import Entry, Reason, SourceImageError
from quickfit.data.sources.readers import Archive, FileReader, failure
from quickfit.errors import PipelineError


def entry(path):
    return Entry("x.jpg", 0, 5, str(path))


def refusal(path):
    with pytest.raises(SourceImageError) as raised:
        FileReader().read(entry(path))
    return raised.value.reason, raised.value.detail


def test_reads_a_file_as_it_is(tmp_path):
    (tmp_path / "x.jpg").write_bytes(b"12345")
    assert FileReader().read(entry(tmp_path / "x.jpg")) == b"12345"


def test_tells_what_keeps_a_file_from_being_read(tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "dangling").symlink_to("nowhere")
    assert refusal(tmp_path / "gone") == (Reason.VANISHED, "it is no longer there")
    assert refusal(tmp_path / "file" / "below") == (Reason.VANISHED, "it is no longer there")
    os.mkfifo(tmp_path / "pipe")
    with open(tmp_path / "sparse", "wb") as sparse:
        sparse.truncate(3_000_000_000)
    assert refusal(tmp_path) == (Reason.UNREADABLE, "it is a folder, not a file")
    assert refusal(tmp_path / "pipe") == (Reason.UNREADABLE, "it is a pipe, not a file")
    assert refusal("/dev/zero") == (Reason.UNREADABLE, "it is a device, not a file")
    assert refusal(tmp_path / "sparse") == (Reason.TOO_LARGE, "it has 3.0 GB")
    assert refusal(tmp_path / "loop")[0] == Reason.LINK_LOOP
    reason, detail = refusal(tmp_path / "dangling")
    assert (reason, detail) == (Reason.VANISHED, "it is a link to nowhere, which does not exist")
    assert refusal("a\x00b")[0] == Reason.BAD_NAME


def test_rejects_no_image_for_a_limit_of_the_machine(tmp_path):
    (tmp_path / "x.jpg").write_bytes(b"12345")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        with pytest.raises(PipelineError, match="limit of the machine") as raised:
            FileReader().read(entry(tmp_path / "x.jpg"))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert "ulimit -n" in str(raised.value)


def test_names_other_troubles_as_the_system_does():
    error = failure(OSError(errno.EIO, os.strerror(errno.EIO)), "x")
    assert (error.reason, error.detail) == (Reason.UNREADABLE, "Input/output error")


def test_reads_pieces_of_an_archive_in_many_threads(tmp_path):
    path = tmp_path / "x.tar"
    path.write_bytes(bytes(range(256)) * 40)
    archive = Archive()
    wrong = []

    def read():
        places = range(0, 10_000, 7)
        pieces = [archive.piece(str(path), at, 5) for at in places]
        wrong.extend(
            at for at, piece in zip(places, pieces, strict=True) if piece != content[at : at + 5]
        )

    content = path.read_bytes()
    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert archive.piece(str(path), 10_238, 100) == content[-2:]
    assert archive.size(str(path)) == 10_240


def test_an_archive_is_opened_again_where_it_is_sent(tmp_path):
    path = tmp_path / "x.tar"
    path.write_bytes(b"12345")
    archive = Archive()
    archive.piece(str(path), 0, 1)
    assert pickle.loads(pickle.dumps(archive)).piece(str(path), 1, 2) == b"23"


def test_tells_of_an_archive_that_is_gone(tmp_path):
    with pytest.raises(SourceImageError, match="no longer there"):
        Archive().piece(str(tmp_path / "gone"), 0, 1)
    with pytest.raises(SourceImageError, match="no longer there"):
        Archive().size(str(tmp_path / "gone"))
