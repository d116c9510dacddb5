"""The kinds of outside input: seeds, a way to change one, and the readers that get it.

Most seeds come from this repository. What must hold for every input is in `judging`.
"""

import csv
import gzip
import hashlib
import io
import json
import os
import sqlite3
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from random import Random
from types import SimpleNamespace

import h5py  # at once: it asks `uname` when it is first imported

from fuzz import mutations
from fuzz.judging import TREE, Case, Kind
from quickfit.errors import QuickfitError

# Stands for the folder of a case in the files of it.
HOME = "@HOME@"


def _one(case: Case, name: str, data: bytes) -> Case:
    return {**case, name: data}


# -- recordings ---------------------------------------------------------------------------------

# Together they have rows in every table that a run fills.
_RECORDINGS = (
    *(
        "healthy/fast_generator.alone",
        "pairs/memory-held",
        "variants/missing-tf-function.modules",
    ),
    *("variants/shuffle-after-decode.modules", "pairs/time-in-tracing"),
    *("variants/steps-with-finite-pydataset.modules", "variants/xla-first-compile.helper"),
)
_RUN = {
    "format_version": 1,
    "script": "train.py",
    "module": None,
    "argv": ["train.py", "--epochs", "3"],
    "cwd": "/home/user/project",
    "pid": 1,
    "exit_code": 0,
    "ended_at": 1.7e9,
    "started_at": 1.6e9,
    "early": {"at_step": 12, "causes": ["sequential-map"]},
    "log_lines": [
        {
            "pattern": "ran out of memory",
            "count": 3,
            "first_s": 1.0,
            "last_s": 2.5,
            "text": "Allocator ran out of memory",
            "numbers": [1.0, 2.0],
        }
    ],
    "quiet": [
        {
            "text": "quiet for 30 s",
            "step": 5,
            "quiet_s": 31.0,
            "moved_again_s": 40.0,
            "cause": "generator-never-yields",
            "summary": "waits in `next`",
            "file": "train.py",
            "line": 3,
            "moves": False,
            "evidence": [{"what": "wait", "value": 3.0, "unit": "s", "detail": "in next"}],
        }
    ],
}


@cache
def recording_seeds() -> list[Case]:
    cases = []
    for name in _RECORDINGS:
        with tempfile.TemporaryDirectory() as place:
            archive = TREE / "tests" / "recordings" / f"{name}.tar.xz"
            with tarfile.open(archive) as tar:
                tar.extractall(place, filter="data")
            file = next(Path(place).rglob("*.sqlite"))
            cases.append(
                {"1.sqlite": _compact(file), "run.json": json.dumps(_RUN, indent=1).encode()}
            )
    return cases


def _compact(file: Path) -> bytes:
    """Return a recording in small pages, so that a case is small too."""
    with closing(sqlite3.connect(file)) as db:
        db.execute("PRAGMA journal_mode = DELETE")
        for table, most in (("samples", 60), ("machine", 20), ("thread_groups", 20)):
            with suppress(sqlite3.Error):
                db.execute(f"DELETE FROM {table} WHERE rowid > {most}")
        db.commit()
        db.execute("PRAGMA page_size = 512")
        db.execute("VACUUM")
    return file.read_bytes()


def change_recording(rng: Random, seeds: list[Case]) -> Case:
    case = rng.choice(seeds)
    if rng.random() < 0.15:
        run = mutations.change_json(rng, json.loads(case["run.json"]))
        return _one(case, "run.json", mutations.dump_json(rng, run))
    changed = _one(case, "1.sqlite", mutations.change_sqlite(rng, case["1.sqlite"]))
    if rng.random() < 0.02:
        junk = mutations.change_bytes(rng, case["1.sqlite"][:3000])
        changed[rng.choice(("1.sqlite-wal", "1.sqlite-journal", "2.sqlite"))] = junk
    return changed


def read_recording(folder: Path) -> str:
    from quickfit.diagnosis import diagnose
    from quickfit.launch.follow import progress
    from quickfit.liveness.rows import NewRows
    from quickfit.recording import folder as folders
    from quickfit.report import dumps, write_report
    from quickfit.trust import NotTrusted

    file = folder / "1.sqlite"
    progress(file)
    rows = NewRows(file)
    rows.facts()
    rows.since("machine", 0.0, 10)
    with suppress(NotTrusted):
        folders.check_launch(folders.read_run_file(folder), folder)
    diagnosed = diagnose(folder)
    out = io.StringIO()
    write_report(diagnosed, out, verbose=True)
    text = dumps(diagnosed)
    json.loads(text)
    return out.getvalue() + text


