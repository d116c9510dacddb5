"""The files of a pack, and its manifest with the checksums."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from quickfit.errors import PipelineError

# Made once: `json.dumps` would make one for every line.
_encode_json = json.JSONEncoder(separators=(",", ":")).encode
MANIFEST_FILE = "manifest.json"
REJECTED_FILE = "rejected.jsonl"
SOURCES_FOLDER = "sources.jsonl"
INDEX_FOLDER = "index"
PARTIAL_SUFFIX = ".partial"
_SHARD_NAME = re.compile(r"data-\d{5,}-of-\d{5,}\.tfrecord")
_INDEX_NAME = re.compile(r"data-\d{5,}-of-\d{5,}\.jsonl")
_PARTIAL_NAME = re.compile(
    r"plan\.json|sources\.jsonl|data-\d{5,}(-of-\d{5,})?\.(tfrecord|jsonl|json)|.*\.writing"
)
MANIFEST_KIND = "quickfit pack"
MANIFEST_VERSION = 1


def json_line(values: Mapping[str, Any]) -> str:  # whatever JSON holds
    """Return one line of a file of JSON objects."""
    return _encode_json(values) + "\n"


def read_json_lines(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file.

    Raises:
        ValueError: a line is no JSON object.
    """
    with file.open(encoding="utf-8") as opened:
        for number, text in enumerate(opened, 1):
            values = _parse_json_line(text)
            if not isinstance(values, dict):
                raise ValueError(f"line {number} is no JSON object")
            yield values


