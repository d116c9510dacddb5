import io
import os
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from quickfit.data import sources
from quickfit.data.entries import NO_LABEL, Reason, SourceImageError
from quickfit.data.sources import open_source
from quickfit.data.sources.opening import SourceKind, source_kind
from quickfit.errors import PipelineError, UsageError

from hostile import hostile_folder


@pytest.fixture
def write(tmp_path):
    def write(name, content=b""):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


def zip_bytes():
    out = io.BytesIO()
    zipfile.ZipFile(out, "w").close()
    return out.getvalue()


def tar_bytes(mode="w"):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        archive.addfile(tarfile.TarInfo("a.jpg"))
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("x.zip", zip_bytes(), SourceKind.ZIP),
        ("archive", zip_bytes(), SourceKind.ZIP),
        ("x.zip", b"cut off", SourceKind.ZIP),
        ("archive", tar_bytes(), SourceKind.TAR),
        ("x.tar", b"", SourceKind.TAR),
        ("x.csv", b"path,label\n", SourceKind.TABLE),
        ("x.tsv", b"path\tlabel\n", SourceKind.TABLE),
        ("x.txt", b"a.jpg,0\nb.jpg,1\n", SourceKind.TABLE),
        ("x.csv", "path,label\n".encode("utf-16"), SourceKind.TABLE),
        ("x.txt", b"a.jpg\nb.jpg\n", SourceKind.LINES),
        ("list", b"a.jpg 0\n", SourceKind.LINES),
    ],
)
def test_knows_files_by_their_first_bytes_and_endings(write, name, content, kind):
    assert source_kind(write(name, content)) is kind


def test_knows_folders_tables_and_lists(tmp_path):
    assert source_kind(tmp_path) is SourceKind.FOLDER
    assert source_kind(str(tmp_path)) is SourceKind.FOLDER
    assert source_kind(os.fsencode(tmp_path)) is SourceKind.FOLDER
    assert source_kind({"path": ["a.jpg"]}) is SourceKind.COLUMNS
    assert source_kind(["a.jpg"]) is SourceKind.PATHS
    assert source_kind(name for name in ("a.jpg",)) is SourceKind.PATHS


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("x.jpg", b"x", r"x\.jpg: is one image. Give its folder"),
        ("x.tar.gz", tar_bytes("w:gz"), r"is compressed with gzip.*\n.*quickfit pack .*x\.tar\.gz"),
        ("x.tar.xz", tar_bytes("w:xz"), "is compressed with xz"),
        ("x.7z", b"7z\xbc\xaf\x27\x1c", "is a 7z file, and no folder"),
        ("x.rar", b"Rar!\x1a", "is a RAR file"),
        ("x.bin", b"ab\x00cd", "is no text, and no folder, archive, table or list"),
    ],
)
def test_says_why_images_cannot_be_listed_from_a_file(write, name, content, says):
    with pytest.raises(UsageError, match=says):
        source_kind(write(name, content))


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("", "the path of the images is empty"),
        ("s3://bucket/x", "is not on this machine"),
        ("x/*.jpg", r"Patterns are not read.* the list that glob\.glob returns"),
        ("photoz", r"photoz: there is no such folder or file, looked for in .*\n\. has: photos"),
        ("none/photos", "There is no none either"),
    ],
)
def test_says_what_is_there_instead(tmp_path, monkeypatch, path, says):
    (tmp_path / "photos").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=says):
        source_kind(path)


def test_says_that_a_pipe_is_no_source(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="pipe: is neither a folder nor a file"):
        source_kind(tmp_path / "pipe")


@pytest.mark.parametrize("wrong", [None, 3, 0.5])
def test_says_what_can_be_given_instead(wrong):
    with pytest.raises(UsageError, match=r"images cannot be read from .*\n.*a DataFrame or a list"):
        source_kind(wrong)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"path_column": "x"}, r"path_column\) is 'x', and only tables .*is a\s+folder"),
        ({"label_column": "x"}, r"label_column\) is 'x', and only tables have columns"),
        ({"root": "x"}, r"root\) is 'x', and .* is a folder: its images lie in it"),
        ({"labels": True}, "labels is True: give one label for each image, False for none"),
        ({"labels": 3}, "labels is 3"),
        ({"labels": {"a.jpg": 1}}, "labels is a dict, which has no order: give a list"),
        ({"labels": {1}}, "labels is a set, which has no order: give a list"),
        ({"labels": "cat"}, "labels is 'cat', a single text: give one label for each image"),
    ],
)
def test_says_which_option_does_not_fit(tmp_path, options, says):
    (tmp_path / "a.jpg").write_bytes(b"x")
    with pytest.raises(UsageError, match=says):
        open_source(tmp_path, **options)


