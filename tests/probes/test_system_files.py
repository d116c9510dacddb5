"""The small files of Linux are read cheaply and understood."""

import os

from quickfit.probes._system_files import mounts, number, numbers, text


def test_a_file_that_is_missing_or_cannot_be_read_says_nothing(tmp_path):
    assert text(str(tmp_path / "missing")) is None
    # A folder can be opened, but not read.
    assert text(str(tmp_path)) is None


def test_reading_leaves_no_file_open(tmp_path):
    (tmp_path / "file").write_text("caf\xe9", encoding="latin-1")
    before = os.open(tmp_path / "file", os.O_RDONLY)
    os.close(before)
    assert text(str(tmp_path / "file")) == "caf\ufffd"
    after = os.open(tmp_path / "file", os.O_RDONLY)
    os.close(after)
    assert after == before


def test_numbers_are_found_with_and_without_colon_and_unit():
    told = "VmSwap:\t  12 kB\nrchar: 9\npswpin 3\nName:\tpython\nempty:\n\n"
    assert numbers(told) == {"VmSwap": 12, "rchar": 9, "pswpin": 3}
    assert numbers(None) == {}


def test_one_number_is_found_wherever_its_line_is():
    told = "pswpin 3\nold_pswpout 5\npswpout 4\nVmSwap:\t  12 kB\nName:\tpython\nlast 9"
    found = [number(told, name) for name in ("pswpin", "pswpout", "VmSwap", "last")]
    assert found == [3, 4, 12, 9]
    assert [number(told, name) for name in ("Name", "missing", "pswp")] == [None, None, None]
    assert number(None, "pswpin") is None


def test_mounts_have_their_blanks_back():
    line = (
        r"36 35 98:0 /a\040b /mnt/my\040data\134x rw,noatime shared:1 master:2 - ext4 /dev/r rw,x"
    )
    (mount,) = mounts(line + "\nnonsense\n")
    assert mount == ("/a b", "/mnt/my data\\x", "ext4", "rw,x")


def test_a_backslash_that_starts_no_code_stays():
    (mount,) = mounts(r"1 2 0:1 / /odd\name - tmpfs tmpfs rw")
    assert mount.point == r"/odd\name"
