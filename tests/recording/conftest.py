"""A small run as the probes would record it, with something in every table."""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from quickfit.recording.environment import process_facts
from quickfit.recording.folder import write_run_file
from quickfit.recording.schema import columns, create_sql
from quickfit.recording.writer import Writer

SCRIPT = "/home/someone/train.py"
TEXT = "import tensorflow as tf\nds = ds.map(decode)\nds = ds.shuffle(50)\nmodel.fit(ds)\n"
STEPS, STEP_S, WAIT_S = 60, 0.2, 0.12
Tables = dict[str, list[tuple[Any, ...]]]


def sample_tables(*, source: str = "tf.data") -> Tables:
    """Return the rows of a slow run that is fed by `tf.data`, a `generator` or a `pydataset`."""
    facts = {
        "input": source,
        "steps_per_execution": 1,
        "run_eagerly": True,
        "compile_file": SCRIPT,
        "compile_line": 4,
    }
    return {
        "meta": [
            ("tensorflow_devices", json.dumps([["CPU", "/cpu:0"], ["GPU", "/gpu:0"]])),
            ("tensorflow_visible", json.dumps(["/cpu:0", "/gpu:0"])),
            ("machine_accelerators", json.dumps(["NVIDIA card"])),
            ("ended_s", "120.5"),
            ("cluster", json.dumps('{"cluster": {"worker": ["a:1", "b:1"]}}')),
            ("ended_by", '{"type": "ValueError", "message": "m", "file": null, "line": null}'),
        ],
        "loops": [_loop(facts)],
        "epochs": [(1, 0, 100.0, 106.0, 0.1), (1, 1, 106.0, 112.0, None)],
        "steps": [_step(number) for number in range(STEPS)],
        "step_blocks": [(1, 0, 100, 50.0, 70.0, json.dumps({"call_s": 9.5}), '{"100": 100}')],
        "callbacks": [
            (1, 0, "on_train_batch_end", "Log", SCRIPT, 2, STEPS, STEPS * 0.03, 0.2, 1),
            (1, 1, "on_epoch_end", "History", None, None, 2, 0.01, None, 0),
        ],
        "calls": [
            (1, "save", SCRIPT, 2, "Functional", 2, 0.3, None, 0.2),
            (0, "predict", SCRIPT, 4, "Functional", 1, 0.5, 0.4, 0.5),
        ],
        "datasets": [
            (1, "TensorSlice", SCRIPT, 1, "[]", "{}"),
            (2, "Map", SCRIPT, 2, "[1]", json.dumps({"function": "decode"})),
            (3, "Shuffle", SCRIPT, 3, "[2]", json.dumps({"buffer_size": 50})),
        ],
        "iterators": [(1, 1, "train", 3, 99.9)],
        "pipelines": [_pipeline(number) for number in range(2, STEPS, 3)],
        "py_inputs": [_py_input(number, source) for number in range(2, STEPS, 3)],
        "py_functions": [
            (1, 1, "weigh", "train_step", SCRIPT, 1, SCRIPT, 3, 60, 0.6, 0.5, 0.02),
            (2, 0, "sort", "score", None, None, None, None, 1, 0.1, 0.0, 0.1),
        ],
        "traces": [_trace(number) for number in range(20, 40, 5)],
        "eager_ops": [
            (1, 101.0, 0.2, 1, 400, 0.1, 0.0002, 0.01),
            (1, 105.0, 0.2, 1, 400, 0.1, 0.0002, 0.01),
        ],
        "copies": [
            (1, 101.0, 0.4, 2, 8, 0.02, 0.01, 4_000_000, SCRIPT, 2, 0.01),
            (1, 108.0, 0.4, 2, 8, 0.04, None, None, None, None, None),
        ],
        "frames": [
            (1, SCRIPT, 2, "on_train_batch_end", 1),
            (2, "keras/trainer.py", 7, "one_step_on_data", 0),
            (3, "tensorflow/execute.py", 9, "quick_execute", 0),
        ],
        "stacks": [(1, "main", "[1, 2]"), (2, "input", "[1]"), (3, "main", "[3, 2]")],
        "samples": [(101.0 + number / 2, number % 3 + 1, 1, 4) for number in range(20)],
        "threads": [(101.0, 4711, "MainThread", "main", 1), (101.0, None, "", "input", 2)],
        "raises": [
            (102.0, 0.2, "input", "OSError", "no such file", SCRIPT, 2, SCRIPT, 3, 70),
            (102.0, 0.2, "main", "KeyError", "", None, None, None, None, 1),
        ],
        "tracing": [(101.0, "step", SCRIPT, 2, 99.0, 4000), (101.5, "f", None, None, 99.5, 0)],
        "machine": [_machine(number) for number in range(24)],
        "thread_groups": [
            (name, 100.0 + number, 2, number * 0.5, None if name == "other" else number * 0.1)
            for number in range(12)
            for name in ("main", "tf.data", "other")
        ],
        "data_folders": [("/data", "ext4", 40, 4_000_000), ("/mnt/data", "nfs4", 2, None)],
        "objects": [
            (100.0 + number, kind, 100 + number, 4096 if kind == "tensors" else None)
            for number in range(12)
            for kind in ("tensors", "graphs")
        ],
        "holders": [
            (
                100.0 + number,
                json.dumps([[SCRIPT, "", "kept"]]),
                "list",
                number,
                10**6 * number,
                None if number else 9,
                "arrays",
            )
            for number in range(12)
        ],
        "gpus": [
            (0, 100.0, 0.9, 10**9, 2 * 10**9, 1.4e9, 1.7e9, 4, 300.0, 350.0, 71.0, 1, 5, 0.2, 0),
        ],
        "device_use": [("GPU 0", 0.0, 2.0, 1.5)],
        "device_work": [("GPU 0", "copy", "host to device", 3, 0.4, 0.3, 0.2, 4096)],
        "device_idle": [("GPU 0", "host in CUDA", "in cudaMalloc", 2, 0.5, 0.4)],
        "profile_steps": [("step 1", 0.0, 1.0)],
        "device_memory": [
            ("GPU:0", 100.0 + number, 10**9 + number, None if number else 2 * 10**9)
            for number in range(12)
        ],
        "allocations": [(100.0 + number, SCRIPT, 2, 1000 * number, number) for number in range(12)],
        "overhead": [("step", 110.0, 200, 0.001), ("background", 110.0, 0, 0.05)],
        "probes": [("fit_loop", "active", None), ("machine", "failed", "no /proc")],
        "hooks": [
            ("keras.src.trainers.trainer.Trainer.compile", "fit_loop", "active", None),
            ("keras.src.models.model.Model.save", "calls", "missing", "no such name"),
        ],
        "sources": [(SCRIPT, "00ff", TEXT)],
        "device_requests": [("/GPU:0", SCRIPT, 3)],
        "turbo": [
            (
                *(1, "predict", SCRIPT, 3, "one batch", "kept", None, "predict-in-loop", "call"),
                *(141, 0.001, 8, 0.15, 21.0),
            )
        ],
        "notes": [(100.0, "no pipeline model: NotFoundError")],
    }