def test_wants_labels_from_one_place(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"x")
    table = {"path": [tmp_path / "a.jpg"], "label": [0]}
    with pytest.raises(UsageError, match="both labels and label_column are given"):
        open_source(table, labels=[1], label_column="label")


def test_cuts_a_long_list_short_in_a_message(tmp_path):
    with pytest.raises(UsageError, match="…") as raised:
        open_source([f"{number}.jpg" for number in range(1000)], path_column="x")
    assert len(str(raised.value)) < 500


def test_a_set_of_paths_has_no_order_that_labels_could_follow(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"x")
    with pytest.raises(UsageError, match="the paths are a set"):
        open_source({str(tmp_path / "a.jpg")}, labels=[1])


@pytest.fixture
def photos(tmp_path):
    for name in ("a.jpg", "b.jpg", "sub/c.jpg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(name.encode())
    (tmp_path / "empty.jpg").write_bytes(b"")
    return tmp_path


def pairs(source):
    return [
        (entry.name, source.classes[entry.label] if entry.label != NO_LABEL else None)
        for entry in source.entries
    ]


def test_lists_paths_in_their_order_with_their_labels(photos):
    source = sources.open_source(["sub/c.jpg", "a.jpg"], labels=["x", "w"], root=photos)
    assert pairs(source) == [("sub/c.jpg", "x"), ("a.jpg", "w")]
    assert [source.read(entry) for entry in source.entries] == [b"sub/c.jpg", b"a.jpg"]


def test_paths_begin_at_the_working_directory(photos, monkeypatch):
    monkeypatch.chdir(photos)
    assert pairs(sources.open_source(["a.jpg"])) == [("a.jpg", None)]


def test_labels_stay_with_their_images_where_one_is_rejected(photos):
    source = sources.open_source(["a.jpg", "empty.jpg", "b.jpg"], labels=[0, 1, 2], root=photos)
    assert pairs(source) == [("a.jpg", "0"), ("b.jpg", "2")]
    assert source.classes == ("0", "1", "2")
    assert source.rejected[0].reason == Reason.EMPTY


def test_a_missing_file_fails_when_it_is_read(photos):
    source = sources.open_source(["a.jpg", "gone.jpg"], root=photos)
    with pytest.raises(SourceImageError, match="it does not exist") as raised:
        source.read(source.entries[1])
    assert raised.value.reason == Reason.VANISHED


def test_lists_a_table_beside_its_images(photos):
    (photos / "t.csv").write_text("path,label,width\nsub/c.jpg,dog,5\na.jpg,cat,6\n")
    source = sources.open_source(photos / "t.csv")
    assert pairs(source) == [("sub/c.jpg", "dog"), ("a.jpg", "cat")]
    assert source.notes == ("paths from the column path", "labels from the column label")
    assert repr(source) == f"<table {photos}/t.csv: 2 images in 2 classes>"


def test_numbers_in_a_table_are_labels(photos):
    (photos / "t.csv").write_text("file;y\na.jpg;2\nb.jpg;0\n")
    assert pairs(sources.open_source(photos / "t.csv")) == [("a.jpg", "2"), ("b.jpg", "0")]


def test_a_table_of_two_columns_needs_no_header(photos):
    (photos / "t.csv").write_text("a.jpg,cat\nb.jpg,dog\nsub/c.jpg,cat\n")
    source = sources.open_source(photos / "t.csv")
    assert pairs(source) == [("a.jpg", "cat"), ("b.jpg", "dog"), ("sub/c.jpg", "cat")]
    assert "labels from the column column 2" in source.notes


def test_takes_the_columns_and_the_root_that_are_named(photos):
    (photos / "sub" / "t.csv").write_text("path,thumb,label,breed\nx.jpg,a.jpg,1,tabby\n")
    source = sources.open_source(
        photos / "sub" / "t.csv", path_column="thumb", label_column="breed", root=photos
    )
    assert pairs(source) == [("a.jpg", "tabby")]
    again = sources.open_source(
        photos / "sub" / "t.csv", path_column=1, labels="breed", root=photos
    )
    assert pairs(again) == pairs(source)


def test_takes_no_labels_from_a_table_on_request(photos):
    (photos / "t.csv").write_text("path,label\na.jpg,cat\n")
    assert pairs(sources.open_source(photos / "t.csv", labels=False)) == [("a.jpg", None)]


def test_lists_columns_from_memory(photos):
    columns = {"path": [photos / "b.jpg", str(photos / "a.jpg")], "class": ["x", "y"]}
    assert [label for _, label in pairs(sources.open_source(columns))] == ["x", "y"]


def test_lists_a_text_file_of_paths_with_labels_or_without(photos):
    (photos / "plain.txt").write_text("sub/c.jpg\na.jpg\n")
    (photos / "labelled.txt").write_text("sub/c.jpg 1\na.jpg 0\n")
    assert pairs(sources.open_source(photos / "plain.txt")) == [
        ("sub/c.jpg", None),
        ("a.jpg", None),
    ]
    assert pairs(sources.open_source(photos / "labelled.txt")) == [
        ("sub/c.jpg", "1"),
        ("a.jpg", "0"),
    ]


@pytest.mark.parametrize(
    ("where", "error", "says"),
    [
        ([], PipelineError, "the list: there is no path in it"),
        ({"path": []}, PipelineError, "the table: there is no path in it"),
        (
            {"path": ["a.jpg", None]},
            UsageError,
            "the table, column path: the value of row 2 is None",
        ),
        (["empty.jpg"], PipelineError, r"none of its 1 images .*empty\.jpg: it has no bytes"),
        (["x.jpg", "y.jpg"], UsageError, "none of the 2 images of the list is there"),
    ],
)
def test_says_why_nothing_can_be_listed(photos, where, error, says):
    with pytest.raises(error, match=says):
        sources.open_source(where, root=photos)


def test_says_which_row_of_a_table_has_no_path(photos):
    (photos / "t.csv").write_text("path,label\na.jpg,1\n,2\n")
    with pytest.raises(
        UsageError, match=r"t\.csv, column path: the value of row 2 is '', not a path"
    ):
        sources.open_source(photos / "t.csv")


def test_columns_that_are_not_taken_for_labels_are_told(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"x")
    (tmp_path / "x.csv").write_text("foo,bar,two words\na.jpg,x,y\n")
    says = "no labels: none of the columns (bar, two words) looks like one; use --label-column bar"
    assert says in sources.open_source(tmp_path / "x.csv").notes
    assert says not in sources.open_source(tmp_path / "x.csv", label_column="bar").notes
    assert says not in sources.open_source(tmp_path / "x.csv", labels=False).notes


def write_files(root, *names, content=b"x"):
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
    write_files(tmp_path, "dog/2.jpg", "cat/1.jpg", "cat/x/3.PNG", "notes.txt")
    source = sources.open_source(tmp_path)
    assert labels(source) == {"cat/1.jpg": "cat", "cat/x/3.PNG": "cat", "dog/2.jpg": "dog"}
    assert source.class_counts == (2, 1)
    assert source.entries[0].file == str(tmp_path / "cat" / "1.jpg")
    assert source.read(source.entries[0]) == b"x"
    assert source.notes == ("1 other file left alone, for example notes.txt",)
    assert repr(source) == f"<folder {tmp_path}: 3 images in 2 classes>"


def test_a_slash_after_the_folder_changes_nothing(tmp_path):
    write_files(tmp_path, "cat/1.jpg")
    assert sources.open_source(f"{tmp_path}/").entries == sources.open_source(tmp_path).entries


def test_a_folder_without_classes_has_no_labels(tmp_path):
    write_files(tmp_path, "1.jpg", "2.jpg")
    source = sources.open_source(tmp_path)
    assert source.classes == ()
    assert labels(source) == {"1.jpg": None, "2.jpg": None}


def test_a_hostile_folder_loses_nothing_in_silence(tmp_path):
    case = hostile_folder(tmp_path / "bad")
    source = sources.open_source(case.path)
    read = {entry.name: source.read(entry) for entry in source.entries}
    assert set(read) == {*case.good, *case.at_reading}
    assert all(read[name] == content for name, content in case.good.items())
    assert {item.name: item.reason.value for item in source.rejected} == case.at_listing
    assert [item.name for item in source.rejected] == sorted(case.at_listing)
    assert source.classes == ("cat", "dog")


def test_takes_images_without_labels_on_request(tmp_path):
    write_files(tmp_path, "cat/1.jpg", "beside.jpg")
    source = sources.open_source(tmp_path, labels=False)
    assert labels(source) == {"beside.jpg": None, "cat/1.jpg": None}


def test_given_labels_belong_to_names_even_where_an_image_is_rejected(tmp_path):
    write_files(tmp_path, "a.jpg", "c.jpg")
    write_files(tmp_path, "b.jpg", content=b"")
    source = sources.open_source(tmp_path, labels=["x", "y", "z"])
    assert labels(source) == {"a.jpg": "x", "c.jpg": "z"}
    assert source.classes == ("x", "y", "z")
    with pytest.raises(UsageError, match="labels has 2 items for 3 images"):
        sources.open_source(tmp_path, labels=["x", "z"])


def test_keras_word_for_the_default_is_known(tmp_path):
    write_files(tmp_path, "cat/1.jpg")
    assert sources.open_source(tmp_path, labels="inferred").classes == ("cat",)


@pytest.mark.parametrize("made", [zipped, tarred])
def test_lists_an_archive_of_classes(tmp_path, made):
    path = made(tmp_path / "x", "dog/2.jpg", "cat/1.jpg", "cat/readme")
    source = sources.open_source(path)
    assert labels(source) == {"cat/1.jpg": "cat", "dog/2.jpg": "dog"}
    assert [source.read(entry) for entry in source.entries] == [b"cat/1.jpg", b"dog/2.jpg"]
    assert {entry.file for entry in source.entries} == {str(path)}


@pytest.mark.parametrize("made", [zipped, tarred])
def test_the_one_folder_in_an_archive_is_no_class(tmp_path, made):
    path = made(tmp_path / "x", "set/dog/2.jpg", "set/cat/1.jpg", "__MACOSX/set/cat/1.jpg")
    assert labels(sources.open_source(path)) == {"set/cat/1.jpg": "cat", "set/dog/2.jpg": "dog"}
    path = made(tmp_path / "y", "photos/1.jpg", "photos/2.jpg")
    assert labels(sources.open_source(path)) == {"photos/1.jpg": None, "photos/2.jpg": None}


@pytest.mark.parametrize("made", [zipped, tarred])
def test_lists_one_folder_of_an_archive(tmp_path, made):
    path = made(tmp_path / "x", "set/train/cat/1.jpg", "set/train/dog/2.jpg", "set/val/cat/3.jpg")
    assert "look like splits. To use what lies in one of them give --root set/train" in str(
        sources.open_source(path).notes
    )
    source = sources.open_source(path, root="set/train")
    assert labels(source) == {"set/train/cat/1.jpg": "cat", "set/train/dog/2.jpg": "dog"}


@pytest.mark.parametrize(
    ("names", "says"),
    [
        ((), r"no image in it. Looked for \.jpg, .*; found nothing at all"),
        (("a/notes.txt", "b.txt"), r"found 2 other files, for example a/notes\.txt"),
    ],
)
def test_says_what_it_found_instead_of_images(tmp_path, names, says):
    write_files(tmp_path, *names)
    with pytest.raises(PipelineError, match=says):
        sources.open_source(tmp_path)


def test_says_why_no_image_can_be_used(tmp_path):
    write_files(tmp_path, "a/1.jpg", "a/2.jpg", content=b"")
    with pytest.raises(PipelineError, match=r"2 left out, for example a/1\.jpg: it has no bytes"):
        sources.open_source(tmp_path)


def test_a_folder_with_an_odd_name_is_no_class(tmp_path):
    write_files(tmp_path, "cat/1.jpg")
    os.makedirs(os.fsencode(tmp_path) + b"/caf\xe9")
    with open(os.fsencode(tmp_path) + b"/caf\xe9/1.jpg", "wb") as file:
        file.write(b"x")
    assert sources.open_source(tmp_path).classes == ("cat",)
    assert [item.reason for item in sources.open_source(tmp_path).rejected] == [Reason.BAD_NAME]
    assert sources.open_source(tmp_path, keep_odd_names=True).classes == ("caf\udce9", "cat")


def test_images_of_kinds_that_are_not_read_keep_the_number_of_their_class(tmp_path):
    for name in ("ant/1.HEIC", "bee/1.jpg", "bee/2.tif", "cat/1.cr2", "notes/read.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    source = sources.open_source(tmp_path)
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
    assert sources.open_source(tmp_path).notes == ("2 hidden files and 1 hidden folder left alone",)


@pytest.fixture
def spelled_photos(tmp_path):
    (tmp_path / "cat").mkdir()
    (tmp_path / "cat" / "1.jpg").write_bytes(b"x")
    (tmp_path / "list.txt").write_text("cat/1.jpg\n")
    (tmp_path / "table.csv").write_text("path\ncat/1.jpg\n")
    return tmp_path


@pytest.mark.parametrize("spelled", [str, Path, os.fsencode])
@pytest.mark.parametrize(
    ("name", "kind"), [("", "folder"), ("list.txt", "list"), ("table.csv", "table")]
)
def test_takes_a_path_in_every_spelling(spelled_photos, spelled, name, kind):
    source = sources.open_source(spelled(spelled_photos / name))
    assert source.kind == kind
    assert [entry.name for entry in source.entries] == ["cat/1.jpg"]


class Tensor:
    """Has its values as tensors of TensorFlow do."""

    def __init__(self, values):
        self._values = np.array(values)

    def numpy(self):
        return self._values


def test_takes_tensors_of_paths_and_labels(spelled_photos):
    path = os.fsencode(spelled_photos / "cat" / "1.jpg")
    source = sources.open_source(Tensor([path, path]), labels=Tensor([b"owl", b"cat"]))
    assert [source.classes[entry.label] for entry in source.entries] == ["owl", "cat"]


def test_takes_any_iterable_of_paths(spelled_photos):
    assert len(sources.open_source(spelled_photos.glob("cat/*.jpg")).entries) == 1
    assert len(sources.open_source((spelled_photos / "cat" / "1.jpg",)).entries) == 1
