import os

import pytest

from quickfit.data.entries import Reason
from quickfit.data.sources.folder import walk
from quickfit.data.sources.listing import Gathered
from quickfit.errors import UsageError

from hostile import hostile_folder


def write(root, *names, content=b"x"):
    for name in names:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def walked(root, *, follow_links=True, keep_odd_names=False):
    gathered = Gathered(keep_odd_names)
    walk(str(root), gathered, follow_links=follow_links)
    return gathered


def reasons(gathered):
    return {item.name: item.reason.value for item in gathered.rejected}


def test_lists_whole_paths_in_the_order_of_their_bytes(tmp_path):
    names = ["a/b.jpg", "a.jpg", "a-/x.jpg", "Z.jpg", "é.jpg", "a/B.jpg", "a/b/c.jpg", "日.jpg"]
    write(tmp_path, *names)
    assert walked(tmp_path).names == sorted(names, key=os.fsencode)


def test_finds_in_a_hostile_folder_what_is_good_and_tells_of_the_rest(tmp_path):
    case = hostile_folder(tmp_path / "bad", with_classes=False)
    gathered = walked(case.path)
    assert sorted(gathered.names) == sorted([*case.good, *case.at_reading])
    assert reasons(gathered) == case.at_listing


def test_keeps_odd_names_on_request(tmp_path):
    case = hostile_folder(tmp_path / "bad", with_classes=False)
    gathered = walked(case.path, keep_odd_names=True)
    assert set(case.odd) <= set(gathered.names)
    assert gathered.names == sorted(gathered.names, key=os.fsencode)


def test_counts_files_that_are_no_images_and_leaves_hidden_ones_alone(tmp_path):
    write(tmp_path, "a.jpg", "x/notes.txt", "readme", ".hidden.jpg", ".git/a.jpg", "Thumbs.db")
    gathered = walked(tmp_path)
    assert gathered.names == ["a.jpg"]
    assert gathered.other_files == 2
    assert gathered.rejected == []


def test_tells_where_a_link_loop_is(tmp_path):
    write(tmp_path, "a/b/1.jpg")
    (tmp_path / "a" / "b" / "up").symlink_to(tmp_path / "a")
    gathered = walked(tmp_path)
    assert gathered.names == ["a/b/1.jpg"]
    assert gathered.rejected[0].name == "a/b/up"
    assert gathered.rejected[0].detail == "it is a link to a folder that it lies in"


def test_lists_a_file_by_every_name_it_has(tmp_path):
    write(tmp_path, "a/1.jpg")
    (tmp_path / "b").symlink_to("a")
    os.link(tmp_path / "a" / "1.jpg", tmp_path / "c.jpg")
    assert walked(tmp_path).names == ["a/1.jpg", "b/1.jpg", "c.jpg"]


def test_ends_where_links_fan_out_without_end(tmp_path):
    write(tmp_path, "level20/1.jpg")
    for level in range(20):
        folder = tmp_path / f"level{level:02d}"
        folder.mkdir()
        for side in "ab":
            (folder / side).symlink_to(tmp_path / f"level{level + 1:02d}")
    gathered = walked(tmp_path)
    assert len(gathered.names) <= 64
    assert any("more than 64 ways" in item.detail for item in gathered.rejected)


def test_follows_no_links_when_told_so(tmp_path):
    write(tmp_path, "a/1.jpg")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "2.jpg").symlink_to("a/1.jpg")
    gathered = walked(tmp_path, follow_links=False)
    assert gathered.names == ["a/1.jpg"]
    assert gathered.other_files == 2


@pytest.fixture
def deep_folder(tmp_path):
    """Make 1,200 folders in each other, and remove them: what cleans up after tests recurses."""
    folders = [str(tmp_path) + "/d" * depth for depth in range(1, 1201)]
    for folder in folders:
        os.mkdir(folder)
    file = folders[-1] + "/1.jpg"
    with open(file, "wb") as opened:
        opened.write(b"x")
    yield tmp_path
    os.unlink(file)
    for folder in reversed(folders):
        os.rmdir(folder)


def test_goes_deeper_than_python_can_recurse(deep_folder):
    assert walked(deep_folder).names == ["d/" * 1200 + "1.jpg"]


def test_tells_of_a_folder_that_cannot_be_listed(tmp_path):
    """A path longer than 4096 bytes: nobody can list it, not even root."""
    write(tmp_path, "1.jpg")
    handle = os.open(tmp_path, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("n" * 250, dir_fd=handle)
        inner = os.open("n" * 250, os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    os.close(handle)
    gathered = walked(tmp_path)
    assert gathered.names == ["1.jpg"]
    assert [item.reason for item in gathered.rejected] == [Reason.UNREADABLE]
    assert gathered.rejected[0].detail == (
        "this folder could not be listed (File name too long): "
        "an unknown number of images is missing"
    )


def test_says_that_the_folder_itself_cannot_be_listed(tmp_path):
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    with pytest.raises(UsageError, match=r"loop: this folder cannot be listed: Too many levels"):
        walked(loop)