# -- scripts and notebooks ----------------------------------------------------------------------


@cache
def script_texts() -> list[str]:
    """Return short scripts, with faults and without."""
    found = []
    for folder in ("corpus/short", "corpus/short_second", "benchmarks/check", "benchmarks/styles"):
        files = sorted((TREE / folder).rglob("*.py"))
        short = [file for file in files if 0 < file.stat().st_size < 5_000]
        found += [file.read_text(errors="replace") for file in short]
    return found


def script_seeds() -> list[Case]:
    return [{"train.py": text.encode()} for text in script_texts()]


def change_script(rng: Random, seeds: list[Case]) -> Case:
    data = rng.choice(seeds)["train.py"]
    if rng.random() < 0.1:
        return {"train.py": mutations.change_bytes(rng, data)}
    text = mutations.change_source(rng, data.decode(errors="replace"), script_texts())
    return {"train.py": text.encode("utf-8", "surrogatepass")}


def read_script(folder: Path) -> str:
    return _check(next(folder.glob("train.*")))


def _check(file: Path) -> str:
    """Return all that `quickfit check` writes about a file, and with `--diff`."""
    from quickfit.checking.command import Request, check

    # The answer depends on the file alone, so that a case can be repeated.
    number = hashlib.sha256(file.read_bytes()).digest()[0]
    format = ("text", "json", "sarif", "github")[number % 4]
    out, err = io.StringIO(), io.StringIO()
    words = {"words": (str(file),), "isolated": True, "jobs": 1, "hints": True}
    check(Request(**words, format=format), stdin=io.BytesIO(), out=out, err=err)
    check(Request(**words, diff=True), stdin=io.BytesIO(), out=out, err=err)
    return out.getvalue() + err.getvalue()


@cache
def notebook_seeds() -> list[Case]:
    files = sorted((TREE / "benchmarks").rglob("*.ipynb"))
    found = [file.read_bytes() for file in files if file.stat().st_size < 20_000]
    for text in script_texts()[:40]:
        cells = [
            {"cell_type": "code", "metadata": {}, "source": part.splitlines(keepends=True)}
            for part in text.split("\n\n")
        ]
        book = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        found.append(json.dumps(book, indent=1).encode())
    return [{"train.ipynb": data} for data in found]


def change_notebook(rng: Random, seeds: list[Case]) -> Case:
    data = rng.choice(seeds)["train.ipynb"]
    if rng.random() < 0.1:
        return {"train.ipynb": mutations.change_bytes(rng, data)}
    book = json.loads(data)
    if rng.random() < 0.5:
        cell = rng.choice([cell for cell in book["cells"] if cell.get("source")])
        source = mutations.change_source(rng, "".join(cell["source"]), script_texts())
        cell["source"] = source if rng.random() < 0.3 else source.splitlines(keepends=True)
    if rng.random() < 0.6:
        book = mutations.change_json(rng, book)
    return {"train.ipynb": mutations.dump_json(rng, book)}


# -- settings -----------------------------------------------------------------------------------

_PYPROJECT = """\
[project]
name = "x"
dependencies = ["tensorflow>=2.16,<2.20", "keras==3.3"]
[tool.quickfit]
select = ["sequential-map", "predict-in-loop"]
ignore = ["tiny-batch"]
exclude = ["build/**", "*.tmp"]
hints = true
format = "json"
[tool.quickfit.per-file-ignores]
"old/*.py" = ["predict-in-loop"]
"""
_TOML = (
    *(
        "[",
        "]",
        "[[",
        "]]",
        "=",
        ",",
        "\n",
        '"',
        "'''",
        "#",
        "inf",
        "nan",
        "1979-05-27",
        "0x_",
        "{",
    ),
    *("select", "tool.quickfit", "true", '"**/["', '"[!"', '"\\u0000"', "9" * 5000, "[" * 2000),
    *("a." * 500, "\x1b", "\u202e", '"\\U00110000"', '["all"]', '"*" = ["x"]', "-0", "'\t'", "}"),
)


def settings_seeds() -> list[Case]:
    pins = b"tensorflow==2.12 # old\nkeras<3\npip install tensorflow[and-cuda]~=2.9\n"
    return [{"pyproject.toml": _PYPROJECT.encode(), "requirements.txt": pins}]


