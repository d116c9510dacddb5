"""The time to the first step: phases that follow each other and add up."""

import json
from pathlib import Path

import pytest

from quickfit.findings import Location
from quickfit.recording.reader import ProcessRecording
from quickfit.signals.first_step import NAMES, first_step
from quickfit.signals.loops import Loop
from quickfit.signals.traces import Trace

SITE = "/venv/lib/python3.11/site-packages"
FILES = {
    "imports": ("<frozen importlib._bootstrap>", "_load", 0),
    "data": (f"{SITE}/tensorflow/python/data/ops/map_op.py", "map", 0),
    "model": (f"{SITE}/keras/src/layers/core/dense.py", "build", 0),
    "tracing": (f"{SITE}/tensorflow/python/polymorphic_function/tracing_compilation.py", "t", 0),
    "peek": ("/me/train.py", "batches", 1),
    "adapter": (f"{SITE}/keras/src/trainers/data_adapters/generator_data_adapter.py", "g", 0),
    "fit": (f"{SITE}/keras/src/backend/tensorflow/trainer.py", "fit", 0),
    "user": ("/me/train.py", "<module>", 1),
}
STACKS = {
    "imports": ["imports", "user"],
    "data": ["data", "user"],
    "model": ["model", "user"],
    "other": ["user"],
    "in fit": ["fit", "user"],
    "adapter": ["adapter", "fit", "user"],
    "peek": ["peek", "adapter", "fit", "user"],
    "tracing": ["tracing", "fit", "user"],
}
FRAMES = {name: number for number, name in enumerate(FILES, 1)}
STACK_IDS = {name: number for number, name in enumerate(STACKS, 1)}


def process(*windows, **tables):
    """Return a recording that starts at 100 s; a window is its end and what was seen in it."""
    samples = [
        {"at_s": 100.0 + end, "stack": STACK_IDS[name], "loop": loop, "seen": seen}
        for end, *rows in windows
        for name, seen, loop in (row if len(row) == 3 else (*row, None) for row in rows)
    ]
    stacks = [
        {"id": STACK_IDS[name], "role": "main", "frames": [FRAMES[frame] for frame in frames]}
        for name, frames in STACKS.items()
    ]
    frames = [
        {"id": FRAMES[n], "file": f, "line": 7, "function": name, "is_user": u}
        for n, (f, name, u) in FILES.items()
    ]
    given = {"samples": samples, "stacks": stacks, "frames": frames, **tables}
    return ProcessRecording(Path("1.sqlite"), {"role": "main", "started_s": 100.0}, given)


def fit(entered, begin, first, **more):
    first_s = None if first is None else 100.0 + first
    given = {"kind": "fit", "facts": {"input": "tf.data"}, **more}
    times = {"entered_s": 100.0 + entered, "begin_s": 100.0 + begin, "first_step_s": first_s}
    return Loop(id=1, location=None, end_s=200.0, is_over=False, **times, **given)


def trace(begin, end, *, is_in_loop=True):
    return Trace(
        100.0 + end, end - begin, "step", None, None, "", 1, is_nested=False, is_in_loop=is_in_loop
    )


def step(begin, end, wait=None):
    return {"loop": 1, "begin_s": 100.0 + begin, "end_s": 100.0 + end, "wait_s": wait}


def locate(file, line):
    return Location(file, line) if file else None


def told(recording, loops=(), traces=()):
    """Return the phases that took time, and where a run without a first step is."""
    found = first_step(recording, loops, traces, locate)
    assert [phase.name for phase in found.phases] == list(NAMES)
    assert sum(phase.seconds for phase in found.phases) == pytest.approx(found.total_s)
    assert all(phase.seconds >= 0 for phase in found.phases)
    seconds = {p.name: round(p.seconds, 3) for p in found.phases if p.seconds > 1e-6}
    return seconds, found


