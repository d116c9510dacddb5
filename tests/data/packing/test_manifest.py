import json

import pytest

from quickfit.data import pack
from quickfit.data.packing import read_manifest
from quickfit.errors import PipelineError


@pytest.fixture
def packed(photos, tmp_path):
    return pack(photos, tmp_path / "pack", progress=False)


def changed(packed, **changes):
    file = packed.folder / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))
    return packed.folder


def test_it_is_read_as_it_was_written(packed):
    assert read_manifest(packed.folder) == packed.manifest
    assert (
        json.loads((packed.folder / "manifest.json").read_text())["checksum"]
        == (packed.manifest.as_json()["checksum"])
    )


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"kind": "other"}, "is no manifest of a pack (kind: 'other')"),
        ({"version": 2}, "the pack has version 2, this quickfit reads 1"),
        ({"shards": 5}, "the manifest is damaged: a value in it is not of the kind"),
        ({"shards": [{"file": "a"}]}, "the manifest is damaged: a value in it is not of the kind"),
        ({"count": "many"}, "the manifest is damaged: a value in it is not of the kind"),
        ({"image_shape": [1]}, "the manifest is damaged: a value in it is not of the kind"),
        ({"files": []}, "the manifest is damaged: a value in it is not of the kind"),
        (
            {"shards": [{"file": "../x.tfrecord", "count": 1, "bytes": 1, "crc32c": 1}]},
            "the shard '../x.tfrecord' is no name of a file",
        ),
    ],
)
def test_a_manifest_that_is_none_is_said(packed, changes, what):
    with pytest.raises(PipelineError) as error:
        read_manifest(changed(packed, **changes))
    assert what in str(error.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "\xff", "[" * 100_000])
def test_a_file_that_is_no_json_is_said(packed, text):
    (packed.folder / "manifest.json").write_text(text, encoding="latin-1")
    with pytest.raises(PipelineError, match="is no manifest of a pack"):
        read_manifest(packed.folder)


def test_a_pack_that_is_not_finished_is_said(packed):
    (packed.folder / "manifest.json").unlink()
    (packed.folder / ".partial").mkdir()
    (packed.folder / ".partial" / "plan.json").write_text("{}")
    with pytest.raises(PipelineError, match="this pack is not finished") as error:
        read_manifest(packed.folder)
    assert "it goes on where it stopped" in str(error.value)