def change_settings(rng: Random, seeds: list[Case]) -> Case:
    case = dict(rng.choice(seeds))
    if rng.random() < 0.2:
        name = rng.choice(list(case))
        return _one(case, name, mutations.change_bytes(rng, case[name]))
    lines = case["pyproject.toml"].decode().splitlines(keepends=True)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(lines))
        words = lines[at].split(" ")
        words[rng.randrange(len(words))] = rng.choice((*_TOML, *mutations.TEXTS))
        lines[at] = rng.choice((" ".join(words), lines[at] * 2, rng.choice(_TOML)))
    text = "".join(lines).replace("x" * 70_000, "x" * 3_000)
    return _one(case, "pyproject.toml", text.encode("utf-8", "surrogatepass"))


def read_settings(folder: Path) -> str:
    from quickfit.checking.paths import is_match
    from quickfit.checking.settings import chosen, nearest_settings
    from quickfit.code.versions import pins_keras2

    for file in folder.iterdir():
        pins_keras2(file.read_text(errors="replace"))
    settings = nearest_settings(folder)
    chosen((), (), settings, hints=False)
    for glob in (*settings.exclude, *(glob for glob, _ in settings.per_file_ignores)):
        is_match(str(folder / "old" / "train.py"), glob, settings.base)
    return ""


# -- model files --------------------------------------------------------------------------------

_DENSE = {
    "module": "keras.layers",
    "class_name": "Dense",
    "config": {
        "name": "dense",
        "units": 4,
        "activation": "relu",
        "dtype": {"module": "keras", "class_name": "DTypePolicy", "config": {"name": "float32"}},
        "kernel_initializer": {
            "module": "keras.initializers",
            "class_name": "GlorotUniform",
            "config": {"seed": None},
            "registered_name": None,
        },
    },
    "registered_name": None,
    "build_config": {"input_shape": [None, 8]},
}
_MODEL = {
    "module": "keras",
    "class_name": "Sequential",
    "config": {
        "name": "sequential",
        "layers": [
            _DENSE,
            {"class_name": "Lambda", "module": "keras.layers", "config": {"name": "code"}},
            {"class_name": "Own", "module": "my_layers", "registered_name": "p>Own", "config": {}},
        ],
    },
    "compile_config": {
        "optimizer": "adam",
        "loss": {"class_name": "function", "module": "builtins", "config": "my_loss"},
    },
}


@cache
def model_seeds() -> list[Case]:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("metadata.json", json.dumps({"keras_version": "3.15.0"}))
        file.writestr("config.json", json.dumps(_MODEL))
        file.writestr("model.weights.h5", b"\x89HDF\r\n\x1a\n" + bytes(64))
    return [{"model.keras": archive.getvalue()}]


def change_model(rng: Random, seeds: list[Case]) -> Case:
    def change(rng: Random, content: bytes) -> bytes:
        try:
            value = json.loads(content)
        except ValueError:
            return mutations.change_bytes(rng, content)
        return mutations.dump_json(rng, mutations.change_json(rng, value))

    return {"model.keras": mutations.change_zip(rng, rng.choice(seeds)["model.keras"], change)}


@cache
def hdf5_seeds() -> list[Case]:
    content = io.BytesIO()
    with h5py.File(content, "w", libver="latest") as file:
        file.attrs["model_config"] = json.dumps(_MODEL)
        file.attrs["training_config"] = json.dumps(_MODEL["compile_config"])
    return [{"model.h5": content.getvalue()}]


def change_hdf5(rng: Random, seeds: list[Case]) -> Case:
    if rng.random() < 0.5:
        return {"model.h5": mutations.change_bytes(rng, rng.choice(seeds)["model.h5"])}
    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        for key in ("model_config", "training_config"):
            value = mutations.dump_json(rng, mutations.change_json(rng, _MODEL))[:30_000]
            odd = rng.choice((value, value.decode(errors="replace"), 3, [1.5, 2.0], b""))
            with suppress(ValueError, TypeError, OSError):
                file.attrs[key] = odd if rng.random() < 0.2 else value
    return {"model.h5": content.getvalue()}


def read_model(folder: Path) -> str:
    from quickfit.compression.model_file import read_contents

    read_contents(next(folder.iterdir()))
    return ""


@cache
def array_seeds() -> list[Case]:
    import numpy as np

    found = io.BytesIO()
    np.savez(found, x=np.zeros((3, 4), np.float32), y=np.arange(3))
    packed = io.BytesIO()
    np.savez_compressed(packed, x=np.ones((2, 2)), labels=np.array(["a", "b"]))
    return [{"data.npz": found.getvalue()}, {"data.npz": packed.getvalue()}]


