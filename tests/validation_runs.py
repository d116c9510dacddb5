"""Runs that validate: at the end of epochs, by a line of the script, or in a loop of its own."""

from __future__ import annotations

from typing import Any

from hand_runs import COMPILED, TRAINER, Stack, hand_run
from quickfit.signals import Signals

from builders import FIT_LINE, SCRIPT

EVALUATE = (TRAINER, "evaluate")
LOOK_LINE, VAL_LOOP_LINE = 12, 20
TEXT = "\n" * (FIT_LINE - 1) + "model.fit(ds, epochs=6, validation_data=val)\n"


def stacks(share: float, line: int = FIT_LINE) -> list[Stack]:
    """Return a hundred samples, a share of them in `evaluate`, called at a line."""
    seen = round(100 * share)
    return [((COMPILED, EVALUATE), line, seen), ((COMPILED,), FIT_LINE, 100 - seen)]


def by_fit(validation_s: float = 2.0, *, sampled: float = 0.5, **given: Any) -> Signals:
    """Return six epochs of two seconds, each validated for a time; `every` as `validation_freq`."""
    base = {"steps": 120, "epochs": 6}
    signals = hand_run("fit", stacks=stacks(sampled), head_line=FIT_LINE, base=base)
    tables = signals.recording.main.tables
    tables["sources"][0]["text"] = given.get("text", TEXT)
    later_s = 0.0
    for number, epoch in enumerate(tables["epochs"], start=1):
        is_validated = number % given.get("every", 1) == 0
        took_s = validation_s if is_validated else 0.0
        for row in tables["steps"]:
            if row["epoch"] == number:
                row |= {"begin_s": row["begin_s"] + later_s, "end_s": row["end_s"] + later_s}
        epoch |= {"begin_s": epoch["begin_s"] + later_s, "validation_s": took_s}
        later_s += took_s
        epoch["end_s"] += later_s
    for row in tables["samples"]:
        row["at_s"] = tables["steps"][-1]["begin_s"]
    return signals


def by_calls(kind: str = "evaluate", **given: Any) -> Signals:
    """Return ten seconds of a loop in which a line looks at the model ten times, for 0.5 s each.

    Given may be: `loop` (its kind), `calls`, `each_s`, `seen`, and what `hand_run` takes.
    """
    calls = given.pop("calls", 10)
    look = (kind, given.pop("line", LOOK_LINE), calls, given.pop("each_s", 0.5))
    seen = given.pop("seen", stacks(0.5, look[1]))
    loop = given.pop("loop", "custom")
    return hand_run(loop, stacks=seen, calls=[look], head_line=FIT_LINE, **given)


def by_a_loop(took_s: float = 0.5, times: int = 6, *, is_seen: bool = True) -> Signals:
    """Return a loop of the script beside which another one looks at the model."""
    line = VAL_LOOP_LINE + 1 if is_seen else 5
    signals = hand_run("custom", stacks=[((COMPILED,), line, 50), ((COMPILED,), FIT_LINE, 50)])
    tables = signals.recording.main.tables
    loop, step = tables["loops"][0], tables["steps"][0]
    place = {"id": 2, "file": SCRIPT, "line": VAL_LOOP_LINE}
    tables["loops"].append({**loop, **place, "facts": {"trains": False, "input": "tf.data"}})
    at_s = tables["steps"][10]["end_s"]
    for number in range(times):
        row = {"begin_s": at_s + number, "end_s": at_s + number + took_s, "epoch": number}
        tables["steps"].append({**step, **row, "loop": 2, "step": number + 1})
    text = "\n" * (VAL_LOOP_LINE - 1) + "for x, y in val:\n    test(x, y)\n"
    tables["sources"][0]["text"] = text
    return signals
