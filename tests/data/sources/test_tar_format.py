import tarfile

import pytest

from quickfit.data.sources.tar_format import header_of, pax_records


def block(name="a.jpg", size=5, **fields):
    info = tarfile.TarInfo(name)
    info.size = size
    for field, value in fields.items():
        setattr(info, field, value)
    return info.tobuf(tarfile.GNU_FORMAT)[:512]


def signed(block):
    """Sum the header as old programs did, with signed bytes."""
    blank = block[:148] + b" " * 8 + block[156:]
    total = sum(byte - 256 if byte > 127 else byte for byte in blank)
    return block[:148] + b"%06o\0 " % total + block[156:]


def test_reads_name_size_kind_and_link():
    header = header_of(block("a.jpg", 5, type=tarfile.SYMTYPE, linkname="b.jpg"))
    assert (header.name, header.size, header.kind, header.link) == (b"a.jpg", 0, b"2", b"b.jpg")


def test_reads_sizes_too_large_for_octal_digits():
    assert header_of(block(size=20_000_000_000)).size == 20_000_000_000


def test_accepts_the_sum_of_signed_bytes():
    assert header_of(signed(block("é.jpg"))).name == "é.jpg".encode()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        bytes(512),
        b"x" * 512,
        block()[:300],
        block().replace(b"a.jpg", b"b.jpg"),
    ],
)
def test_takes_nothing_else_for_a_header(content):
    header = header_of(content)
    assert header is None or header.name == b""


def test_refuses_a_size_that_is_no_number():
    broken = bytearray(block())
    broken[124:136] = b"-0000000005\0"
    blank = broken[:148] + b" " * 8 + broken[156:]
    broken[148:156] = b"%06o\0 " % sum(blank)
    assert header_of(bytes(broken)) is None


def test_reads_pax_records_and_stops_at_damage():
    assert pax_records(b"12 path=abc\n10 size=7\n") == {"path": b"abc", "size": b"7"}
    assert pax_records(b"12 path=abc\n99 size=7\n") == {"path": b"abc"}
    assert pax_records(b"0 x=1\n") == {}
    assert pax_records(b"nothing") == {}