def change_arrays(rng: Random, seeds: list[Case]) -> Case:
    def change(rng: Random, content: bytes) -> bytes:
        words = (b"'<f4'", b"'|O'", b"(3, 4)", b"(2**40,)", b"(99999999999, 9)", b"False", b"-1")
        if rng.random() < 0.5:
            return content.replace(rng.choice(words), rng.choice(words))
        return mutations.change_bytes(rng, content)

    return {"data.npz": mutations.change_zip(rng, rng.choice(seeds)["data.npz"], change)}


def read_arrays(folder: Path) -> str:
    from quickfit.compression.calibration import ModelInput
    from quickfit.compression.sample_files import read_npz

    read_npz(folder / "data.npz", [ModelInput("x", ("x",), (None, 4), "float32")])
    return ""


# -- packs, archives and images -----------------------------------------------------------------


@cache
def images() -> dict[str, bytes]:
    """Return a small image file of every format."""
    import numpy as np
    from PIL import Image

    pixels = np.random.default_rng(1).integers(0, 255, (6, 9, 3), np.uint8)
    picture = Image.fromarray(pixels)
    found = {}
    for name in ("jpeg", "png", "gif", "bmp", "webp", "avif"):
        content = io.BytesIO()
        picture.save(content, name)
        found[name] = content.getvalue()
    for name, mode in (("png", "P"), ("png", "LA"), ("jpeg", "L"), ("jpeg", "CMYK"), ("gif", "P")):
        content = io.BytesIO()
        picture.convert(mode).save(content, name)
        found[f"{mode}.{name}"] = content.getvalue()
    turned = Image.Exif()
    turned[0x0112] = 6
    content = io.BytesIO()
    picture.save(content, "jpeg", exif=turned, progressive=True)
    found["exif.jpeg"] = content.getvalue()
    return found


def image_seeds() -> list[Case]:
    return [{"image": data} for data in images().values()]


def change_image(rng: Random, seeds: list[Case]) -> Case:
    return {"image": mutations.change_bytes(rng, rng.choice(seeds)["image"], times=6)}


def read_image(folder: Path) -> str:
    from quickfit.data.pixels import decode, read_header
    from quickfit.probes._image_sizes import image_size

    content = (folder / "image").read_bytes()
    image_size(content)
    image_size(os.fsencode(folder / "image"))
    header = read_header(content, max_pixels=4_000_000)
    decode(content, header=header)
    return ""


def _source_image_error() -> type[Exception]:
    from quickfit.data.entries import SourceImageError

    return SourceImageError


@cache
def pack_seeds() -> list[Case]:
    from quickfit.data import pack

    found = []
    with tempfile.TemporaryDirectory() as place:
        source = Path(place) / "photos"
        for number, name in enumerate(("cat", "dog", "cat")):
            (source / name).mkdir(parents=True, exist_ok=True)
            (source / name / f"{number}.jpg").write_bytes(images()["jpeg"])
        (source / "dog" / "bad.jpg").write_bytes(b"no image")
        for form in ("original", "raw"):
            target = Path(place) / form
            pack(source, target, form=form, size=(8, 8) if form == "raw" else None, workers=1)
            files = [file for file in target.rglob("*") if file.is_file()]
            case = {file.relative_to(target).as_posix(): file.read_bytes() for file in files}
            found.append(case)
            # One that was begun: its plan and its notes are still there.
            plan = json.dumps({**json.loads(case["manifest.json"]), "version": 1}).encode()
            begun = {name: data for name, data in case.items() if name != "manifest.json"}
            note = json.dumps({"bytes": 1, "crc32c": 1, "index_bytes": 1, "index_crc32c": 1})
            stem = next(name for name in case if name.endswith(".tfrecord")).partition(".")[0]
            begun |= {".partial/plan.json": plan, f".partial/{stem}.json": note.encode()}
            found.append(begun)
    return found


def change_pack(rng: Random, seeds: list[Case]) -> Case:
    from quickfit.data.packing.manifest import manifest_checksum

    case = dict(rng.choice(seeds))
    name = rng.choice(list(case))
    data = case[name]
    if name.endswith(".json") and rng.random() < 0.85:
        values = mutations.change_json(rng, json.loads(data))
        if isinstance(values, dict) and rng.random() < 0.7:
            with suppress(ValueError, RecursionError, TypeError):
                values["checksum"] = manifest_checksum(values)
        case[name] = mutations.dump_json(rng, values)
    elif name.endswith(".jsonl") and data and rng.random() < 0.85:
        lines = data.splitlines()
        at = rng.randrange(len(lines))
        value = mutations.change_json(rng, json.loads(lines[at]))
        lines[at] = mutations.dump_json(rng, value).replace(b"\n", b" ")
        case[name] = b"\n".join(lines) + b"\n"
    elif name.endswith(".tfrecord") and rng.random() < 0.5:
        case[name] = _reframed(rng, data)
    else:
        case[name] = mutations.change_bytes(rng, data)
    if name != "manifest.json" and "manifest.json" in case and rng.random() < 0.6:
        case["manifest.json"] = _with_checksums(case)
    return case


