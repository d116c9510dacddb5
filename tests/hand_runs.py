"""Runs of hand-written loops for tests: a run of `builders` with other calls and other samples."""

from __future__ import annotations

from typing import Any

from quickfit.recording.reader import Recording
from quickfit.signals import Signals

from builders import SCRIPT, recording

KERAS = "/usr/lib/python3/site-packages/keras/src"
TF = "/usr/lib/python3/site-packages/tensorflow/python"
TRAINER = f"{KERAS}/backend/tensorflow/trainer.py"
PREDICT = (TRAINER, "predict")
TRAIN_ON_BATCH = (TRAINER, "train_on_batch")
COMPILED = (f"{TF}/eager/polymorphic_function/polymorphic_function.py", "__call__")
COMPILED_CALL = (f"{TF}/eager/polymorphic_function/polymorphic_function.py", "_call")
NATIVE = (f"{TF}/eager/execute.py", "quick_execute")
GRAPH = (f"{TF}/framework/func_graph.py", "func_graph_from_py_func")
MAKE_ITERATOR = (f"{TF}/data/ops/iterator_ops.py", "_create_iterator")
RESET = (TRAINER, "reset_metrics")
METRIC = (f"{KERAS}/metrics/metric.py", "update_state")
FETCH = (f"{TF}/framework/ops.py", "_numpy")
DROPPED = (f"{TF}/util/traceback_utils.py", "error_handler")

# Frames of libraries, innermost first, above a line of the script; and how often they were seen.
Stack = tuple[tuple[tuple[str, str], ...], int, int]


def hand_run(kind: str, *, stacks: list[Stack], **given: Any) -> Signals:
    """Return the signals of a loop of a kind.

    Given may be: `step_s`, `call_s`, `wait_s`, `cpu_s` and `logs_s` of each step, `calls` (kind,
    line, calls, seconds each), `copies_s` per step, `copied` (more columns of that look), `facts`
    of the loop, `head_line`, `source` (the script), `products` (of the compiled step: in float64,
    all), and what `builders.recording` takes as `base`.
    """
    made = recording(**{"step_s": given.get("step_s", 0.1), **given.get("base", {})})
    tables = made.main.tables
    loop = tables["loops"][0]
    loop["kind"], loop["line"] = kind, given.get("head_line", 30)
    if kind != "fit":
        loop["facts"] = {"trains": True, "input": "python", "head": "train", "eager_loop": False}
        tables["callbacks"], tables["epochs"] = [], []
    loop["facts"] |= given.get("facts", {})
    for row in tables["steps"]:
        row |= {name: given[name] for name in ("call_s", "wait_s", "cpu_s") if name in given}
        row["logs_s"] = given.get("logs_s")
    _calls(tables, given.get("calls", []))
    if "copies_s" in given:
        spent = {"window_s": 0.4, "steps": 10, "copies": 20, "copies_s": 10 * given["copies_s"]}
        tables["copies"] = [{"loop": 1, "at_s": 1005.0, **spent, **given.get("copied", {})}]
    if "source" in given:
        tables["sources"] = [{"file": SCRIPT, "sha256": "", "text": given["source"]}]
    if "products" in given:
        row = {"at_s": 1001.0, "duration_s": 0.1, "name": "train_step", "file": SCRIPT, "line": 1}
        row |= {"caller_file": SCRIPT, "caller_line": 2, "signature": "", "function": 1}
        row |= {"nested": 0, "loop": None, "arguments": {"args": [], "products": given["products"]}}
        tables["traces"] = [row]
    _samples(made, stacks)
    return Signals(made)


def _calls(tables: dict[str, Any], calls: list[tuple[str, int, int, float]]) -> None:
    tables["calls"] = [
        {
            "loop": 1,
            "kind": kind,
            "file": SCRIPT,
            "line": line,
            "name": "Sequential",
            "calls": count,
            "wall_s": count * each_s,
            "cpu_s": None,
            "longest_s": each_s,
        }
        for kind, line, count, each_s in calls
    ]


def _samples(made: Recording, stacks: list[Stack]) -> None:
    tables = made.main.tables
    frames: list[dict[str, Any]] = []
    tables["stacks"], tables["samples"] = [], []
    end_s = tables["steps"][-1]["end_s"]
    for number, (library, line, seen) in enumerate(stacks, start=1):
        first = len(frames) + 1
        for file, function in library:
            row = {"file": file, "line": 1, "function": function, "is_user": 0}
            frames.append({"id": len(frames) + 1, **row})
        user = {"file": SCRIPT, "line": line, "function": "<module>", "is_user": 1}
        frames.append({"id": len(frames) + 1, **user})
        row = {"id": number, "role": "main", "frames": list(range(first, len(frames) + 1))}
        tables["stacks"].append(row)
        sample = {"at_s": end_s - 0.1, "stack": number, "loop": 1, "seen": seen}
        tables["samples"].append(sample)
    tables["frames"] = frames
