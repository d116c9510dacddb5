import json
import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quickfit.data import pack
from quickfit.data.packing import verify
from quickfit.errors import PipelineError

SMALL = {"shard_bytes": 20_000, "progress": False}


@pytest.fixture(scope="module")
def whole(photos, tmp_path_factory):
    """Return a whole pack; not to be changed."""
    path = tmp_path_factory.mktemp("packs") / "pack"
    pack(photos, path, **SMALL)
    return path


@pytest.fixture
def damaged(whole, tmp_path):
    """Return a copy of a whole pack, to be damaged."""
    return shutil.copytree(whole, tmp_path / "pack")


def faults(path):
    return "\n".join(map(str, verify(path).faults))


def first_shard(path):
    return min(path.glob("*.tfrecord"))


def first_list(path):
    return min((path / "index").iterdir())


def test_a_whole_pack_has_no_faults(whole):
    assert verify(whole).faults == ()
    assert "the pack is whole: 40 images" in repr(verify(whole))


@pytest.mark.parametrize("form", ["jpeg256", "raw"])
def test_every_form_is_verified(photos, tmp_path, form):
    pack(photos, tmp_path / "pack", form=form, size=16, **SMALL)
    assert not verify(tmp_path / "pack").faults


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_every_flipped_bit_of_a_shard_is_found(damaged, whole, place, bit):
    shard = first_shard(damaged)
    content = bytearray(first_shard(whole).read_bytes())
    content[int(place * len(content))] ^= 1 << bit
    shard.write_bytes(content)
    assert shard.name in faults(damaged)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1, exclude_max=True))
def test_every_cut_of_a_shard_is_found(damaged, whole, place):
    content = first_shard(whole).read_bytes()
    first_shard(damaged).write_bytes(content[: int(place * len(content))])
    assert f"and had {len(content):,}" in faults(damaged)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 6), which=st.integers(0, 2))
def test_every_flipped_bit_of_the_other_files_is_found(damaged, whole, place, bit, which):
    names = ["manifest.json", "sources.jsonl", f"index/{first_list(whole).name}"]
    file = damaged / names[which]
    content = bytearray((whole / names[which]).read_bytes())
    content[int(place * len(content))] ^= 1 << bit
    file.write_bytes(content)
    try:
        found = verify(damaged).faults
    except PipelineError:
        found = ("the manifest is damaged",)
    file.write_bytes((whole / names[which]).read_bytes())
    # White space between the values of a manifest says nothing.
    assert found or json.loads(content) == json.loads((whole / "manifest.json").read_text())


def test_a_fault_names_the_shard_and_the_record(damaged):
    lines = first_list(damaged).read_text().splitlines()
    third = json.loads(lines[2])
    shard = first_shard(damaged)
    content = bytearray(shard.read_bytes())
    content[third["offset"] + third["length"]] ^= 1
    shard.write_bytes(content)
    expected = f"{shard.name}, record 2: it is broken: the checksum of its content differs"
    assert expected in faults(damaged)


def test_missing_and_extra_shards_are_found(damaged):
    shard = first_shard(damaged)
    shard.rename(damaged / "data-00077-of-00006.tfrecord")
    found = faults(damaged)
    assert f"{shard.name}: it is missing" in found
    assert "data-00077-of-00006.tfrecord: this shard is not in the manifest" in found


def test_two_shards_in_each_others_place_are_found(damaged):
    one, two = sorted(damaged.glob("*.tfrecord"))[:2]
    content = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(content)
    assert f"{one.name}, record 0: the list in index/ says something else" in faults(damaged)


def test_bytes_behind_the_last_record_are_found(damaged):
    with first_shard(damaged).open("ab") as stream:
        stream.write(b"more")
    assert "the file ends 4 bytes into its head" in faults(damaged)


def test_a_missing_list_is_found(damaged):
    name = first_list(damaged).name
    first_list(damaged).unlink()
    assert f"index/{name}: it is missing" in faults(damaged)


def rewritten(path, **changes):
    """Change a manifest as someone would who also mends its checksum."""
    from quickfit.data.packing.manifest import manifest_checksum

    file = path / "manifest.json"
    values = json.loads(file.read_text()) | changes
    file.write_text(json.dumps(values | {"checksum": manifest_checksum(values)}))


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"count": 41}, "its count is not that of its shards"),
        ({"bytes": 7}, "its bytes is not that of its shards"),
        ({"class_counts": [24, 16]}, "'cat' should have 24 images, and has 25"),
        ({"classes": ["cat"], "class_counts": [25]}, "which is no class"),
        ({"form": "raw", "image_shape": [1, 1, 3]}, "has not the size of the pack"),
    ],
)
def test_a_manifest_that_contradicts_the_records_is_found(damaged, changes, what):
    rewritten(damaged, **changes)
    assert what in faults(damaged)


def test_an_image_of_the_source_that_is_nowhere_is_found(damaged):
    from quickfit.data.packing.verification import file_crc32c

    listing = damaged / "sources.jsonl"
    with listing.open("a") as stream:
        stream.write('{"path":"cat/lost.jpg","label":0,"bytes":7}\n')
    files = json.loads((damaged / "manifest.json").read_text())["files"]
    rewritten(damaged, files=files | {"sources.jsonl": file_crc32c(listing)})
    assert "'cat/lost.jpg' is in no shard and was not left out" in faults(damaged)


def test_a_disk_that_fails_is_a_fault_of_the_file(damaged, monkeypatch):
    def fails(stream, size=0):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("quickfit.data.packing.verification.read_frames", fails)
    assert f"{first_shard(damaged).name}: it cannot be read: Input/output error" in faults(damaged)
    monkeypatch.undo()
    monkeypatch.setattr("quickfit.data.packing.verification.file_crc32c", fails)
    assert "sources.jsonl: it cannot be read: Input/output error" in faults(damaged)


def test_the_faults_come_with_what_to_do(damaged):
    first_shard(damaged).unlink()
    text = repr(verify(damaged))
    assert "the pack has 1 fault:" in text
    assert "--restart" in text


def test_a_folder_that_is_no_pack_is_said(tmp_path):
    with pytest.raises(PipelineError, match=r"is no pack: it has no manifest\.json"):
        verify(tmp_path)
    with pytest.raises(PipelineError, match="there is no folder"):
        verify(tmp_path / "none")
