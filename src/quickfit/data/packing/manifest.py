"""The manifest of a pack: what is in it, with checksums."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from quickfit.data.packing import json_lines
from quickfit.data.packing.layout import Layout
from quickfit.errors import PipelineError

KIND = "quickfit pack"
VERSION = 1


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
        values = {"kind": KIND, "version": VERSION} | asdict(self)
        return values | {"checksum": checksum(values)}


def checksum(values: dict[str, Any]) -> int:
    """Return the crc32c of a manifest's values without the checksum itself."""
    from crc32c import crc32c

    rest = {name: value for name, value in values.items() if name != "checksum"}
    return int(crc32c(json_lines.line(rest).encode()))


def read_manifest(folder: str | os.PathLike[str]) -> Manifest:
    """Return the manifest of a pack.

    Raises:
        PipelineError: the folder is no pack, or not a finished one.
    """
    layout = Layout(folder)
    return manifest_of(_values(layout), layout.manifest)


def _values(layout: Layout) -> dict[str, Any]:
    try:
        return json_lines.read(layout.manifest)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise PipelineError(_missing(layout)) from error
    except OSError as error:
        raise PipelineError(f"{layout.manifest}: cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise PipelineError(
            f"{layout.manifest}: is no manifest of a pack: {_short(error)}.\n"
            f"Make the pack again:\n    quickfit pack SRC {layout.folder} --restart"
        ) from error


def _missing(layout: Layout) -> str:
    if layout.plan.exists():
        return (
            f"{layout.folder}: this pack is not finished.\nRun the command that began it again; "
            f"it goes on where it stopped:\n    quickfit pack SRC {layout.folder}"
        )
    what = "is no pack: it has no manifest.json" if layout.folder.is_dir() else "there is no folder"
    return f"{layout.folder}: {what}.\nMake a pack:\n    quickfit pack SRC {layout.folder}"


def manifest_of(values: dict[str, Any], file: Path) -> Manifest:
    """Return the manifest that JSON holds.

    Raises:
        PipelineError: it is of something else, or of a newer quickfit.
    """
    if values.get("kind") != KIND:
        raise PipelineError(
            f"{file}: is no manifest of a pack (kind: {values.get('kind')!r}).\n"
            "Name a folder that `quickfit pack` made."
        )
    if values.get("version") != VERSION:
        raise PipelineError(
            f"{file}: the pack has version {values.get('version')!r}, this quickfit reads "
            f"{VERSION}.\nUpdate quickfit:\n    pip install -U quickfit"
        )
    try:
        return _checked(values)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise PipelineError(
            f"{file}: the manifest is damaged: {_damage(error)}.\n"
            f"Make the pack again:\n    quickfit pack SRC {file.parent} --restart"
        ) from error


def _checked(values: dict[str, Any]) -> Manifest:
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
        shards=tuple(_shard(**shard) for shard in values["shards"]),
        features={name: _feature(name, kind) for name, kind in values["features"].items()},
        image_shape=None if shape is None else (int(shape[0]), int(shape[1]), int(shape[2])),
        sources=dict(values["sources"]),
        files={str(name): int(crc) for name, crc in values["files"].items()},
    )


def _shard(file: str, count: int, bytes: int, crc32c: int) -> ShardFacts:
    if not isinstance(file, str) or Path(file).name != file:
        # A manifest from elsewhere must not lead readers out of its folder.
        raise ValueError(f"the shard {file!r} is no name of a file")
    return ShardFacts(file, int(count), int(bytes), int(crc32c))


def _feature(name: str, kind: str) -> str:
    # Both are part of the code that reads a pack without quickfit.
    if not name.isidentifier() or kind not in ("bytes", "int64"):
        raise ValueError(f"the field {name!r} of kind {kind!r}")
    return kind


def _damage(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"it does not say {str(error.args[0])!r}"
    if isinstance(error, ValueError) and "is no name of a file" in str(error):
        return str(error)
    return "a value in it is not of the kind that a pack writes"


def _short(error: Exception) -> str:
    return str(error)[:200]
