"""A file that a thread writes has every byte, its size and its checksum, or says why not."""

import errno
import resource

import pytest

from quickfit.data.packing.shards import BackgroundFile


def written(file, parts):
    behind = BackgroundFile(file)
    for part in parts:
        behind.write(part[:1], part[1:])
    behind.close()
    return behind


@pytest.mark.parametrize(
    "sizes",
    [
        pytest.param([], id="nothing"),
        pytest.param([1, 2, 3], id="a few bytes"),
        pytest.param([10] * 1000, id="many small ones"),
        pytest.param([400_000] * 9 + [7], id="more than wait at a time"),
    ],
)
def test_has_all_bytes_in_their_order(tmp_path, sizes):
    parts = [bytes([number % 251]) * size for number, size in enumerate(sizes)]
    behind = written(tmp_path / "file", parts)
    from crc32c import crc32c

    content = b"".join(parts)
    assert (tmp_path / "file").read_bytes() == content
    assert (behind.size, behind.crc32c) == (len(content), crc32c(content))


def test_is_removed_with_what_was_not_written_yet(tmp_path):
    behind = BackgroundFile(tmp_path / "file")
    behind.write(b"x" * 3_000_000)
    behind.remove()
    behind.remove()
    assert not (tmp_path / "file").exists()


def fill(behind):
    for _ in range(9):
        behind.write(b"x" * 1_000_000)
    behind.close()


def test_says_that_there_is_no_room(tmp_path):
    behind = BackgroundFile(tmp_path / "file")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_500_000, before[1]))
    try:
        with pytest.raises(OSError, match="large") as told:
            fill(behind)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        behind.remove()
    assert told.value.errno == errno.EFBIG
