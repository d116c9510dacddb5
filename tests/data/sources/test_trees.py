import io
import os
import tarfile
import zipfile

import pytest

from quickfit.data import sources
from quickfit.data.entries import NO_LABEL, Reason
from quickfit.errors import PipelineError, UsageError

from hostile import hostile_folder


def write(root, *names, content=b"x"):
    for name in names:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def zipped(path, *names):
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, name)
    return path


def tarred(path, *names):
    with tarfile.open(path, "w") as archive:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = len(name)
            archive.addfile(info, io.BytesIO(name.encode()))
    return path


def labels(source):
    return {
        entry.name: source.classes[entry.label] if entry.label != NO_LABEL else None
        for entry in source.entries
    }


def test_lists_a_folder_of_classes(tmp_path):
    write(tmp_path, "dog/2.jpg", "cat/1.jpg", "cat/x/3.PNG", "notes.txt")
    source = sources.open(tmp_path)
    assert labels(source) == {"cat/1.jpg": "cat", "cat/x/3.PNG": "cat", "dog/2.jpg": "dog"}
    assert source.class_counts == (2, 1)
    assert source.entries[0].file == str(tmp_path / "cat" / "1.jpg")
    assert source.read(source.entries[0]) == b"x"
    assert source.notes == ("1 other file left alone, for example notes.txt",)
    assert repr(source) == f"<folder {tmp_path}: 3 images in 2 classes>"


def test_a_slash_after_the_folder_changes_nothing(tmp_path):
    write(tmp_path, "cat/1.jpg")
    assert sources.open(f"{tmp_path}/").entries == sources.open(tmp_path).entries


def test_a_folder_without_classes_has_no_labels(tmp_path):
    write(tmp_path, "1.jpg", "2.jpg")
    source = sources.open(tmp_path)
    assert source.classes == ()
    assert labels(source) == {"1.jpg": None, "2.jpg": None}


def test_a_hostile_folder_loses_nothing_in_silence(tmp_path):
    case = hostile_folder(tmp_path / "bad")
    source = sources.open(case.path)
    read = {entry.name: source.read(entry) for entry in source.entries}
    assert set(read) == {*case.good, *case.at_reading}
    assert all(read[name] == content for name, content in case.good.items())
    assert {item.name: item.reason.value for item in source.rejected} == case.at_listing
    assert [item.name for item in source.rejected] == sorted(case.at_listing)
    assert source.classes == ("cat", "dog")


def test_takes_images_without_labels_on_request(tmp_path):
    write(tmp_path, "cat/1.jpg", "beside.jpg")
    source = sources.open(tmp_path, labels=False)
    assert labels(source) == {"beside.jpg": None, "cat/1.jpg": None}


def test_given_labels_belong_to_names_even_where_an_image_is_rejected(tmp_path):
    write(tmp_path, "a.jpg", "c.jpg")
    write(tmp_path, "b.jpg", content=b"")
    source = sources.open(tmp_path, labels=["x", "y", "z"])
    assert labels(source) == {"a.jpg": "x", "c.jpg": "z"}
    assert source.classes == ("x", "y", "z")
    with pytest.raises(UsageError, match="labels has 2 items for 3 images"):
        sources.open(tmp_path, labels=["x", "z"])


def test_keras_word_for_the_default_is_known(tmp_path):
    write(tmp_path, "cat/1.jpg")
    assert sources.open(tmp_path, labels="inferred").classes == ("cat",)


@pytest.mark.parametrize("made", [zipped, tarred])
def test_lists_an_archive_of_classes(tmp_path, made):
    path = made(tmp_path / "x", "dog/2.jpg", "cat/1.jpg", "cat/readme")
    source = sources.open(path)
    assert labels(source) == {"cat/1.jpg": "cat", "dog/2.jpg": "dog"}
    assert [source.read(entry) for entry in source.entries] == [b"cat/1.jpg", b"dog/2.jpg"]
    assert {entry.file for entry in source.entries} == {str(path)}


@pytest.mark.parametrize("made", [zipped, tarred])
def test_the_one_folder_in_an_archive_is_no_class(tmp_path, made):
    path = made(tmp_path / "x", "set/dog/2.jpg", "set/cat/1.jpg", "__MACOSX/set/cat/1.jpg")
    assert labels(sources.open(path)) == {"set/cat/1.jpg": "cat", "set/dog/2.jpg": "dog"}
    path = made(tmp_path / "y", "photos/1.jpg", "photos/2.jpg")
    assert labels(sources.open(path)) == {"photos/1.jpg": None, "photos/2.jpg": None}


@pytest.mark.parametrize("made", [zipped, tarred])
def test_lists_one_folder_of_an_archive(tmp_path, made):
    path = made(tmp_path / "x", "set/train/cat/1.jpg", "set/train/dog/2.jpg", "set/val/cat/3.jpg")
    assert "look like splits. To use what lies in one of them give --root set/train" in str(
        sources.open(path).notes
    )
    source = sources.open(path, root="set/train")
    assert labels(source) == {"set/train/cat/1.jpg": "cat", "set/train/dog/2.jpg": "dog"}


@pytest.mark.parametrize(
    ("names", "says"),
    [
        ((), r"no image in it. Looked for \.jpg, .*; found nothing at all"),
        (("a/notes.txt", "b.txt"), r"found 2 other files, for example a/notes\.txt"),
    ],
)
def test_says_what_it_found_instead_of_images(tmp_path, names, says):
    write(tmp_path, *names)
    with pytest.raises(PipelineError, match=says):
        sources.open(tmp_path)


def test_says_why_no_image_can_be_used(tmp_path):
    write(tmp_path, "a/1.jpg", "a/2.jpg", content=b"")
    with pytest.raises(PipelineError, match=r"2 left out, for example a/1\.jpg: it has no bytes"):
        sources.open(tmp_path)


def test_a_folder_with_an_odd_name_is_no_class(tmp_path):
    write(tmp_path, "cat/1.jpg")
    os.makedirs(os.fsencode(tmp_path) + b"/caf\xe9")
    with open(os.fsencode(tmp_path) + b"/caf\xe9/1.jpg", "wb") as file:
        file.write(b"x")
    assert sources.open(tmp_path).classes == ("cat",)
    assert [item.reason for item in sources.open(tmp_path).rejected] == [Reason.BAD_NAME]
    assert sources.open(tmp_path, keep_odd_names=True).classes == ("caf\udce9", "cat")


def test_images_of_kinds_that_are_not_read_keep_the_number_of_their_class(tmp_path):
    for name in ("ant/1.HEIC", "bee/1.jpg", "bee/2.tif", "cat/1.cr2", "notes/read.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    source = sources.open(tmp_path)
    assert source.classes == ("ant", "bee", "cat", "notes")
    assert [(item.name, item.reason.value) for item in source.rejected] == [
        (name, "not-an-image") for name in ("ant/1.HEIC", "bee/2.tif", "cat/1.cr2")
    ]
    assert source.rejected[0].detail == "HEIC is not read: convert to JPEG or PNG"
    assert source.notes[0] == "1 other file left alone, for example notes/read.txt"


def test_hidden_files_are_counted(tmp_path):
    for name in ("a/1.jpg", "a/.2.jpg", "a/Thumbs.db", ".git/3.jpg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    assert sources.open(tmp_path).notes == ("2 hidden files and 1 hidden folder left alone",)
