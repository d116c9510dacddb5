"""A file is written whole or not at all."""

import os

import pytest

from quickfit.compression.quantizing.files import check_target, write_whole
from quickfit.errors import UsageError


def test_a_new_file_has_the_permissions_of_new_files(tmp_path):
    (tmp_path / "other").touch()
    write_whole(tmp_path / "model.tflite", b"content")
    assert (tmp_path / "model.tflite").read_bytes() == b"content"
    modes = {(tmp_path / name).stat().st_mode for name in ("other", "model.tflite")}
    assert len(modes) == 1


def test_a_file_in_its_place_keeps_its_permissions_and_a_link_stays_one(tmp_path):
    real, link = tmp_path / "real.tflite", tmp_path / "link.tflite"
    real.write_bytes(b"old")
    real.chmod(0o640)
    link.symlink_to(real)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert real.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(tmp_path)) == ["link.tflite", "real.tflite"]


def test_a_folder_in_its_place_is_told_and_nothing_is_left_over(tmp_path):
    (tmp_path / "sub").mkdir()
    with pytest.raises(UsageError, match=r"this is a folder\. Give the name of a file in it"):
        check_target(tmp_path / "sub")
    with pytest.raises(UsageError, match="cannot be written"):
        write_whole(tmp_path / "sub", b"content")
    assert os.listdir(tmp_path) == ["sub"]


def test_a_missing_folder_is_told_with_the_command_that_makes_it(tmp_path):
    with pytest.raises(UsageError, match=r"mkdir -p .*none"):
        check_target(tmp_path / "none" / "model.tflite")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_to_is_told(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(UsageError, match="nothing may be written to the folder"):
        check_target(tmp_path / "model.tflite")


def test_a_place_that_takes_no_files_is_told(tmp_path):
    with pytest.raises(UsageError, match=r"cannot be written \(No such file or directory\)"):
        write_whole(tmp_path / "gone" / "model.tflite", b"content")
