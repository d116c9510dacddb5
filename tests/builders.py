"""Signals in one line: a run made of the numbers a test is about, with the rest healthy.

The rows are those a real process writes; `Signals` reads them as it reads a recording.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from quickfit.recording.reader import ProcessRecording, Recording
from quickfit.recording.schema import columns
from quickfit.signals import Signals

SCRIPT = "/project/train.py"
SOURCE = """\
import tensorflow as tf
import keras

def batches():
    while True:
        image = load(path)
        yield image, label

class Log(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        self.write(logs)

ds = files.map(decode)
ds = ds.shuffle(500)
ds = ds.batch(32)
model.compile("adam", loss="mse", run_eagerly=True)
model.fit(ds, epochs=3)

def weigh(labels):
    return np.stack([border(label) for label in labels])

class Weighted(keras.losses.Loss):
    def call(self, y_true, y_pred):
        return y_pred * tf.numpy_function(weigh, [y_true], tf.float32)
"""
FIT_LINE, MAP_LINE, SHUFFLE_LINE, BATCH_LINE, COMPILE_LINE = 17, 13, 14, 15, 16
GENERATOR_LINE, HOT_LINE, CALLBACK_LINE = 4, 6, 10
STEP_PYTHON_LINE, STEP_PYTHON_CALL_LINE = 19, 24
START_S = 1000.0


def run(**given: Any) -> Signals:
    """Return the signals of a run; see `recording` for what can be given."""
    return Signals(recording(**given))


def recording(**given: Any) -> Recording:
    """Return the recording of one `fit`.

    Given may be: `step_s`, `input_wait_s`, `callback_s`, `callback_cpu_s`, `steps`, `epochs`,
    `epoch_start_s`, `input` ("tf.data", "generator", "pydataset", "arrays"), `batch_s` and
    `batch_cpu_s` (of a Python input), `workers`, `map_s`, `parallelism`, `runs_python`,
    `is_stateful`, `fused`, `shuffled` (elements held), `element_bytes`, `source_bytes`,
    `is_cached`, `eager`, `eager_ops`, `traces`, `cpu_cores`, `other_cores`, `delay_share`,
    `input_samples`, `callback_samples`, `facts` (of the process), `with_model`, `per_batch`
    (elements of a batch), `map_facts`, `source_facts`, `generator_s` (per step, in a generator
    that is the source), `input_cores` (of tf.data's threads), `step_python_s` (per step, in a
    function that the graph calls; None: not timed), `step_python_cpu_s`, `step_python_samples`.
    """
    shape = {**_HEALTHY, **given}
    tables: dict[str, list[dict[str, Any]]] = {}
    _loop(tables, shape)
    steps = _steps(tables, shape)
    end_s = steps[-1]["end_s"] if steps else START_S + 1
    if shape["with_model"]:
        _pipeline(tables, shape, steps)
    if shape["input"] in ("generator", "pydataset"):
        _py_input(tables, shape, steps, end_s)
    _machine(tables, shape, end_s)
    _samples(tables, shape, end_s)
    _traces(tables, shape, steps)
    _step_python(tables, shape)
    if shape["eager_ops"]:
        window_s = shape["step_s"] * shape["eager_ops"]["steps"]
        row = {"loop": 1, "at_s": end_s, "window_s": window_s, **shape["eager_ops"]}
        tables["eager_ops"] = [row]
    tables["sources"] = [{"file": SCRIPT, "sha256": "", "text": SOURCE}]
    tables["probes"] = [{"name": "fit_loop", "state": "active", "detail": ""}]
    main = ProcessRecording(Path("run.qfrun/1.sqlite"), {**_FACTS, **shape["facts"]}, tables)
    return Recording(Path("run.qfrun"), shape["run"], main, [], [])


_FACTS = {
    "role": "main",
    "usable_cores": 2.0,
    "started_s": START_S - 3,
    "tensorflow_devices": [["CPU", "/physical_device:CPU:0"]],
    "machine_accelerators": [],
    "tensorflow_version": "2.21.0",
}
_HEALTHY: dict[str, Any] = {
    "step_s": 0.100,
    "input_wait_s": 0.001,
    "callback_s": 0.0002,
    "callback_cpu_s": None,
    "steps": 105,
    "epochs": 3,
    "epoch_start_s": 0.0,
    "input": "tf.data",
    "batch_s": 0.01,
    "batch_cpu_s": None,
    "workers": 1,
    "map_s": 0.010,
    "parallelism": 2.0,
    "runs_python": False,
    "is_stateful": False,
    "fused": False,
    "shuffled": 0,
    "element_bytes": 110_000,
    "source_bytes": 0,
    "is_cached": False,
    "eager": False,
    "eager_ops": None,
    "traces": (),
    "cpu_cores": 1.8,
    "other_cores": 0.0,
    "delay_share": 0.0,
    "input_samples": 40,
    "callback_samples": 0,
    "facts": {},
    "run": {"exit_code": 0, "signal": None, "script": "train.py"},
    "with_model": True,
    "per_batch": 32,
    "map_facts": {},
    "source_facts": {},
    "generator_s": 0.0,
    "input_cores": None,
    "step_python_s": 0.0,
    "step_python_cpu_s": None,
    "step_python_samples": 0,
}


def _loop(tables: dict[str, Any], shape: dict[str, Any]) -> None:
    facts = {
        "input": shape["input"],
        "run_eagerly": shape["eager"],
        "steps_per_execution": 1,
        "compile_file": SCRIPT,
        "compile_line": COMPILE_LINE,
    }
    tables["loops"] = [
        {
            "id": 1,
            "kind": "fit",
            "file": SCRIPT,
            "line": FIT_LINE,
            "entered_s": START_S - 1,
            "begin_s": START_S,
            "first_step_s": START_S + 2.1,
            "end_s": None,
            "thread": "1",
            "facts": facts,
        }
    ]
    tables["callbacks"] = [
        {
            "loop": 1,
            "position": 0,
            "hook": "on_train_batch_end",
            "name": "Log",
            "file": SCRIPT,
            "line": CALLBACK_LINE,
            "calls": max(shape["steps"], 1),
            "wall_s": shape["callback_s"] * max(shape["steps"], 1),
            "cpu_s": None,
            "is_user": 1,
        }
    ]


def _steps(tables: dict[str, Any], shape: dict[str, Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    at_s, epoch_begin_s = START_S, START_S
    per_epoch = max(shape["steps"] // shape["epochs"], 1)
    tables["epochs"] = []
    cpu_s = shape["callback_cpu_s"]
    for number in range(1, shape["steps"] + 1):
        is_first = (number - 1) % per_epoch == 0
        extra_s = shape["epoch_start_s"] if is_first else 0.0
        step_s = shape["step_s"] + extra_s + (2.0 if number == 1 else 0.0)
        rows.append(
            {
                "loop": 1,
                "epoch": (number - 1) // per_epoch + 1,
                "step": number,
                "begin_s": at_s,
                "call_s": step_s - shape["callback_s"],
                "logs_s": None,
                "callbacks_s": shape["callback_s"],
                "callbacks_cpu_s": shape["callback_s"] if cpu_s is None else cpu_s,
                "end_s": at_s + step_s,
                "cpu_s": step_s * (0.98 if shape["eager"] else 0.02),
                "wait_s": None,
            }
        )
        at_s += step_s
        if number % per_epoch == 0:
            row = {"loop": 1, "epoch": rows[-1]["epoch"], "begin_s": epoch_begin_s, "end_s": at_s}
            tables["epochs"].append({**row, "validation_s": 0.0})
            epoch_begin_s = at_s
    tables["steps"] = rows
    return rows


def _pipeline(tables: dict[str, Any], shape: dict[str, Any], steps: list[dict[str, Any]]) -> None:
    tables["iterators"] = [
        {"id": 1, "loop": 1, "phase": "train", "dataset": 5, "created_s": START_S}
    ]
    function = {
        "function": "decode",
        "runs_python": shape["runs_python"],
        "is_stateful": shape["is_stateful"],
    }
    source = {"element_bytes": shape["source_bytes"] or None, **shape["source_facts"]}
    function["element_bytes"] = shape["element_bytes"]
    function |= shape["map_facts"]
    chain = [(1, "TensorSlice", 12, [], source), (2, "Map", MAP_LINE, [1], function)]
    if shape["generator_s"]:
        made = {"function": "batches", "function_file": SCRIPT, "function_line": GENERATOR_LINE}
        chain[0] = (1, "Generator", 12, [], {**made, "runs_python": True, **source})
    chain += [(3, "Cache", MAP_LINE, [2], {})] if shape["is_cached"] else []
    chain += [(4, "Shuffle", SHUFFLE_LINE, [chain[-1][0]], {"buffer_size": 500})]
    chain += [(5, "Batch", BATCH_LINE, [4], {"batch_size": shape["per_batch"]})]
    tables["datasets"] = [
        {"id": n, "kind": kind, "file": SCRIPT, "line": line, "inputs": inputs, "facts": facts}
        for n, kind, line, inputs, facts in chain
    ]
    tables["pipelines"] = []
    before = 0
    for index in _read_at(len(steps)):
        gaps = 10 if index >= 20 else index - before
        gap_s = gaps * max(shape["step_s"] - shape["input_wait_s"], 0.0)
        nodes = _nodes(shape, max(index, 1))
        row = {"iterator": 1, "at_s": steps[index]["end_s"] + 1e-4, "gaps": gaps, "gap_s": gap_s}
        tables["pipelines"].append({**row, "root": 1, "nodes": nodes})
        before = index


def _read_at(steps: int) -> list[int]:
    """Return after which steps the pipeline is read: of a short run, those that the probe picks."""
    if steps > 20:
        return [*range(20, steps, 10)]
    return sorted({*(index for index in (0, 1, 3, 7, 15) if index < steps), *range(steps)[-1:]})


def _nodes(shape: dict[str, Any], made: int) -> list[list[Any]]:
    """Return the nodes of tf.data's model after a number of steps, from consumer to source."""
    size, source = shape["element_bytes"], shape["source_bytes"]
    items, held = made * shape["per_batch"], shape["shuffled"]
    work_s = shape["map_s"] * (made + held / shape["per_batch"])
    names = [("Root", made, 0.0, None), ("Prefetch", made, 0.0, None)]
    if shape["fused"]:
        names.append(("MapAndBatch", made, work_s, shape["parallelism"]))
    else:
        name = "ParallelMapV2" if shape["parallelism"] > 1 else "Map"
        names += [("BatchV2", made, made * 1e-4, None), ("Shuffle", items, made * 1e-5, None)]
        names += [("MemoryCacheImpl", items + held, 0.0, None)] if shape["is_cached"] else []
        names.append((name, items + held, work_s, shape["parallelism"]))
    made_s = made * (shape["generator_s"] or 1e-6)
    names.append(
        ("Generator" if shape["generator_s"] else "TensorSlice", items + held, made_s, None)
    )
    rows = []
    for number, (name, elements, work, parallelism) in enumerate(names, start=1):
        is_shuffle, is_source = name == "Shuffle", name in ("TensorSlice", "Generator")
        out = elements * (source if is_source else size)
        taken = (items + held) * size if is_shuffle else out
        inputs = [] if is_source else [number + 1]
        is_async = name in ("Prefetch", "ParallelMapV2", "MapAndBatch")
        buffered = held if is_shuffle else 0
        rows.append([number, name, elements, work, out, taken, parallelism, None, buffered,
                     buffered * size, is_async, inputs])  # fmt: skip
    return rows


def _py_input(
    tables: dict[str, Any], shape: dict[str, Any], steps: list[dict[str, Any]], end_s: float
) -> None:
    cpu_s = shape["batch_cpu_s"] if shape["batch_cpu_s"] is not None else shape["batch_s"]
    many = shape["workers"] > 1
    tables["py_inputs"] = []
    readings = (
        [(steps[10]["end_s"], 10), (end_s, len(steps))]
        if len(steps) > 20
        else [(row["end_s"], number) for number, row in enumerate(steps, start=1)]
    )
    for at_s, batches in readings:
        tables["py_inputs"].append(
            {
                "id": 1,
                "at_s": at_s,
                "loop": 1,
                "kind": "generator" if shape["input"] == "generator" else "pydataset",
                "name": "batches",
                "file": SCRIPT,
                "line": GENERATOR_LINE,
                "workers": shape["workers"],
                "batches": batches,
                "wall_s": batches * (shape["input_wait_s"] if many else shape["batch_s"]),
                "cpu_s": batches * cpu_s,
                "busy": 1,
            }
        )


def _machine(tables: dict[str, Any], shape: dict[str, Any], end_s: float) -> None:
    tables["machine"] = []
    for at_s in (START_S + 3, (START_S + end_s) / 2, end_s):
        span_s = at_s - START_S
        own_s = shape["cpu_cores"] * span_s
        row: dict[str, Any] = dict.fromkeys(column.name for column in columns("machine"))
        row |= {"at_s": at_s, "cpu_s": own_s, "main_cpu_s": 0.1 * span_s, "rss_bytes": 10**9}
        row |= {"main_run_delay_s": shape["delay_share"] * span_s}
        row |= {"system_busy_s": own_s + shape["other_cores"] * span_s}
        tables["machine"].append(row)
        if shape["input_cores"] is not None:
            rest = max(shape["cpu_cores"] - shape["input_cores"], 0.0)
            for name, cores in (("tf.data", shape["input_cores"]), ("intra-op", rest)):
                group = {"at_s": at_s, "name": name, "cpu_s": cores * span_s, "run_delay_s": 0.0}
                tables.setdefault("thread_groups", []).append(group)


def _samples(tables: dict[str, Any], shape: dict[str, Any], end_s: float) -> None:
    places = [
        (HOT_LINE, "batches", 1),
        (FIT_LINE, "<module>", 1),
        (CALLBACK_LINE + 1, "on_train_batch_end", 1),
        (STEP_PYTHON_LINE + 1, "weigh", 1),
    ]
    tables["frames"] = [
        {"id": n, "file": SCRIPT, "line": line, "function": name, "is_user": is_user}
        for n, (line, name, is_user) in enumerate(places, start=1)
    ]
    tables["stacks"] = [
        {"id": 1, "role": "input", "frames": [1]},
        {"id": 2, "role": "main", "frames": [2]},
        {"id": 3, "role": "main", "frames": [3, 2]},
        {"id": 4, "role": "step", "frames": [4]},
    ]
    is_python = shape["input"] in ("generator", "pydataset")
    counts = {1: shape["input_samples"] if is_python else 0, 2: 100, 3: shape["callback_samples"]}
    counts[4] = shape["step_python_samples"]
    tables["samples"] = [
        {"at_s": end_s - 0.1, "stack": stack, "loop": 1, "seen": seen}
        for stack, seen in counts.items()
        if seen
    ]


def _step_python(tables: dict[str, Any], shape: dict[str, Any]) -> None:
    """Add the totals of a Python function that the graph of the step calls, if it was timed."""
    each_s, cpu_s = shape["step_python_s"], shape["step_python_cpu_s"]
    if each_s is None:
        return
    row = {"id": 1, "loop": 1, "name": "weigh", "graph": "train_step", "file": SCRIPT}
    row |= {"line": STEP_PYTHON_LINE, "call_file": SCRIPT, "call_line": STEP_PYTHON_CALL_LINE}
    cpu_s = each_s if cpu_s is None else cpu_s
    totals = {"wall_s": each_s * shape["steps"], "cpu_s": cpu_s * shape["steps"]}
    row |= {"calls": shape["steps"], "longest_s": each_s, **totals}
    tables["py_functions"] = [row] if each_s else []


def _traces(tables: dict[str, Any], shape: dict[str, Any], steps: list[dict[str, Any]]) -> None:
    """Add one trace per (step index, seconds, signature) given, in the middle of its step."""
    tables["traces"] = [
        {
            "at_s": steps[index]["begin_s"] + 0.5 * shape["step_s"],
            "duration_s": seconds,
            "name": "score",
            "file": SCRIPT,
            "line": 20,
            "caller_file": SCRIPT,
            "caller_line": 30,
            "ops": 10,
            "signature": signature,
            "function": 7,
            "nested": 0,
            "loop": 1,
            "arguments": None,
        }
        for index, seconds, signature in shape["traces"]
    ]


def shown_fix(cause, finding, signals):
    """Return what a report shows as the fix of a finding: the edit itself, where there is one."""
    from quickfit.causes import catalogue
    from quickfit.diagnosis.candidates import with_own_edits

    advice = catalogue()[cause].fix(finding, signals)
    told = dataclasses.replace(finding, cause=cause, fix=advice)
    return with_own_edits([told], signals)[0].fix