def _parse_json_line(text: str) -> Any:  # whatever JSON holds
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def write_json_lines(file: Path, aside: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    """Write a file of JSON objects; it is there when it is whole."""
    _write_aside(file, aside, map(json_line, lines))


def write_json(file: Path, aside: Path, values: Mapping[str, Any]) -> None:
    """Write a file of one JSON object; it is there when it is whole."""
    _write_aside(file, aside, (json.dumps(values, indent=1), "\n"))


def _write_aside(file: Path, aside: Path, texts: Iterable[str]) -> None:
    with aside.open("w", encoding="ascii", newline="\n") as opened:
        opened.writelines(texts)
    aside.replace(file)


def read_json(file: Path) -> dict[str, Any]:
    """Return the JSON object of a file.

    Raises:
        ValueError: it is none.
    """
    values = _parse_json_line(file.read_text(encoding="utf-8"))
    if not isinstance(values, dict):
        raise ValueError("it is no JSON object")
    return values


def shard_name(number: int, total: int) -> str:
    """Return what a shard and its index are called, without the ending."""
    return f"data-{number:05d}-of-{total:05d}"


@dataclass(frozen=True, slots=True)
class ShardFiles:
    """The files of one shard: its records, their list, and the note of what both must be."""

    name: str
    records: Path
    index: Path
    note: Path

    def rename(self, others: ShardFiles) -> None:
        """Give the files other names; the note last."""
        self.index.replace(others.index)
        self.records.replace(others.records)
        self.note.replace(others.note)


class PackLayout:
    """The paths of a pack.

    What is made is written to `.partial` and renamed when it is whole. There are also the plan
    and, for each shard that is in place, a note of what it must be.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.manifest = self.folder / MANIFEST_FILE
        self.rejected = self.folder / REJECTED_FILE
        self.sources = self.folder / SOURCES_FOLDER
        self.indexes = self.folder / INDEX_FOLDER
        self.partial = self.folder / PARTIAL_SUFFIX
        self.plan = self.partial / "plan.json"
        self.listing = self.partial / SOURCES_FOLDER
        self.unpacked = self.partial / "unpacked"

    def shard(self, name: str) -> ShardFiles:
        """Return the files of a shard in place."""
        return ShardFiles(
            name,
            self.folder / f"{name}.tfrecord",
            self.indexes / f"{name}.jsonl",
            self.partial / f"{name}.json",
        )

    def staged(self, number: int) -> ShardFiles:
        """Return the files of a whole shard that gets its name when all shards are there."""
        name = f"data-{number:05d}"
        return ShardFiles(
            name,
            self.partial / f"{name}.tfrecord",
            self.partial / f"{name}.jsonl",
            self.partial / f"{name}.json",
        )

    def aside(self, name: str, ending: str) -> Path:
        """Return where this process writes a file until it is whole."""
        return self.partial / f"{name}.{ending}.{os.getpid()}.writing"

    def written(self) -> Iterator[Path]:
        """Yield all files in the folder that a pack has written, the manifest first."""
        yield from (file for file in (self.manifest, self.rejected, self.sources) if file.exists())
        for folder, names in ((self.folder, _SHARD_NAME), (self.indexes, _INDEX_NAME)):
            if folder.is_dir():
                yield from (file for file in sorted(folder.iterdir()) if names.fullmatch(file.name))
        yield from self.partial_files()

    def partial_files(self) -> Iterator[Path]:
        """Yield the files that only an unfinished pack needs."""
        if self.partial.is_dir():
            files = (file for file in self.partial.iterdir() if not file.is_dir())
            yield from sorted(file for file in files if _PARTIAL_NAME.fullmatch(file.name))

    def unfinished_files(self) -> list[Path]:
        """Return the files that were being written when a pack ended."""
        return [file for file in self.partial_files() if file.name.endswith(".writing")]

    def has_lists(self) -> bool:
        """Return whether there are lists of shards, which nothing but a pack has."""
        return self.indexes.is_dir() and any(map(_INDEX_NAME.fullmatch, os.listdir(self.indexes)))

    def others(self) -> list[str]:
        """Return what is in the folder beside what a pack that has just begun makes there."""
        return sorted(name for name in os.listdir(self.folder) if not self._is_begun(name))

    def _is_begun(self, name: str) -> bool:
        folder = self.folder / name
        if name not in (INDEX_FOLDER, PARTIAL_SUFFIX) or not folder.is_dir():
            return False
        inside = set(os.listdir(folder))
        if name == INDEX_FOLDER:
            return not inside
        return inside <= {self.unpacked.name, *(file.name for file in self.partial_files())}


@dataclass(frozen=True, slots=True)
class ShardFacts:
    """One file of records."""

    file: str
    count: int
    bytes: int
    crc32c: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a pack holds.

    Args:
        form: `original`, `jpeg256` or `raw`.
        settings: what it was made with.
        count: its images.
        bytes: the size of its shards.
        classes: the name of each label; empty without labels.
        class_counts: how many images each class has.
        rejected: how many images were left out.
        shards: its files, in their order.
        features: the fields of a record and their kinds, `bytes` or `int64`.
        image_shape: of every image, where all have the same (height, width, channels).
        sources: what it was made from.
        files: the crc32c of each other file of the pack.
    """

    form: str
    settings: dict[str, Any]  # whatever JSON holds
    count: int
    bytes: int
    classes: tuple[str, ...]
    class_counts: tuple[int, ...]
    rejected: int
    shards: tuple[ShardFacts, ...]
    features: dict[str, str]
    image_shape: tuple[int, int, int] | None
    sources: dict[str, Any]
    files: dict[str, int]

    def as_json(self) -> dict[str, Any]:
        """Return the manifest as its file holds it."""
        values = {"kind": MANIFEST_KIND, "version": MANIFEST_VERSION} | asdict(self)
        return values | {"checksum": manifest_checksum(values)}


def manifest_checksum(values: dict[str, Any]) -> int:
    """Return the crc32c of a manifest's values without the checksum itself."""
    from crc32c import crc32c

    rest = {name: value for name, value in values.items() if name != "checksum"}
    return int(crc32c(json_line(rest).encode()))


def read_manifest(folder: str | os.PathLike[str]) -> Manifest:
    """Return the manifest of a pack.

    Raises:
        PipelineError: the folder is no pack, or not a finished one.
    """
    layout = PackLayout(folder)
    return parse_manifest(_read_values(layout), layout.manifest)


def _read_values(layout: PackLayout) -> dict[str, Any]:
    try:
        return read_json(layout.manifest)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise PipelineError(_missing_text(layout)) from error
    except OSError as error:
        raise PipelineError(f"{layout.manifest}: cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise PipelineError(
            f"{layout.manifest}: is no manifest of a pack: {str(error)[:200]}.\n"
            f"Make the pack again:\n    quickfit pack SRC {layout.folder} --restart"
        ) from error


def _missing_text(layout: PackLayout) -> str:
    if layout.plan.exists():
        return (
            f"{layout.folder}: this pack is not finished.\nRun the command that began it again; "
            f"it goes on where it stopped:\n    quickfit pack SRC {layout.folder}"
        )
    what = "is no pack: it has no manifest.json" if layout.folder.is_dir() else "there is no folder"
    return f"{layout.folder}: {what}.\nMake a pack:\n    quickfit pack SRC {layout.folder}"


def parse_manifest(values: dict[str, Any], file: Path) -> Manifest:
    """Return the manifest that JSON holds.

    Raises:
        PipelineError: it is of something else, or of a newer quickfit.
    """
    if values.get("kind") != MANIFEST_KIND:
        raise PipelineError(
            f"{file}: is no manifest of a pack (kind: {values.get('kind')!r}).\n"
            "Name a folder that `quickfit pack` made."
        )
    if values.get("version") != MANIFEST_VERSION:
        raise PipelineError(
            f"{file}: the pack has version {values.get('version')!r}, this quickfit reads "
            f"{MANIFEST_VERSION}.\nUpdate quickfit:\n    pip install -U quickfit"
        )
    try:
        return _build_manifest(values)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise PipelineError(
            f"{file}: the manifest is damaged: {_damage_text(error)}.\n"
            f"Make the pack again:\n    quickfit pack SRC {file.parent} --restart"
        ) from error


def _build_manifest(values: dict[str, Any]) -> Manifest:
    shape = values["image_shape"]
    if len(values["classes"]) != len(values["class_counts"]):
        raise ValueError("a count for every class")
    if values["form"] != "original":
        _ = values["settings"]["size"], values["settings"]["quality"]
    return Manifest(
        form=str(values["form"]),
        settings=dict(values["settings"]),
        count=int(values["count"]),
        bytes=int(values["bytes"]),
        classes=tuple(map(str, values["classes"])),
        class_counts=tuple(map(int, values["class_counts"])),
        rejected=int(values["rejected"]),
        shards=tuple(_shard_facts(**shard) for shard in values["shards"]),
        features={name: _feature_kind(name, kind) for name, kind in values["features"].items()},
        image_shape=None if shape is None else (int(shape[0]), int(shape[1]), int(shape[2])),
        sources=dict(values["sources"]),
        files={str(name): int(crc) for name, crc in values["files"].items()},
    )


def _shard_facts(file: str, count: int, bytes: int, crc32c: int) -> ShardFacts:
    if not isinstance(file, str) or Path(file).name != file:
        # A manifest from elsewhere must not lead readers out of its folder.
        raise ValueError(f"the shard {file!r} is no name of a file")
    return ShardFacts(file, int(count), int(bytes), int(crc32c))


def _feature_kind(name: str, kind: str) -> str:
    # Both are part of the code that reads a pack without quickfit.
    if not name.isidentifier() or kind not in ("bytes", "int64"):
        raise ValueError(f"the field {name!r} of kind {kind!r}")
    return kind


def _damage_text(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"it does not say {str(error.args[0])!r}"
    if isinstance(error, ValueError) and "is no name of a file" in str(error):
        return str(error)
    return "a value in it is not of the kind that a pack writes"