def _reframed(rng: Random, data: bytes) -> bytes:
    """Change the content of a record, and give it the length and checksums that it then has."""
    import struct

    from crc32c import crc32c

    from quickfit.data.tfrecord import mask_crc, read_frames

    contents = [frame.content for frame in read_frames(io.BytesIO(data), len(data))]
    at = rng.randrange(len(contents))
    contents[at] = mutations.change_bytes(rng, bytes(contents[at]))
    found = b""
    for content in contents:
        length = struct.pack("<Q", len(content))
        head, tail = mask_crc(crc32c(length)), mask_crc(crc32c(bytes(content)))
        found += length + struct.pack("<I", head) + bytes(content) + struct.pack("<I", tail)
    return found


def _with_checksums(case: Case) -> bytes:
    """Return the manifest of a pack that somebody has changed with care."""
    from crc32c import crc32c

    from quickfit.data.packing.manifest import manifest_checksum

    values = json.loads(case["manifest.json"])
    values["files"] = {name: crc32c(case[name]) for name in values["files"] if name in case}
    for shard in values["shards"]:
        data = case.get(shard["file"], b"")
        shard |= {"bytes": len(data), "crc32c": crc32c(data)}
    values["bytes"] = sum(shard["bytes"] for shard in values["shards"])
    values["checksum"] = manifest_checksum(values)
    return json.dumps(values, indent=1).encode()


def read_pack(folder: Path) -> str:
    from quickfit.data import pack_index, record_files, tfrecord
    from quickfit.data.packing import destination, resume
    from quickfit.data.packing.manifest import PackLayout, read_manifest
    from quickfit.data.packing.report import Packed
    from quickfit.data.packing.shards import read_shard_note
    from quickfit.data.packing.verification import verify
    from quickfit.terminal import escape

    said: list[str] = []

    def attempt(act: Callable[[], object]) -> None:
        try:
            said.append(escape(str(act())))  # as all that is shown
        except QuickfitError as error:
            said.append(str(error))

    layout = PackLayout(folder)
    now = {"settings": {"form": "original", "seed": 1}, "sources": {"kind": "listed", "count": 2}}
    listing = [{"path": "cat/0.jpg", "label": 0, "bytes": 5}]
    attempt(lambda: record_files.pack_in(str(folder)))
    attempt(lambda: destination.is_pack_folder(layout))
    attempt(lambda: resume.check_same(layout, resume.read_begun(layout) or {}, now, listing))
    for file in sorted(folder.glob("*.tfrecord")):
        read_shard_note(layout.shard(file.stem))
        attempt(lambda file=file: _walk(tfrecord, str(file)))
    manifest = read_manifest(folder)
    attempt(lambda: verify(folder).faults)
    attempt(lambda: resume.check_shards_present(layout, manifest))
    attempt(lambda: pack_index.check_shards(folder, manifest))
    attempt(lambda: _look_up(pack_index.open_index(folder, manifest)))
    packed = Packed(folder, manifest, took_s=1.0, was_there=True)
    attempt(packed.rejections)
    attempt(packed.summary)
    attempt(packed.reading)
    return "\n".join(said)


def _walk(frames: object, file: str) -> str:
    compression = frames.compression_of(file)
    frames.count_records(file, compression, 100)
    for record in frames.read_records(file, compression):
        _parse(record)
    return ""


def _parse(record: bytes | str) -> None:
    from quickfit.data.tfrecord import BrokenExampleError, parse_example

    if isinstance(record, bytes):
        with suppress(BrokenExampleError):
            parse_example(record)


def _look_up(index: object) -> None:
    for position in range(min(len(index), 3)):
        index.path_of(position)
        index.place_of(position)


# Record files of others are read with TensorFlow's own messages.


@cache
def record_seeds() -> list[Case]:
    shards = [data for case in pack_seeds()[::2] for name, data in case.items() if "tfrec" in name]
    packed = [gzip.compress(data, mtime=0) for data in shards] + [zlib.compress(shards[0])]
    return [{"a.tfrecord": data} for data in (*shards, *packed)]


def change_records(rng: Random, seeds: list[Case]) -> Case:
    data = rng.choice(seeds)["a.tfrecord"]
    if data.startswith((b"\x1f\x8b", b"x")) or rng.random() < 0.3:
        return {"a.tfrecord": mutations.change_bytes(rng, data)}
    data = _reframed(rng, data)
    return {"a.tfrecord": gzip.compress(data, mtime=0) if rng.random() < 0.2 else data}


