from quickfit.data.entries import Reason
from quickfit.data.sources.listing import Gathered
from quickfit.data.sources.members import Member, common_top, gather


def gathered(*members, root=""):
    found = Gathered()
    gather(members, found, root)
    return found


def test_sorts_members_and_leaves_out_what_paths_do_not_need():
    found = gathered(Member("./b.jpg", 1, 10), Member("a//c.jpg", 2, 20), Member("a.txt", 1, 30))
    assert found.names == ["a/c.jpg", "b.jpg"]
    assert list(found.offsets) == [20, 10]
    assert found.other_files == 1


def test_tells_members_of_one_name_apart_and_loses_none():
    found = gathered(*(Member("a.jpg", size, size) for size in (1, 2, 3)), Member("b.jpg", 9, 9))
    assert found.names == ["a.jpg", "a.jpg#2", "a.jpg#3", "b.jpg"]
    assert list(found.sizes) == [1, 2, 3, 9]


def test_lists_a_second_name_of_a_member_and_of_that_one():
    found = gathered(
        Member("a.jpg", 5, 10),
        Member("b.jpg", 0, 0, Reason.UNSAFE_PATH, "it is a link", "a.jpg"),
        Member("c.jpg", 0, 0, Reason.UNSAFE_PATH, "it is a link", "b.jpg"),
        Member("d.jpg", 0, 0, Reason.UNSAFE_PATH, "it is a link", "etc/passwd"),
    )
    assert found.names == ["a.jpg", "b.jpg", "c.jpg"]
    assert list(found.offsets) == [10, 10, 10]
    assert [item.name for item in found.rejected] == ["d.jpg"]


def test_lists_one_folder_and_still_tells_what_concerns_the_archive():
    found = gathered(
        Member("in/a.jpg", 1, 1),
        Member("out/b.jpg", 1, 2),
        Member("/x.jpg", 1, 3),
        Member("x.tar", 0, 0, Reason.TRUNCATED, "the archive ends early"),
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
