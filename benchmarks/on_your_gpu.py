"""Checks on a machine with an NVIDIA GPU what this repository could only try on stand-ins.

    python benchmarks/on_your_gpu.py            about three minutes; writes on_your_gpu.json

It runs `quickfit doctor`, reads the GPU as a run does, trains a small network under `quickfit run`,
profiles one with TensorFlow's profiler (and with Nsight Systems, where `nsys` is installed), and
imports the profiles. Each check is a line here and an entry of the file: what was seen, and whether
it is what we claim. The file names no user, no host and no path; send it with an issue.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

QUICKFIT = (sys.executable, "-m", "quickfit")
TRAINING = """
import sys
import keras
import numpy as np
import tensorflow as tf

x = np.random.default_rng(0).random((8192, 64, 64, 3), "float32")
y = np.random.default_rng(1).integers(0, 10, 8192)
layers = [keras.layers.Conv2D(64, 3, activation="relu") for _ in range(4)]
head = [keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(10)]
model = keras.Sequential([keras.Input((64, 64, 3)), *layers, *head])
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile("adam", loss)
if len(sys.argv) > 1 and sys.argv[1] == "profile":
    model.fit(x[:2048], y[:2048], batch_size=128, epochs=1, verbose=0)
    tf.profiler.experimental.start("logs")
    model.fit(x[:1280], y[:1280], batch_size=128, epochs=1, verbose=0)
    tf.profiler.experimental.stop()
else:
    model.fit(x, y, batch_size=128, epochs=int(sys.argv[1]), verbose=0)
"""
# At most this share of a core, as the readings of a run promise.
MAX_CORE_SHARE = 0.01
READINGS = 50


def main() -> None:
    """Run every check, and write what they saw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=10, help="of the training that is watched")
    parser.add_argument("--output", type=Path, default=Path("on_your_gpu.json"))
    chosen = parser.parse_args()
    seen: dict[str, Any] = {"python": sys.version.split()[0]}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "training.py").write_text(TRAINING)
        for name, check in (
            ("doctor", doctor),
            ("readings", readings),
            ("training", lambda where: training(where, chosen.epochs)),
            ("tensorflow profile", tensorflow_profile),
            ("nsight profile", nsight_profile),
        ):
            print(f"{name} …", flush=True)
            seen[name] = check(folder)
            print(f"    {seen[name].get('verdict', 'seen')}", flush=True)
    chosen.output.write_text(json.dumps(seen, indent=1) + "\n")
    print(f"written: {chosen.output}")


def doctor(folder: Path) -> dict[str, Any]:
    """What the machine is set up for, and how long the answer takes."""
    began_s = time.perf_counter()
    done = _run([*QUICKFIT, "doctor", "--json"], folder)
    took_s = time.perf_counter() - began_s
    try:
        checks = json.loads(done.stdout)["checks"]
    except ValueError:
        return {"verdict": "wrong: no JSON", "error": done.stderr[-500:]}
    shown = [{**one, "summary": _without(one["summary"], folder)} for one in checks]
    verdict = "as claimed" if took_s < 5 else f"wrong: {took_s:.1f} s, and 5 s are claimed"
    return {"verdict": verdict, "seconds": took_s, "checks": shown}


def readings(folder: Path) -> dict[str, Any]:
    """What a reading of the GPU holds, and what it costs."""
    from quickfit.probes.gpus import EVERY_S, GpuReader
    from quickfit.recording.schema import columns

    rows: list[tuple[Any, ...]] = []
    writer = SimpleNamespace(add=lambda table, row: rows.append(row))
    state: Any = SimpleNamespace(loops=[1], writer=writer)
    reader = GpuReader()
    reader.read(state)
    if not rows:
        return {"verdict": "no GPU that NVIDIA's library names"}
    began_s, cpu_s = time.perf_counter(), time.process_time()
    for _ in range(READINGS):
        reader.due_s = 0.0
        reader.read(state)
    cpu_s = (time.process_time() - cpu_s) / READINGS
    share = cpu_s / EVERY_S
    last = dict(zip([column.name for column in columns("gpus")], rows[-1], strict=True))
    return {
        "verdict": "as claimed" if share <= MAX_CORE_SHARE else "wrong: too much of a core",
        "core_share": share,
        "seconds_each": (time.perf_counter() - began_s) / READINGS,
        "last": last,
        "missing": [name for name, value in last.items() if value is None],
    }


