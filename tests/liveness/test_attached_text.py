"""What is said of a process that was looked at."""

import dataclasses

from quickfit.causes import stuck_mechanisms
from quickfit.liveness.attach import Looks, Target
from quickfit.liveness.attached_text import doing, lines, why
from quickfit.liveness.scene import Child, Frame, Loop, Machine, Scene, Thread

SCRIPT = "/home/me/train.py"
SOURCE = (
    "import time\ndef batches():\n    while True:\n        time.sleep(9)\nmodel.fit(batches())\n"
)
TRAINER = "/venv/site-packages/keras/src/backend/tensorflow/trainer.py"
OPS = "/venv/site-packages/tensorflow/python/ops/script_ops.py"
EXECUTE = "/venv/site-packages/tensorflow/python/eager/execute.py"
TARGET = Target(70, "/home/me", "/home/me", ("python", "train.py", "--epochs", "3"))
FIT = (
    Frame(EXECUTE, 53, "quick_execute", False),
    Frame(TRAINER, 300, "fit", False),
    Frame(SCRIPT, 5, "<module>", True),
)
MAKER = (Frame(SCRIPT, 4, "batches", True), Frame(OPS, 20, "__call__", False))
LOOP = Loop("fit", None, 0.0, 0, 0, "train")


def scene(*threads, **given):
    given = {"machine": Machine(cores=0.0), "loop": LOOP, **given}
    return Scene(9.0, 2.6, still_s=2.6, threads=threads, sources={SCRIPT: SOURCE}, **given)


def thread(role, frames, **given):
    return Thread(role, frames, **{"cores": 0.0, "waits_in": "clock_nanosleep", **given})


def said(shown):
    looks = Looks(stacks=[[]] * 20)
    return "\n".join(lines(TARGET, looks, shown, stuck_mechanisms()))


SLEEPING = scene(thread("main", FIT, waits_in="futex"), thread("input", MAKER))


def test_an_input_that_sleeps_is_told_without_counts_that_nobody_has():
    found = why(SLEEPING, stuck_mechanisms())
    assert found.summary == "the input gives no batch meanwhile: it waits (clock_nanosleep)"
    assert found.where.short == "train.py:4"
    assert not [one for one in found.evidence if "since the last" in one.what]
    assert str(doing(SLEEPING)) == "waiting for a batch of Python code — train.py:4"


def test_shows_process_reason_and_the_users_lines_of_stacks():
    text = said(SLEEPING)
    assert text.startswith("process 70: python train.py --epochs 3\n")
    assert "(may be generator-never-yields)\n    train.py:4  time.sleep(9)" in text
    assert "look for longer: quickfit attach 70 --for 30s" in text
    assert "main thread: the same stack in 20 of 20 looks, 0.00 of a core, in futex" in text
    assert "    train.py:5  model.fit(batches())\n      2 frames of libraries, the last" in text
    assert "tensorflow: quick_execute" in text
    assert text.endswith("quickfit run SCRIPT")


def test_what_stood_still_for_long_is_called_so():
    long = dataclasses.replace(SLEEPING, window_s=12.0, still_s=12.0)
    assert "it stands still: the input gives no batch" in said(long)
    assert "(generator-never-yields)" in said(long)
    assert "look for longer" not in said(long)


def test_a_step_that_runs_is_not_counted():
    busy = scene(thread("main", FIT, cores=0.9, waits_in=""), machine=Machine(cores=1.8))
    assert str(doing(busy)).startswith("a step runs")


def test_a_main_thread_at_different_lines_moves():
    frames = (Frame(SCRIPT, 4, "batches", True),)
    moving = scene(thread("main", frames, share=0.3, cores=0.1, waits_in=""), loop=None)
    assert "it moves" in said(moving)


def test_where_nothing_explains_it_the_line_and_the_call_are_told():
    frames = (Frame(SCRIPT, 4, "batches", True),)
    stands = scene(thread("main", frames, waits_in="recvfrom", waits_for="socket:[7]"), loop=None)
    assert "it waits at train.py:4, in recvfrom on socket:[7]" in said(stands)
    assert "running code outside a training loop" in said(stands)


def test_children_are_listed_and_many_are_cut():
    many = tuple(Child(80 + n, "python w.py", 12.0, 0.5, "R", is_fork=n == 0) for n in range(9))
    text = said(scene(thread("main", FIT), children=many))
    assert "    80 forked: 12 s old, 0.50 of a core" in text
    assert "    and 3 more" in text