def _loop(facts: dict[str, Any]) -> tuple[Any, ...]:
    known = {
        "id": 1,
        "kind": "fit",
        "file": SCRIPT,
        "line": 4,
        "entered_s": 99.0,
        "begin_s": 99.5,
        "end_s": 112.0,
        "thread": "MainThread",
        "facts": json.dumps(facts),
    }
    return tuple(known.get(column.name) for column in columns("loops"))


def _step(number: int) -> tuple[Any, ...]:
    begin_s, is_traced = 100.0 + STEP_S * number, number in range(20, 40, 5)
    call_s = STEP_S - 0.04
    logs_s = None if is_traced else 0.001
    end_s = begin_s + STEP_S - 0.005
    # Of a loop that the script wrote itself only some of these are known.
    wait_s = 0.001 if number % 2 else None
    times = (begin_s, call_s, logs_s, 0.03, 0.01, end_s, 0.15, wait_s)
    return (1, number // 30, number, *times)


def _pipeline(number: int) -> tuple[Any, ...]:
    made = number + 1
    nodes = [
        [1, "Root", made, 0.0, 0, 0, None, None, 0, 0, False, [2]],
        [2, "Prefetch", made, 0.001 * made, 9, 9, None, 2.0, 1, 9, True, [3]],
        [3, "Shuffle", made, 0.01 * made, 90_000 * made, 9, None, None, 50, 4_500_000, False, [4]],
        [4, "Map", made + 50, 0.1 * made, 90_000 * made, 99, None, None, 0, 0, False, [5]],
        [5, "TensorSlice", made + 50, 0.001 * made, 99 * made, 0, None, None, 0, 0, False, []],
    ]
    at_s = 100.0 + STEP_S * made
    return (1, at_s, 3, 3 * (STEP_S - WAIT_S), 1, json.dumps(nodes))


def _py_input(number: int, source: str) -> tuple[Any, ...]:
    workers = 2 if source == "pydataset" else 1
    made = number + 1
    at_s = 100.0 + STEP_S * made
    totals = (workers, made, 0.15 * made, 0.1 * made, 1)
    return (1, at_s, 1, source, "batches", SCRIPT, 2, *totals, SCRIPT, 4)


def _trace(number: int) -> tuple[Any, ...]:
    signature = f"TensorSpec(shape=({number},), dtype=tf.float32)"
    at_s = 100.05 + STEP_S * number
    arguments = {"args": [["x", "tensor", f"float32 ({number},)"]], "more": 0, "jit": False}
    told = json.dumps(arguments) if number % 2 else None
    return (at_s, 0.1, "score", SCRIPT, 2, SCRIPT, 4, 40, signature, 77, 0, 1, told)


def _machine(number: int) -> tuple[Any, ...]:
    known = {
        "at_s": 100.0 + number / 2,
        "cpu_s": number * 0.6,
        "main_cpu_s": number * 0.4,
        "rss_bytes": 10**9,
        "run_delay_s": 0.1,
        "main_run_delay_s": 0.01,
        "system_busy_s": number * 0.9,
        "read_bytes": 4096,
        "major_faults": 3,
        "threads": 12,
        "pressure": 0.2,
        "minor_faults": number * 10,
        "chars_read": number * 4096,
        "disk_wait_s": number * 0.01,
        "swap_bytes": 0,
        "system_swapped_bytes": 4096,
        "io_pressure": 0.1,
        "memory_pressure": 0.0,
        "open_files": 20 + number,
        "throttled_s": None,
        "cgroup_bytes": None,
        "python_blocks": 10**6,
        "collections": number,
        "collecting_s": number * 0.01,
    }
    return tuple(known.get(column.name) for column in columns("machine"))


@pytest.fixture(scope="session")
def record() -> Callable[..., Path]:
    """A function that records one process of a run: `record(folder, role=…)`; returns its file."""
    numbers = itertools.count(100)

    def record(
        folder: Path,
        *,
        role: str = "main",
        tables: Tables | None = None,
        **facts: Any,
    ) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        writer = Writer(folder, {**process_facts(role), "started_s": 90.0, **facts})
        for table, rows in (sample_tables() if tables is None else tables).items():
            for row in rows:
                writer.add(table, row)
        writer.flush()
        writer.close()
        assert writer.path is not None
        file = writer.path.rename(folder / f"{next(numbers)}.sqlite")
        if role == "main":
            write_run_file(folder, {"pid": int(file.stem), "script": SCRIPT, "ended_at": 1.0})
        return file

    return record


@pytest.fixture(scope="session")
def tables() -> Callable[..., Tables]:
    """The function that makes the rows of a sample run."""
    return sample_tables


@pytest.fixture(scope="session")
def change() -> Callable[..., None]:
    """A function that runs SQL on a file: `change(file, "DELETE FROM steps")`."""

    def change(file: Path, *statements: str) -> None:
        with closing(sqlite3.connect(file)) as db:
            db.execute("PRAGMA synchronous=OFF")
            for statement in statements:
                db.execute(statement)
            db.commit()
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    return change


@pytest.fixture(scope="session")
def put(change) -> Callable[..., None]:
    """A function that puts any value into a column of some rows, whatever the column allows."""

    def put(file: Path, table: str, column: str, value: object, *, rows: str = "1") -> None:
        names = ", ".join(c.name for c in columns(table))
        change(
            file,
            f"CREATE TABLE loose ({names})",
            f"INSERT INTO loose SELECT {names} FROM {table} ORDER BY rowid",
            f"DROP TABLE {table}",
            f"ALTER TABLE loose RENAME TO {table}",
        )
        with closing(sqlite3.connect(file)) as db:
            db.execute("PRAGMA synchronous=OFF")
            db.execute(f"UPDATE {table} SET {column} = ? WHERE {rows}", (value,))
            # The table looks as quickfit makes it; only the value is odd.
            plain = create_sql(table).partition(", PRIMARY KEY")[0].rstrip(")") + ")"
            db.execute("PRAGMA writable_schema=ON")
            db.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (plain, table))
            db.commit()

    return put