def test_samples_tell_what_came_before_the_loop():
    recording = process(
        (1.0, ("imports", 20)),
        (2.0, ("imports", 10), ("data", 10)),
        (3.0, ("model", 15), ("other", 5)),
        steps=[step(3.0, 4.0)],
    )
    seconds, found = told(recording, [fit(3.0, 3.0, 4.0)])
    assert seconds == {"imports": 1.5, "data": 0.5, "model": 0.75, "other": 0.25, "first_step": 1.0}
    assert found.total_s == 4.0
    assert found.still_in == ""
    other = next(phase for phase in found.phases if phase.name == "other")
    assert other.location == Location("/me/train.py", 7)


def test_a_gap_without_samples_belongs_to_the_sample_that_ends_it():
    usual = [(0.5 * n, ("other", 10)) for n in range(1, 5)]
    recording = process(*usual, (5.0, ("other", 9), ("imports", 1)), (5.5, ("other", 10)))
    seconds, _ = told(recording, [fit(5.5, 5.5, 5.5)])
    assert seconds == {"other": pytest.approx(2.95), "imports": pytest.approx(2.55)}


def test_samples_that_were_merged_later_still_share_the_time():
    recording = process((0.5, ("imports", 60), ("other", 20)), (60.0, ("in fit", 900, 1)))
    seconds, _ = told(recording, [fit(4.0, 4.0, 5.0)], [])
    assert seconds == {"imports": 3.0, "other": 1.0, "first_step": 1.0}


def test_a_window_that_reaches_into_the_loop_is_divided():
    recording = process(
        (1.0, ("imports", 20)), (2.0, ("model", 5), ("in fit", 15, 1)), steps=[step(1.4, 2.0)]
    )
    seconds, _ = told(recording, [fit(1.4, 1.4, 2.0)])
    assert seconds == {"imports": 1.0, "model": 0.4, "first_step": 0.6}


def test_traces_have_their_exact_times_and_count_once():
    recording = process((1.0, ("imports", 20)), steps=[step(1.0, 3.0)])
    traces = [trace(1.2, 1.6), trace(1.1, 2.0), trace(1.0, 9.0, is_in_loop=False)]
    seconds, _ = told(recording, [fit(1.0, 1.0, 3.0)], traces)
    assert seconds == {"imports": 1.0, "tracing": 0.9, "first_step": 1.1}


def test_what_fit_does_before_its_first_step_is_told_by_samples():
    recording = process(
        (1.0, ("imports", 20)),
        (2.0, ("peek", 15), ("adapter", 5)),
        steps=[step(2.0, 2.5)],
    )
    traces = [trace(1.5, 1.7, is_in_loop=False)]
    seconds, _ = told(recording, [fit(1.0, 2.0, 2.5)], traces)
    assert seconds == {
        "imports": 1.0,
        "first_batch": 0.6,
        "data": 0.2,
        "tracing": 0.2,
        "first_step": 0.5,
    }


def pipeline(at, *, made, held, work=0.0):
    """Return a snapshot of map, shuffle and batches of ten, `made` of them taken."""
    nodes = [
        [1, "Root", made, 0.0, 0, 0, None, None, 0, 0, False, [2]],
        [2, "Batch", made, 0.0, 0, 0, None, None, 0, 0, False, [3]],
        [3, "Shuffle", made * 10, 0.0, 0, 0, None, None, held, 0, False, [4]],
        [4, "Map", made * 10 + held, work, 0, 0, None, None, 0, 0, False, []],
    ]
    row = {
        "iterator": 5,
        "gaps": 0,
        "gap_s": 0.0,
        "root": 1,
        "nodes": json.loads(json.dumps(nodes)),
    }
    return {"at_s": 100.0 + at, **row}


FEED = {
    "iterators": [{"id": 5, "loop": 1, "phase": "train", "dataset": 2, "created_s": 101.0}],
    "datasets": [
        {"id": 1, "kind": "map", "file": "/me/a.py", "line": 3, "inputs": [], "facts": {}},
        {
            "id": 2,
            "kind": "shuffle",
            "file": "/me/train.py",
            "line": 31,
            "inputs": [1],
            "facts": {"buffer_size": 1000},
        },
    ],
}


def fed(*snapshots, first=None, wait=None):
    steps = [] if first is None else [step(1.0, first, wait)]
    return process((1.0, ("imports", 20)), steps=steps, pipelines=list(snapshots), **FEED)