def read_records(folder: Path) -> str:
    from quickfit.data.record_fields import infer_spec
    from quickfit.data.tfrecord import compression_of, count_records
    from quickfit.terminal import escape

    file = str(folder / "a.tfrecord")
    compression = compression_of(file)
    count_records(file, compression, 100)
    return escape(str(infer_spec({file: compression})))


@cache
def source_seeds() -> list[Case]:
    names = ("cat/1.jpg", "dog/2.png", "cat/café.gif", "readme.txt", "dog/../3.bmp")
    contents = dict(zip(names, [*images().values()][:5], strict=True))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for number, (name, data) in enumerate(contents.items()):
            method = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)[number % 2]
            file.writestr(zipfile.ZipInfo(name), data, method)
    found = [{"photos.zip": packed.getvalue()}]
    for mode, format in (("w", tarfile.PAX_FORMAT), ("w", tarfile.GNU_FORMAT), ("w:gz", 1)):
        content = io.BytesIO()
        with tarfile.open(fileobj=content, mode=mode, format=format) as file:
            for name, data in contents.items():
                member = tarfile.TarInfo(name)
                member.size = len(data)
                file.addfile(member, io.BytesIO(data))
            link = tarfile.TarInfo("cat/" + "long" * 60 + ".jpg")
            link.type, link.linkname = tarfile.SYMTYPE, "../../etc/passwd"
            file.addfile(link)
        found.append({"photos.tar" + (".gz" if "gz" in mode else ""): content.getvalue()})
    table = io.StringIO()
    csv.writer(table).writerows([("path", "label"), ("cat/1.jpg", "cat"), ("2.png", "a,b")])
    found += [
        {"list.csv": table.getvalue().encode(), "cat/1.jpg": images()["jpeg"]},
        {"list.tsv": table.getvalue().replace(",", "\t").encode()},
        {"list.txt": b"cat/1.jpg cat\n2.png dog\n", "cat/1.jpg": images()["jpeg"]},
    ]
    return found


def change_source_of_images(rng: Random, seeds: list[Case]) -> Case:
    case = dict(rng.choice(seeds))
    name = next(iter(case))
    data = case[name]
    if name.startswith("list") and rng.random() < 0.6:
        cells = data.decode().split(",")
        cells[rng.randrange(len(cells))] = rng.choice(mutations.TEXTS)
        case[name] = ",".join(cells).encode("utf-8", "surrogatepass")
    elif name.endswith(".tar") and rng.random() < 0.6:
        case[name] = _tar_header(rng, data)
    else:
        case[name] = mutations.change_bytes(rng, data, times=5)
    return case


def _tar_header(rng: Random, data: bytes) -> bytes:
    """Change a header of a tar archive, and give it its checksum again."""
    heads = [at for at in range(0, len(data) - 512, 512) if data[at + 257 : at + 262] == b"ustar"]
    at = rng.choice(heads)
    head = bytearray(data[at : at + 512])
    place, length = rng.choice(
        ((0, 100), (100, 8), (124, 12), (124, 12), (136, 12), (156, 1), (345, 155))
    )
    piece = mutations.change_bytes(rng, bytes(head[place : place + length]))
    numbers = (b"77777777777\0", b"\x80" + b"\xff" * 11, b"\xff" * 12, b"-0000000001\0", b" " * 12)
    if length in (8, 12) and rng.random() < 0.5:
        piece = rng.choice(numbers)
    head[place : place + length] = piece[:length].ljust(length, b"\0")
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    return data[:at] + bytes(head) + data[at + 512 :]


def read_source_of_images(folder: Path) -> str:
    from quickfit.data import sources
    from quickfit.data.entries import SourceImageError

    name = next(name for name in os.listdir(folder) if name.startswith(("photos", "list")))
    where = sources.unpack_archive(str(folder / name), folder / "unpacked")
    found = sources.open_source(where)
    for entry in list(found.entries)[:50]:
        with suppress(SourceImageError):
            found.read(entry)
    return ""


# -- what quickfit itself has written: proofs, undo records, results of trials ------------------

