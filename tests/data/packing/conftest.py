"""Sources and packs for the tests of packing."""

import json
from collections import Counter
from pathlib import Path

import pytest

from quickfit.data import pack, tfrecord
from quickfit.data.packing.manifest import PackLayout
from quickfit.data.tfrecord import parse_example

from photos import folder


@pytest.fixture(scope="session")
def photos(tmp_path_factory):
    """Return a folder of 40 photographs in two classes; not to be changed."""
    path = tmp_path_factory.mktemp("photos")
    folder(path, {"cat": 25, "dog": 15})
    return path


@pytest.fixture
def read_pack():
    """Return a function that reads all records of a pack, in their order."""

    def read(path):
        records = []
        for file in sorted(Path(path).glob("data-*.tfrecord")):
            with file.open("rb") as stream:
                size = file.stat().st_size
                records += [parse_example(f.content) for f in tfrecord.read_frames(stream, size)]
        return records

    return read


@pytest.fixture
def content_of():
    """Return a function that returns all files of a folder with their bytes."""

    def content(path):
        files = [file for file in Path(path).rglob("*") if file.is_file()]
        return {file.relative_to(path).as_posix(): file.read_bytes() for file in files}

    return content


@pytest.fixture
def rejected_of():
    """Return a function that returns the reasons of a pack's rejected images, by name."""

    def rejected(path):
        lines = (Path(path) / "rejected.jsonl").read_text().splitlines()
        return {one["path"]: one["reason"] for one in map(json.loads, lines)}

    return rejected


@pytest.fixture
def identities(read_pack):
    """Return a function that counts (path, label, sha256) of a pack's records."""
    return lambda path: Counter((r.path, r.label, r.sha256) for r in read_pack(path))


@pytest.fixture
def begun():
    """Return a function that leaves a pack as a kill leaves it."""

    def begin(source, path):
        pack(source, path, shard_bytes=20_000, progress=False)
        layout = PackLayout(path)
        manifest = json.loads(layout.manifest.read_text())
        layout.partial.mkdir()
        layout.sources.replace(layout.listing)
        plan = {name: manifest[name] for name in ("version", "settings", "sources")}
        layout.plan.write_text(json.dumps(plan | {"kind": "quickfit pack plan"}))
        layout.manifest.unlink()
        layout.rejected.unlink()
        for shard in manifest["shards"][1:]:
            (layout.folder / shard["file"]).unlink()
        (layout.partial / "data-00001-of-00006.tfrecord.1.writing").write_bytes(b"half")
        return layout

    return begin