def test_a_shuffle_that_fills_is_told_with_its_line():
    recording = fed(
        pipeline(3.0, made=0, held=400, work=1.0),
        pipeline(3.5, made=0, held=600, work=1.5),
        pipeline(5.0, made=3, held=1000, work=2.6),
        first=4.9,
    )
    seconds, found = told(recording, [fit(1.0, 1.0, 4.9)], [trace(1.0, 2.0)])
    assert seconds["tracing"] == 1.0
    # From the end of the trace to the thousandth element, at the rate of before: 4.5 s.
    assert seconds["shuffle_fill"] == 2.5
    fill = next(phase for phase in found.phases if phase.name == "shuffle_fill")
    assert (fill.location, fill.detail) == (Location("/me/train.py", 31), "1,000 elements")


def test_a_fill_that_nobody_saw_has_its_part_of_the_wait():
    recording = fed(pipeline(4.0, made=4, held=90, work=1.0), first=3.0, wait=1.5)
    seconds, _ = told(recording, [fit(1.0, 1.0, 3.0, kind="custom")])
    assert seconds == {
        "imports": 1.0,
        "shuffle_fill": 1.35,
        "first_batch": 0.15,
        "first_step": 0.5,
    }


def test_the_first_batch_takes_what_its_stages_take():
    recording = fed(pipeline(4.0, made=4, held=0, work=1.2), first=3.0)
    seconds, _ = told(recording, [fit(1.0, 1.0, 3.0)])
    assert seconds == {"imports": 1.0, "first_batch": 0.3, "first_step": 1.7}


def test_a_shuffle_that_still_fills_is_where_the_run_is():
    snapshots = [pipeline(at, made=0, held=int(100 * at), work=0.5) for at in (2.0, 3.0, 4.0)]
    recording = fed(*snapshots)
    recording.tables["samples"] += process((4.0, ("in fit", 60, 1))).tables["samples"]
    seconds, found = told(recording, [fit(1.0, 1.0, None)], [trace(1.0, 1.5)])
    assert found.still_in == "shuffle_fill"
    assert seconds == {"imports": 1.0, "tracing": 0.5, "shuffle_fill": 2.5}
    fill = next(phase for phase in found.phases if phase.name == "shuffle_fill")
    assert fill.detail == "400 of 1,000 elements"


@pytest.mark.parametrize(
    ("stack", "where"),
    [("tracing", "tracing"), ("peek", "first_batch"), ("in fit", "first_step")],
)
def test_a_run_without_a_step_is_where_its_last_samples_are(stack, where):
    recording = process((1.0, ("imports", 20)), (4.0, (stack, 60, None if stack == "peek" else 1)))
    seconds, found = told(recording, [fit(1.0, 4.0 if stack == "peek" else 1.0, None)])
    assert found.still_in == where
    assert seconds == {"imports": 1.0, where: 3.0}


def test_what_came_before_the_last_samples_is_not_where_the_run_is():
    """A row of samples may be of a second of imports, and be written just before the end."""
    recording = process((1.0, ("imports", 20)), (3.0, ("imports", 40)), (3.3, ("other", 6)))
    _, found = told(recording)
    assert found.still_in == "other"


def test_a_script_without_a_loop_is_told_up_to_its_end():
    recording = process((1.0, ("imports", 20)), (3.0, ("other", 40)))
    seconds, found = told(recording)
    assert (seconds, found.still_in) == ({"imports": 1.0, "other": 2.0}, "other")


def test_without_samples_nothing_is_claimed():
    seconds, _ = told(process(), [fit(2.0, 2.0, 3.0)])
    assert seconds == {"other": 2.0, "first_step": 1.0}


def test_the_first_loop_that_trains_counts():
    recording = process((1.0, ("imports", 20)), (9.0, ("in fit", 100, 1)))
    look = fit(1.0, 1.0, 2.0, kind="predict", facts={"trains": False})
    _, found = told(recording, [look, fit(5.0, 5.0, 7.0), fit(3.0, 3.0, 4.0)])
    assert found.total_s == 4.0


def test_without_a_clock_there_are_no_phases():
    recording = process()
    recording.facts["started_s"] = None
    assert first_step(recording, [], [], locate) is None