_SCRIPT = b"import keras\nmodel = keras.Model()\nmodel.fit(x, batch_size=1)\n"
_FIXED = _SCRIPT.replace(b"=1", b"=32")
_TRAIN = f"{HOME}/train.py"


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def state_seeds() -> list[Case]:
    proven = {
        "proven": [
            {
                "cause": "tiny-batch",
                "kind": "same-results",
                "edits": [[_TRAIN, [3, 24], [3, 25], "32"]],
                "digests": {_TRAIN: _sha256(_SCRIPT)},
            }
        ]
    }
    fix = {
        "title": "tiny-batch",
        "at": 1.7e9,
        "files": [
            {
                "path": _TRAIN,
                "saved": "0-train.py",
                "before": _sha256(_SCRIPT),
                "after": _sha256(_FIXED),
            }
        ],
    }
    files = {"fix/0-train.py": _SCRIPT}
    return [
        {**files, "train.py": _SCRIPT, "proven.json": json.dumps(proven).encode()},
        {**files, "train.py": _FIXED, "fix/fix.json": json.dumps(fix).encode()},
    ]


def change_state(rng: Random, seeds: list[Case]) -> Case:
    case = rng.choice(seeds)
    name = next(name for name in case if name.endswith(".json"))
    value = mutations.change_json(rng, json.loads(case[name]))
    return _one(case, name, mutations.dump_json(rng, value))


def read_state(folder: Path) -> str:
    from quickfit import trust
    from quickfit.code import file_changes
    from quickfit.fixing import proven
    from quickfit.fixing.proven import written_title

    fixes = folder / ".quickfit" / "fixes"
    trust.make_private_folder(fixes)
    said = []
    if (folder / "fix").exists():
        (folder / "fix").rename(fixes / "fix")
        (fixes / "fix").chmod(0o700)
    if (folder / "proven.json").exists():
        _seal(folder / "proven.json", fixes / "proven.json", "write what was proven", folder)
        entries = proven.read(folder)
        said.append(written_title(entries, folder))
        file_changes.write(proven.files_of(entries), home=folder, title="fuzz")
    _seal(fixes / "fix" / "fix.json", fixes / "fix" / "fix.json", "undo a fix", folder)
    file_changes.undo(home=folder)
    return "\n".join(said)


def _seal(file: Path, target: Path, purpose: str, home: Path) -> None:
    """Seal a record as quickfit would, so that what comes after the seal is read too."""
    from quickfit import trust

    if not file.exists():
        return
    data = file.read_bytes().replace(HOME.encode(), str(home).encode())
    with suppress(ValueError, RecursionError, TypeError):
        facts = json.loads(data)
        if isinstance(facts, dict):
            record = trust.sealed(facts, purpose=purpose, folder=home)
            data = json.dumps(record).encode()
    trust.write_private(target, data, sync=False)


@cache
def trial_seeds() -> list[Case]:
    import numpy as np

    lines = [
        {"kind": "loss", "step": 1, "channel": "fit", "values": {"loss": (0.5).hex()}},
        {"kind": "weights", "step": 1, "digest": "ab"},
        {
            "kind": "batch",
            "channel": "fit",
            "digests": ["a", "b"],
            "small": [[1, 2], [3, 4]],
            "rough": [[0.5], [0.25]],
        },
    ]
    rows, weights = io.BytesIO(), io.BytesIO()
    np.savez(rows, **{"0": np.zeros(3), "1": np.ones(3)})
    np.savez(weights, **{"000001_0": np.zeros((2, 2))})
    unsafe = {"path": f"{HOME}/a.txt", "what": "writes to", "file": "train.py", "line": 3}
    log = b'Traceback\n  File "train.py", line 3, in <module>\nValueError: no\n'
    return [
        {
            "results.jsonl": "".join(f"{json.dumps(line)}\n" for line in lines).encode(),
            "rows.npz": rows.getvalue(),
            "weights.npz": weights.getvalue(),
            "unsafe.json": json.dumps(unsafe).encode(),
            "held": b"12.5",
            "stderr.log": log,
        }
    ]


def change_trial(rng: Random, seeds: list[Case]) -> Case:
    case = dict(rng.choice(seeds))
    name = rng.choice(list(case))
    if name.endswith(".jsonl"):
        lines = case[name].splitlines()
        at = rng.randrange(len(lines))
        value = mutations.change_json(rng, json.loads(lines[at]))
        lines[at] = mutations.dump_json(rng, value).replace(b"\n", b" ")
        case[name] = b"\n".join(lines)
    elif name.endswith(".json"):
        value = mutations.change_json(rng, json.loads(case[name]))
        case[name] = mutations.dump_json(rng, value)
    elif name.endswith(".npz"):
        case[name] = change_arrays(rng, [{"data.npz": case[name]}])["data.npz"]
    else:
        case[name] = mutations.change_bytes(rng, case[name])
    if name != "unsafe.json" and rng.random() < 0.5:
        del case["unsafe.json"]
    return case


