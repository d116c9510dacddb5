"""Runs that call `fit` again and again at one line, made of the numbers a test is about."""

from __future__ import annotations

from typing import Any

from hand_runs import COMPILED, MAKE_ITERATOR, TRAINER, Stack, hand_run
from quickfit.signals import Signals

from builders import SCRIPT, START_S

STEP = (TRAINER, "function")
FIT = (TRAINER, "fit")
COMPILE_LINE, FIT_LINE = 3, 4
ONE_MODEL = """\
model = keras.Sequential(layers)
for epoch in range(20):
    model.compile("adam", loss="mse")
    model.fit(x, y)
"""
SEEN: list[Stack] = [
    ((COMPILED, STEP, FIT), FIT_LINE, 50),
    ((MAKE_ITERATOR, FIT), FIT_LINE, 50),
]


def many_fits(**given: Any) -> Signals:
    """Return a run of many calls of `fit`.

    Given may be: `calls`, `steps` of each, `step_s`, `setup_s` and `outside_s` of each call,
    `traced_s` of each call's first step, `models` (their names differ), `stacks`, `text`.
    """
    shape = {**_USUAL, **given}
    signals = hand_run("fit", stacks=shape["stacks"], head_line=FIT_LINE)
    tables = signals.recording.main.tables
    loop, step = tables["loops"][0], tables["steps"][0]
    loop["facts"] |= {"model": "net", "compile_line": COMPILE_LINE}
    tables |= {"loops": [], "steps": [], "epochs": [], "traces": [], "callbacks": []}
    at_s = START_S
    for number in range(1, shape["calls"] + 1):
        at_s += shape["setup_s"]
        name = f"net_{number}" if shape["models"] else "net"
        row = {**loop, "id": number, "entered_s": at_s - shape["setup_s"], "begin_s": at_s}
        tables["loops"].append({**row, "facts": {**loop["facts"], "model": name}})
        at_s = _steps(tables, step, number, at_s, shape)
        tables["loops"][-1]["end_s"] = at_s
        at_s += shape["outside_s"]
    tables["sources"][0]["text"] = shape["text"]
    for row in tables["samples"]:
        row["at_s"] = at_s - 1.0
    return signals


_USUAL: dict[str, Any] = {
    "calls": 20,
    "steps": 20,
    "step_s": 0.01,
    "setup_s": 0.05,
    "outside_s": 0.01,
    "traced_s": 0.0,
    "models": False,
    "stacks": SEEN,
    "text": ONE_MODEL,
}


def _steps(
    tables: dict[str, Any], like: dict[str, Any], loop: int, at_s: float, shape: dict[str, Any]
) -> float:
    """Add the steps of a call, and the trace in its first one; return when they end."""
    begin_s = at_s
    for number in range(1, shape["steps"] + 1):
        took_s = shape["step_s"] + (shape["traced_s"] if number == 1 else 0.0)
        times = {"begin_s": at_s, "end_s": at_s + took_s, "call_s": took_s}
        tables["steps"].append({**like, **times, "loop": loop, "epoch": 1, "step": number})
        at_s += took_s
    row = {"loop": loop, "epoch": 1, "begin_s": begin_s, "end_s": at_s, "validation_s": 0.0}
    tables["epochs"].append(row)
    if shape["traced_s"]:
        tables["traces"].append(trace(loop, begin_s + shape["traced_s"], shape["traced_s"], loop))
    return at_s


def trace(loop: int, at_s: float, duration_s: float, function: int) -> dict[str, Any]:
    """Return the row of a trace of Keras's train function."""
    return {
        "at_s": at_s,
        "duration_s": duration_s,
        "name": "multi_step_on_iterator",
        "file": None,
        "line": None,
        "caller_file": SCRIPT,
        "caller_line": FIT_LINE,
        "ops": 10,
        "signature": "",
        "function": function,
        "nested": 0,
        "loop": loop,
        "arguments": None,
    }
