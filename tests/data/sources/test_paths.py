import os
from pathlib import Path

import pytest

from quickfit.data.entries import Reason
from quickfit.data.sources.listing import Gathered
from quickfit.data.sources.paths import Paths, as_names
from quickfit.errors import UsageError


def taken(root, names, *, keep_odd_names=False):
    paths = Paths(str(root), Gathered(keep_odd_names))
    paths.take(names)
    return paths


def test_keeps_order_names_and_duplicates(tmp_path):
    for name in ("b.jpg", "a.jpg"):
        (tmp_path / name).write_bytes(b"xy")
    names = ["b.jpg", "./a.jpg", "b.jpg", str(tmp_path / "a.jpg")]
    paths = taken(tmp_path, names)
    assert paths.gathered.names == names
    assert paths.kept == [0, 1, 2, 3]
    assert [os.path.realpath(file) for file in paths.files] == [
        os.path.realpath(tmp_path / name) for name in ("b.jpg", "a.jpg", "b.jpg", "a.jpg")
    ]


def test_lists_a_file_that_is_missing_for_its_reader_to_tell(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"xy")
    paths = taken(tmp_path, ["gone.jpg", "a.jpg"])
    assert paths.gathered.names == ["gone.jpg", "a.jpg"]
    assert list(paths.gathered.sizes) == [0, 2]
    assert paths.gathered.rejected == []


def test_rejects_what_cannot_be_an_image_and_says_where_the_rest_was(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"xy")
    (tmp_path / "empty.jpg").write_bytes(b"")
    (tmp_path / "line\nbreak.jpg").write_bytes(b"x")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe.jpg")
    (tmp_path / "loop.jpg").symlink_to("loop.jpg")
    names = ["empty.jpg", "folder", "pipe.jpg", "loop.jpg", "line\nbreak.jpg", "x\x00y", "a.jpg"]
    paths = taken(tmp_path, names)
    assert paths.gathered.names == ["a.jpg"]
    assert paths.kept == [6]
    assert [item.reason for item in paths.gathered.rejected] == [
        Reason.EMPTY,
        Reason.UNREADABLE,
        Reason.UNREADABLE,
        Reason.LINK_LOOP,
        Reason.BAD_NAME,
        Reason.BAD_NAME,
    ]
    assert "it is a folder, not a file" in paths.gathered.rejected[1].detail


def test_names_that_no_file_can_have_are_rejected_even_if_odd_ones_are_kept(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"xy")
    paths = taken(tmp_path, ["x\x00y", "x\ud800y", "a.jpg"], keep_odd_names=True)
    assert len(paths.gathered.names) == len(paths.files) == 1


@pytest.mark.parametrize(
    ("first", "exists", "says"),
    [
        ("a.jpg", "", "Give the folder that the paths begin at: --root"),
        ("abc", "abc.png", r"There is abc\.png: write names with their endings"),
        ("cat\\a.jpg", "cat/a.jpg", "write them with `/`"),
        ("/nowhere/a.jpg", "", "Were the files moved"),
    ],
)
def test_says_where_it_looked_if_nothing_is_there(tmp_path, first, exists, says):
    if exists:
        (tmp_path / exists).parent.mkdir(exist_ok=True)
        (tmp_path / exists).write_bytes(b"x")
    with pytest.raises(UsageError, match=says) as raised:
        taken(tmp_path, [first, "other.jpg"])
    message = str(raised.value)
    assert f"none of the 2 images of the list is there. The first is {first}" in message
    assert first.startswith("/") or f"looked for in {tmp_path}" in message


def test_says_that_the_paths_begin_at_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "a.jpg").write_bytes(b"x")
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(UsageError, match=r"in the working directory: --root \. \(root='\.'\)"):
        taken(tmp_path, ["a.jpg"])


def test_takes_paths_of_every_kind():
    assert as_names(["a", Path("b/c"), b"caf\xe9"]) == ["a", "b/c", "caf\udce9"]


@pytest.mark.parametrize("wrong", [None, 3, "", ("a.jpg", 0)])
def test_says_which_item_is_no_path(wrong):
    with pytest.raises(UsageError, match=r"the list of paths: item 1 is .*, not a path"):
        as_names(["a.jpg", wrong])