def training(folder: Path, epochs: int) -> dict[str, Any]:
    """What a run under quickfit says of the device, and what it read of the GPU."""
    run = folder / "watched.qfrun"
    done = _run([*QUICKFIT, "run", "--output", str(run), "training.py", str(epochs)], folder)
    answer = _run([*QUICKFIT, "report", str(run), "--format", "json"], folder)
    if done.returncode or answer.returncode:
        return {"verdict": "wrong: it failed", "error": (done.stderr + answer.stderr)[-1000:]}
    report = json.loads(answer.stdout)
    files = sorted(run.glob("*.sqlite"))
    rows = [row for file in files for row in _rows(file, "SELECT * FROM gpus")]
    uses_gpu = report["device"]["status"] == "ok"
    return {
        "verdict": "as claimed" if uses_gpu and rows else "look: no GPU was used or read",
        "device": report["device"]["summary"],
        "headline": report["headline"],
        "findings": [finding["cause"] for finding in report["findings"]],
        "readings": rows[:: max(len(rows) // 20, 1)],
    }


def tensorflow_profile(folder: Path) -> dict[str, Any]:
    """Whether a profile of TensorFlow's is read, and what its devices are."""
    done = _run([sys.executable, "training.py", "profile"], folder)
    if done.returncode:
        return {"verdict": "the training failed", "error": done.stderr[-1000:]}
    return _imported(folder, folder / "logs", "tensorflow")


def nsight_profile(folder: Path) -> dict[str, Any]:
    """Whether the totals of an imported profile of Nsight's are those of plain SQL."""
    if shutil.which("nsys") is None:
        return {"verdict": "nsys is not installed"}
    command = ["nsys", "profile", "--trace=cuda,nvtx", "--output=nsight", "--export=sqlite"]
    done = _run([*command, sys.executable, "training.py", "1"], folder)
    export = folder / "nsight.sqlite"
    if not export.exists():
        return {"verdict": "nsys failed", "error": done.stderr[-1000:]}
    seen = _imported(folder, export, "nsight")
    asked = "SELECT count(*), sum(end - start) / 1e9 FROM CUPTI_ACTIVITY_KIND_KERNEL"
    ((count, total_s),) = _rows(export, asked)
    asked = (
        "SELECT sum(count), sum(total_s) FROM device_work WHERE kind IN ('kernel', 'communication')"
    )
    recording = next((folder / "nsight.qfrun").glob("*.sqlite"), None)
    mine = _rows(recording, asked)[0] if recording is not None else [0, 0.0]
    is_same = mine[0] == count and abs(mine[1] - total_s) < 1e-6 * max(total_s, 1)
    verdict = "as claimed" if is_same else "wrong: other totals than plain SQL"
    return {**seen, "verdict": verdict, "kernels": count, "kernel_s": total_s, "imported": mine}


def _imported(folder: Path, profile: Path, name: str) -> dict[str, Any]:
    run = folder / f"{name}.qfrun"
    done = _run([*QUICKFIT, "import", str(profile), "-o", str(run)], folder)
    if done.returncode:
        return {"verdict": "wrong: not imported", "error": _without(done.stderr, folder)[-1000:]}
    report = json.loads(_run([*QUICKFIT, "report", str(run), "-f", "json"], folder).stdout)
    return {
        "verdict": "as claimed",
        "device": report["device"]["summary"],
        "headline": report["headline"],
        "account": report["account"],
    }


def _rows(file: Path, asked: str) -> list[list[Any]]:
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as db:
        return [list(row) for row in db.execute(asked)]


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=900, check=False
    )


def _without(text: str, folder: Path) -> str:
    return text.replace(str(folder), "FOLDER").replace(str(Path.home()), "HOME")


if __name__ == "__main__":
    main()
