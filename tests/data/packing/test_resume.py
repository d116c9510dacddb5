import errno
import os
from pathlib import Path

import pytest

from quickfit.data import pack
from quickfit.errors import PipelineError, UsageError

from photos import folder, jpeg, photo

SMALL = {"shard_bytes": 20_000, "progress": False}


@pytest.fixture(params=["begun", "finished"])
def make(request, begun):
    """Return a function that leaves a pack that was begun, or is finished."""
    return begun if request.param == "begun" else lambda *where: pack(*where, **SMALL)


def test_a_finished_pack_with_a_shard_missing_is_not_called_packed(photos, tmp_path):
    pack(photos, tmp_path / "pack", **SMALL)
    shard = next((tmp_path / "pack").glob("*.tfrecord"))
    shard.write_bytes(b"short")
    with pytest.raises(PipelineError, match=f"but {shard.name} has 5 bytes, not"):
        pack(photos, tmp_path / "pack", **SMALL)
    shard.unlink()
    with pytest.raises(PipelineError, match=f"but {shard.name} is missing"):
        pack(photos, tmp_path / "pack", **SMALL)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"form": "raw"}, "form was original, and is now raw"),
        ({"seed": 3}, "seed was 0, and is now 3"),
        ({"shard_bytes": 30_000}, "shard bytes was 20 kB, and is now 30 kB"),
        ({"max_pixels": 10**6}, "max pixels was 178956970, and is now 1000000"),
        ({"check": "full"}, "check was quick, and is now full"),
    ],
)
def test_other_settings_are_an_error_that_names_them(
    photos, tmp_path, content_of, make, changes, what
):
    make(photos, tmp_path / "pack")
    before = content_of(tmp_path / "pack")
    with pytest.raises(PipelineError, match="was begun with something else") as error:
        pack(photos, tmp_path / "pack", **SMALL | changes)
    assert what in str(error.value)
    assert "--restart" in str(error.value)
    kept = content_of(tmp_path / "pack")
    assert {name: before[name] for name in kept} == kept


def test_a_changed_source_is_an_error_that_names_what_changed(tmp_path, make):
    source = tmp_path / "photos"
    folder(source, {"cat": 6})
    make(source, tmp_path / "pack")
    (source / "cat" / "00001.jpg").unlink()
    (source / "cat" / "00003.jpg").write_bytes(jpeg(photo(70, 90)))
    (source / "cat" / "00009.jpg").write_bytes(jpeg(photo()))
    with pytest.raises(PipelineError, match="the source has changed") as error:
        pack(source, tmp_path / "pack", **SMALL)
    message = str(error.value)
    assert "6 images before, 6 now" in message
    assert "'cat/00001.jpg' is gone" in message
    assert "'cat/00003.jpg' has another size or label" in message
    assert "'cat/00009.jpg' is new" in message


def test_renamed_classes_are_a_changed_source(tmp_path):
    source = tmp_path / "photos"
    folder(source, {"cat": 2})
    (source / "dog").mkdir()
    pack(source, tmp_path / "pack", **SMALL)
    (source / "dog").rename(source / "wolf")
    with pytest.raises(PipelineError, match="the classes have other names"):
        pack(source, tmp_path / "pack", **SMALL)


def test_a_plan_that_cannot_be_read_is_said(photos, tmp_path, begun):
    begun(photos, tmp_path / "pack").plan.write_text("{")
    with pytest.raises((PipelineError, UsageError), match=r"plan\.json: cannot be read") as error:
        pack(photos, tmp_path / "pack", **SMALL)
    assert "--restart" in str(error.value)
    assert pack(photos, tmp_path / "pack", restart=True, **SMALL).count == 40


def test_a_finished_pack_with_a_damaged_manifest_can_be_made_anew(photos, tmp_path):
    pack(photos, tmp_path / "pack", **SMALL)
    (tmp_path / "pack" / "manifest.json").write_text("{")
    with pytest.raises(PipelineError, match=r"manifest\.json: cannot be read") as error:
        pack(photos, tmp_path / "pack", **SMALL)
    assert "--restart" in str(error.value)
    assert pack(photos, tmp_path / "pack", restart=True, **SMALL).count == 40


def test_what_only_follows_from_the_form_is_not_told(photos, tmp_path):
    pack(photos, tmp_path / "pack", form="raw", progress=False)
    with pytest.raises(PipelineError) as error:
        pack(photos, tmp_path / "pack", seed=2, progress=False)
    told = [
        line for line in str(error.value).splitlines() if line.startswith("  ") and "was" in line
    ]
    assert told == ["  form was raw, and is now original", "  seed was 0, and is now 2"]


def test_a_shard_of_a_finished_pack_that_cannot_be_read_is_an_error(photos, tmp_path, monkeypatch):
    pack(photos, tmp_path / "pack", progress=False)
    opened = Path.open

    def failing(file, *args, **kwargs):
        if file.suffix == ".tfrecord":  # root may read everything: permissions would not do
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return opened(file, *args, **kwargs)

    monkeypatch.setattr(Path, "open", failing)
    with pytest.raises(PipelineError, match=r"\.tfrecord cannot be read: Input/output error"):
        pack(photos, tmp_path / "pack", progress=False)


def test_a_finished_pack_without_its_list_of_what_was_left_out_is_an_error(tmp_path):
    folder(tmp_path / "photos", {"cat": 2})
    (tmp_path / "photos" / "cat" / "none.jpg").write_bytes(b"text")
    pack(tmp_path / "photos", tmp_path / "pack", progress=False)
    (tmp_path / "pack" / "rejected.jsonl").unlink()
    with pytest.raises(PipelineError, match=r"was finished, but rejected\.jsonl is missing"):
        pack(tmp_path / "photos", tmp_path / "pack", progress=False)
