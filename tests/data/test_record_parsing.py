"""Which record a piece of data is from."""

import pytest

from quickfit.data import record_parsing
from quickfit.data.record_parsing import RecordFinder

from record_files import flipped, frame, written


@pytest.fixture
def files(tmp_path):
    first = written(tmp_path / "a", [b"one", b"two", b"three"])
    second = written(tmp_path / "b", [b"four", b"five"], "GZIP")
    return {str(first): "", str(second): "GZIP"}


def test_a_record_is_found_in_any_file(files):
    first, second = files
    finder = RecordFinder(files)
    assert finder.place_of(b"five") == f"{second}, record 1"
    assert finder.place_of(b"one") == f"{first}, record 0"
    assert finder.place_of(b"four") == f"{second}, record 0"


def test_a_part_of_a_record_is_found(files):
    first, second = files
    assert RecordFinder(files).place_with(b"hre", lambda _: True) == f"{first}, record 2"
    found = RecordFinder(files).place_with(b"o", lambda record: record == b"four")
    assert found == f"{second}, record 0"


def test_damaged_records_are_passed_over(files):
    first, _ = files
    flipped(first, 13)
    flipped(first, len(frame(b"one")) + 13)
    assert RecordFinder(files).place_of(b"three") == f"{first}, record 2"


def test_what_is_not_there_any_more_is_told_as_such(files):
    first, _ = files
    finder = RecordFinder(files)
    for _ in range(2):
        assert finder.place_of(b"six") == f"a record of {first} or of the other 1 files"
    assert (
        finder.place_with(b"six", lambda _: True) == f"a record of {first} or of the other 1 files"
    )


def test_the_search_ends_where_it_takes_long(files, monkeypatch):
    monkeypatch.setattr(record_parsing, "_MOST_BYTES", 4)
    assert RecordFinder(files).place_of(b"two").endswith("record 1")
    assert RecordFinder(files).place_of(b"three").startswith("a record of")


def test_files_far_away_are_not_searched():
    assert RecordFinder({"gs://a/b": ""}).place_of(b"x") == "a record of gs://a/b"