def read_trial(folder: Path) -> str:
    from quickfit.lab.results import read_results
    from quickfit.lab.script_trial import Trial
    from quickfit.terminal import escape

    results = read_results(folder)
    results.rows()
    results.weights_at(1)
    process = SimpleNamespace(poll=lambda: 1, pid=-1, has_ended=True)
    trial = Trial(process, folder, None, folder, spans=[[1.0]])  # type: ignore[arg-type]
    trial.is_held()
    return escape(trial.failure())  # as all that is shown


# -- what other programs say --------------------------------------------------------------------


def answer_seeds() -> list[Case]:
    frames = [{"filename": "train.py", "name": "Reader.__next__", "line": 3, "locals": None}]
    stacks = [{"os_thread_id": 1, "thread_name": "MainThread", "frames": frames}]
    cluster = {
        "cluster": {"worker": ["a:1", "b:2"], "ps": {"0": "c:3"}},
        "task": {"type": "worker", "index": 0},
    }
    return [{"stacks.json": json.dumps(stacks).encode()}, {"cluster": json.dumps(cluster).encode()}]


def change_answer(rng: Random, seeds: list[Case]) -> Case:
    ((name, data),) = rng.choice(seeds).items()
    return {name: mutations.dump_json(rng, mutations.change_json(rng, json.loads(data)))}


def read_answer(folder: Path) -> str:
    from quickfit.causes.stuck.waits_for_workers import cluster_of
    from quickfit.liveness.pyspy import parsed

    file = next(folder.iterdir())
    text = file.read_text(errors="replace")
    if file.name == "cluster":
        cluster_of(text)
    else:
        parsed(text, "/project", "/project")
    return ""


# -- profiles of other tools --------------------------------------------------------------------


@cache
def profile_seeds() -> list[Case]:
    from profiles.profile_files import CPU_PLANES, GPU_PLANES, chrome, nsight, xplane

    with tempfile.TemporaryDirectory() as place:
        export = _compact(nsight(Path(place) / "a.sqlite"))
    return [
        {"p.sqlite": export},
        {"p.xplane.pb": xplane(GPU_PLANES)},
        {"p.xplane.pb": xplane(CPU_PLANES)},
        {"p.json": chrome()},
        {"p.json.gz": gzip.compress(chrome(), mtime=0)},
    ]


def change_profile(rng: Random, seeds: list[Case]) -> Case:
    ((name, data),) = rng.choice((*seeds, *seeds[:1] * 3)).items()
    if name == "p.sqlite":
        return {name: mutations.change_sqlite(rng, data)}
    if name == "p.json" and rng.random() < 0.8:
        return {name: mutations.dump_json(rng, mutations.change_json(rng, json.loads(data)))}
    return {name: mutations.change_bytes(rng, data)}


def read_profile(folder: Path) -> str:
    from quickfit.diagnosis import diagnose
    from quickfit.profiles import import_profile
    from quickfit.profiles.comparing import compare
    from quickfit.recording.reader import read
    from quickfit.report import dumps, write_report

    run = import_profile(next(folder.iterdir()), folder / "made.qfrun")
    diagnosed = diagnose(run)
    out = io.StringIO()
    write_report(diagnosed, out, verbose=True)
    text = dumps(diagnosed)
    json.loads(text)
    process = read(run).main
    compare(process, process)
    return out.getvalue() + text


def _pyspy_failed() -> type[Exception]:
    from quickfit.liveness.pyspy import Failed

    return Failed


KINDS: dict[str, Kind] = {
    "recording": Kind(recording_seeds, change_recording, read_recording),
    "script": Kind(script_seeds, change_script, read_script),
    "notebook": Kind(notebook_seeds, change_notebook, read_script),
    "settings": Kind(settings_seeds, change_settings, read_settings),
    "model": Kind(model_seeds, change_model, read_model),
    "hdf5": Kind(hdf5_seeds, change_hdf5, read_model, starts_python=True),
    "arrays": Kind(array_seeds, change_arrays, read_arrays),
    "pack": Kind(pack_seeds, change_pack, read_pack),
    "records": Kind(record_seeds, change_records, read_records),
    "archive": Kind(source_seeds, change_source_of_images, read_source_of_images),
    "image": Kind(image_seeds, change_image, read_image, (_source_image_error(),)),
    "state": Kind(state_seeds, change_state, read_state),
    "trial": Kind(trial_seeds, change_trial, read_trial),
    "profile": Kind(profile_seeds, change_profile, read_profile),
    "answer": Kind(answer_seeds, change_answer, read_answer, (_pyspy_failed(),)),
}
