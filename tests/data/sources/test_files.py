import errno
import os
import pickle
import resource
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest

from quickfit.data import sources
from quickfit.data.entries import Entry, Reason, Rejection, SourceImageError
from quickfit.data.sources.files import (
    Archive,
    FileReader,
    PathLister,
    path_names,
    read_failure,
    sorted_order,
    walk_folder,
)
from quickfit.data.sources.listing import Gathered
from quickfit.errors import PipelineError, UsageError

from hostile import hostile_folder


def write(root, *names, content=b"x"):
    for name in names:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def walked(root, *, follow_links=True, keep_odd_names=False):
    gathered = Gathered(keep_odd_names)
    walk_folder(str(root), gathered, follow_links=follow_links)
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


def taken(root, names, *, keep_odd_names=False):
    paths = PathLister(str(root), Gathered(keep_odd_names))
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
    assert path_names(["a", Path("b/c"), b"caf\xe9"]) == ["a", "b/c", "caf\udce9"]


@pytest.mark.parametrize("wrong", [None, 3, "", ("a.jpg", 0)])
def test_says_which_item_is_no_path(wrong):
    with pytest.raises(UsageError, match=r"the list of paths: item 1 is .*, not a path"):
        path_names(["a.jpg", wrong])


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
    error = read_failure(OSError(errno.EIO, os.strerror(errno.EIO)), "x")
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


@pytest.fixture
def folder(tmp_path):
    for number in range(200):
        (tmp_path / f"{number:03d}.jpg").write_bytes(b"content")
    return tmp_path


def test_can_be_sent_to_another_process_whole_or_as_a_small_reader(folder):
    source = sources.open_source(folder)
    again = pickle.loads(pickle.dumps(source))
    assert again.entries == source.entries
    assert again.read(again.entries[5]) == b"content"
    assert len(pickle.dumps(source.reader())) < 200
    assert source.reader().read(source.entries[7]) == b"content"


def test_an_archive_can_be_read_in_another_process(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("a.jpg", b"content")
    source = sources.open_source(tmp_path / "x.zip")
    source.read(source.entries[0])
    sent = pickle.dumps((source.reader(), source.entries[0]))
    code = "import pickle, sys; r, e = pickle.load(sys.stdin.buffer); print(r.read(e).decode())"
    done = subprocess.run([sys.executable, "-c", code], input=sent, capture_output=True, check=True)
    assert done.stdout == b"content\n"


def test_says_in_a_line_what_it_is(folder):
    (folder / "empty.jpg").write_bytes(b"")
    assert repr(sources.open_source(folder)) == f"<folder {folder}: 200 images, 1 left out>"


def test_rejections_are_in_the_order_of_their_names():
    items = [Rejection(name, Reason.EMPTY, "") for name in ("b", "a\udce9", "a")]
    assert [item.name for item in sorted_order(items)] == ["a", "a\udce9", "b"]


def test_importing_sources_loads_nothing_heavy():
    code = "import sys, quickfit.data.sources; print(sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    for heavy in ("tensorflow", "numpy", "PIL", "pandas"):
        assert f"'{heavy}'" not in loaded
