import io
import os
import tarfile
import zipfile

import pytest

from quickfit.data.sources.kinds import Kind, kind_of
from quickfit.errors import UsageError


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
        ("x.zip", zip_bytes(), Kind.ZIP),
        ("archive", zip_bytes(), Kind.ZIP),
        ("x.zip", b"cut off", Kind.ZIP),
        ("archive", tar_bytes(), Kind.TAR),
        ("x.tar", b"", Kind.TAR),
        ("x.csv", b"path,label\n", Kind.TABLE),
        ("x.tsv", b"path\tlabel\n", Kind.TABLE),
        ("x.txt", b"a.jpg,0\nb.jpg,1\n", Kind.TABLE),
        ("x.csv", "path,label\n".encode("utf-16"), Kind.TABLE),
        ("x.txt", b"a.jpg\nb.jpg\n", Kind.LINES),
        ("list", b"a.jpg 0\n", Kind.LINES),
    ],
)
def test_knows_files_by_their_first_bytes_and_endings(write, name, content, kind):
    assert kind_of(write(name, content)) is kind


def test_knows_folders_tables_and_lists(tmp_path):
    assert kind_of(tmp_path) is Kind.FOLDER
    assert kind_of(str(tmp_path)) is Kind.FOLDER
    assert kind_of(os.fsencode(tmp_path)) is Kind.FOLDER
    assert kind_of({"path": ["a.jpg"]}) is Kind.COLUMNS
    assert kind_of(["a.jpg"]) is Kind.PATHS
    assert kind_of(name for name in ("a.jpg",)) is Kind.PATHS


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
        kind_of(write(name, content))


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
        kind_of(path)


def test_says_that_a_pipe_is_no_source(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="pipe: is neither a folder nor a file"):
        kind_of(tmp_path / "pipe")


@pytest.mark.parametrize("wrong", [None, 3, 0.5])
def test_says_what_can_be_given_instead(wrong):
    with pytest.raises(UsageError, match=r"images cannot be read from .*\n.*a DataFrame or a list"):
        kind_of(wrong)
