import pickle
from array import array

import pytest

from quickfit.data.entries import NO_LABEL, Entry, Reason
from quickfit.data.sources.listing import MAX_FILE_BYTES, Gathered, Listing


def listing(**changes):
    given = {"names": ["a", "b", "c"], "sizes": array("q", [1, 2, 3]), "labels": None, **changes}
    return Listing(given.pop("names"), given.pop("sizes"), given.pop("labels"), **given)


def test_makes_entries_of_files_below_a_folder():
    assert listing(where="/data/")[0] == Entry("a", NO_LABEL, 1, "/data/a")


def test_makes_entries_of_members_of_an_archive():
    made = listing(where="x.zip", offsets=array("q", [0, 50, 90]), labels=array("q", [0, 1, 1]))
    assert made[1] == Entry("b", 1, 2, "x.zip", 50)


def test_makes_entries_of_listed_files():
    assert listing(files=["/x/a", "/y/b", "/z/c"])[-1] == Entry("c", NO_LABEL, 3, "/z/c")


def test_behaves_like_a_list():
    entries = listing()
    assert len(entries) == 3
    assert [entry.name for entry in entries] == ["a", "b", "c"]
    assert [entry.name for entry in entries[::-2]] == ["c", "a"]
    assert entries[1] in entries
    with pytest.raises(IndexError):
        entries[3]
    assert entries == listing()
    assert entries != listing(names=["a", "b", "d"])
    assert entries != [1]
    assert repr(entries) == "<3 images, 6 bytes>"


def test_can_be_sent_to_another_process():
    assert pickle.loads(pickle.dumps(listing(where="/d/"))) == listing(where="/d/")


@pytest.mark.parametrize(
    ("name", "size", "reason", "says"),
    [
        ("a\nb.jpg", 5, Reason.BAD_NAME, "keep_odd_names=True"),
        ("a.jpg", 0, Reason.EMPTY, "no bytes"),
        ("a.jpg", MAX_FILE_BYTES + 1, Reason.TOO_LARGE, "the limit is 2.0 GB"),
    ],
)
def test_rejects_what_name_or_size_forbid(name, size, reason, says):
    gathered = Gathered()
    assert not gathered.add(name, size)
    assert gathered.names == []
    assert gathered.rejected[0].reason == reason
    assert says in gathered.rejected[0].detail


def test_counts_other_files_and_remembers_the_first():
    gathered = Gathered()
    gathered.pass_over("x/notes.txt")
    gathered.pass_over("readme")
    assert (gathered.other_files, gathered.other_example) == (2, "x/notes.txt")
