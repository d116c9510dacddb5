import pickle
from array import array

import pytest

from quickfit.data.entries import NO_LABEL, Entry, Reason
from quickfit.data.sources.listing import (
    MAX_FILE_BYTES,
    ArchiveMember,
    Gathered,
    Listing,
    common_top,
    escape_danger,
    gather_members,
    is_hidden,
    is_image_name,
    is_usable,
    name_problem,
    normal_member_name,
    printable_name,
)


@pytest.mark.parametrize("name", ["a.jpg", "a.JPEG", "x/a.Png", "a.webp", "a.b.gif", ".bmp"])
def test_knows_an_image_by_its_ending_in_any_case(name):
    assert is_image_name(name)


@pytest.mark.parametrize("name", ["a.txt", "jpg", "a.jpg.txt", "a.jpg~", "a.tiff", ""])
def test_takes_nothing_else_for_an_image(name):
    assert not is_image_name(name)


@pytest.mark.parametrize(
    "name", [".DS_Store", "a/.x.jpg", ".git/a.jpg", "__MACOSX/a.jpg", "a/Thumbs.db", "desktop.ini"]
)
def test_leaves_to_programs_what_is_theirs(name):
    assert is_hidden(name)


@pytest.mark.parametrize("name", ["a.jpg", "a/b.c.jpg", "my__MACOSX/a.jpg", "Thumbs.db.jpg"])
def test_hides_no_ordinary_file(name):
    assert not is_hidden(name)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("a\nb.jpg", "line break"),
        ("a\rb.jpg", "line break"),
        ("a\u2028b.jpg", "line break"),
        ("a\tb.jpg", "control character"),
        ("a\x7fb.jpg", "control character"),
        ("a\udce9.jpg", "no UTF-8"),
        ("a\x00b.jpg", "null byte"),
    ],
)
def test_says_what_is_odd_about_a_name(name, says):
    assert says in name_problem(name)
    assert not is_usable(name, keep_odd_names=False)


def test_shows_names_so_that_they_cannot_steer_a_terminal():
    assert printable_name("a\x1b[2J\nb\udce9é.jpg") == "a\\x1b[2J\\nb\\udce9é.jpg"
    assert printable_name("日本 é.jpg") == "日本 é.jpg"


@pytest.mark.parametrize("name", ["a.jpg", "ä ö/日本.jpg", "a b.jpg", "a\xa0b.jpg", "😀.jpg"])
def test_finds_nothing_odd_about_names_people_give(name):
    assert name_problem(name) is None
    assert is_usable(name, keep_odd_names=False)


def test_keeps_odd_names_on_request_but_none_that_no_file_can_have():
    assert is_usable("a\nb.jpg", keep_odd_names=True)
    assert not is_usable("a\x00b.jpg", keep_odd_names=True)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("/etc/a.jpg", "absolute"),
        ("\\\\host\\a.jpg", "absolute"),
        ("c:a.jpg", "drive letter"),
        ("C:\\a.jpg", "drive letter"),
        ("../a.jpg", "leads out"),
        ("a/../../b.jpg", "leads out"),
        ("a\\..\\b.jpg", "leads out"),
        ("..", "leads out"),
    ],
)
def test_says_why_a_path_leads_out_of_an_archive(name, says):
    assert says in escape_danger(name)


@pytest.mark.parametrize("name", ["a/b.jpg", "./a.jpg", "a..b.jpg", "...jpg", "a/..b/c.jpg"])
def test_finds_no_danger_in_ordinary_paths(name):
    assert escape_danger(name) is None


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("./a/b", "a/b"),
        ("a//b", "a/b"),
        ("a/./b", "a/b"),
        ("a/", "a"),
        ("a./b", "a./b"),
        ("a", "a"),
    ],
)
def test_leaves_out_the_parts_of_a_path_that_say_nothing(name, short):
    assert normal_member_name(name) == short


def test_a_very_long_name_is_shown_without_its_middle():
    name = "begin/" + "n" * 300 + "/end.jpg"
    assert printable_name("a" * 200) == "a" * 200
    assert len(printable_name(name)) == 200
    assert printable_name(name).startswith("begin/n")
    assert "n…n" in printable_name(name)
    assert printable_name(name).endswith("n/end.jpg")


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


def gathered(*members, root=""):
    found = Gathered()
    gather_members(members, found, root)
    return found


def test_sorts_members_and_leaves_out_what_paths_do_not_need():
    found = gathered(
        ArchiveMember("./b.jpg", 1, 10),
        ArchiveMember("a//c.jpg", 2, 20),
        ArchiveMember("a.txt", 1, 30),
    )
    assert found.names == ["a/c.jpg", "b.jpg"]
    assert list(found.offsets) == [20, 10]
    assert found.other_files == 1


def test_tells_members_of_one_name_apart_and_loses_none():
    found = gathered(
        *(ArchiveMember("a.jpg", size, size) for size in (1, 2, 3)), ArchiveMember("b.jpg", 9, 9)
    )
    assert found.names == ["a.jpg", "a.jpg#2", "a.jpg#3", "b.jpg"]
    assert list(found.sizes) == [1, 2, 3, 9]


def test_lists_a_second_name_of_a_member_and_of_that_one():
    found = gathered(
        ArchiveMember("a.jpg", 5, 10),
        ArchiveMember("b.jpg", 0, 0, Reason.UNSAFE_PATH, "it is a link", "a.jpg"),
        ArchiveMember("c.jpg", 0, 0, Reason.UNSAFE_PATH, "it is a link", "b.jpg"),
        ArchiveMember("d.jpg", 0, 0, Reason.UNSAFE_PATH, "it is a link", "etc/passwd"),
    )
    assert found.names == ["a.jpg", "b.jpg", "c.jpg"]
    assert list(found.offsets) == [10, 10, 10]
    assert [item.name for item in found.rejected] == ["d.jpg"]


def test_lists_one_folder_and_still_tells_what_concerns_the_archive():
    found = gathered(
        ArchiveMember("in/a.jpg", 1, 1),
        ArchiveMember("out/b.jpg", 1, 2),
        ArchiveMember("/x.jpg", 1, 3),
        ArchiveMember("x.tar", 0, 0, Reason.TRUNCATED, "the archive ends early"),
        root="in/",
    )
    assert found.names == ["in/a.jpg"]
    assert [item.name for item in found.rejected] == ["/x.jpg", "x.tar"]


def test_finds_the_one_folder_that_all_images_lie_in():
    assert common_top(["set/a/1.jpg", "set/b/2.jpg"]) == "set/"
    assert common_top(["a/1.jpg", "b/2.jpg"]) == ""
    assert common_top(["a/1.jpg", "2.jpg"]) == ""
    assert common_top(["1.jpg"]) == ""
    assert common_top([]) == ""
