"""Workers next to a real script: without a main guard, killed, interrupted, ended."""

import os
import re
import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from quickfit.data.workers import worker
from quickfit.data.workers.arrays import find_layout
from quickfit.data.workers.jobs import ItemJob, StreamJob
from quickfit.data.workers.messages import WorkerTask
from quickfit.data.workers.worker import (
    FirstLook,
    describe_error,
    look_at_first,
    perform_task,
    prepare_job,
)


class Rows:
    def __init__(self):
        self.rows = {}

    def put(self, row, arrays):
        self.rows[row] = [array.item() for array in arrays]

    def put_alone(self, arrays):
        self.rows[0] = arrays


def done(function, *items, wanted=lambda item: True, row=0, first=0):
    place = Rows()
    layout = find_layout(first, rows=8)
    job = ItemJob(function, range(100), 1, False)
    return perform_task(WorkerTask(1, 0, 0, row, items), job, layout, place, wanted), place.rows


def odd_fails(item):
    if item % 2:
        raise ValueError(f"odd: {item}")
    return item * 10


def test_results_go_to_their_rows():
    outcome, rows = done(odd_fails, 2, 4, row=3)
    assert rows == {3: [20], 4: [40]}
    assert outcome.is_plain


def test_a_failure_is_told_and_the_rest_goes_on():
    outcome, rows = done(odd_fails, 2, 3, 4)
    assert rows == {0: [20], 2: [40]}
    (failure,) = outcome.failures
    assert (failure.row, failure.item, failure.summary) == (1, 3, "ValueError: odd: 3")


def test_the_traceback_is_the_users_alone():
    (failure,) = done(odd_fails, 3)[0].failures
    assert 'raise ValueError(f"odd: {item}")' in failure.trace
    assert "test_worker.py" in failure.trace
    assert "quickfit/data/workers" not in failure.trace


def test_a_result_that_does_not_fit_has_no_traceback():
    (failure,) = done(lambda item: np.zeros(item), 3)[0].failures
    assert failure.trace == ""
    assert "shape [3], and [] is expected" in failure.summary


def test_a_function_that_ends_its_process_only_fails():
    def leaves(item):
        raise SystemExit(3)

    (failure,) = done(leaves, 1)[0].failures
    assert failure.summary == "SystemExit: 3"


def test_ctrl_c_in_the_users_function_is_no_failure_of_the_item():
    def interrupted(item):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        done(interrupted, 1)


def test_work_that_nobody_wants_any_more_stops():
    _, rows = done(odd_fails, 0, 2, 4, wanted=lambda item: item < 2)
    assert rows == {0: [0]}


def test_text_travels_with_the_outcome():
    outcome, _ = done(str, 5, 6, first="")
    assert {row: texts[0].item() for row, texts in outcome.texts.items()} == {0: b"5", 1: b"6"}


def test_a_look_takes_the_first_item_that_works_if_it_may():
    job = ItemJob(lambda item: odd_fails(item + 1), range(10), 1, False)
    assert look_at_first(FirstLook(5, 4), job).failure.summary == "ValueError: odd: 1"
    first = look_at_first(FirstLook(5, 4, is_patient=True), job)
    assert first.failure is None
    assert first.layout.rows == 4
    assert first.call_s > 0


def test_a_look_at_nothing_but_failures_tells_the_first():
    def fails(item):
        raise ValueError(item)

    first = look_at_first(FirstLook(5, 4, is_patient=True), ItemJob(fails, range(9), 1, False))
    assert first.failure.summary == "ValueError: 0"


def test_a_generator_without_elements_is_told():
    first = look_at_first(FirstLook(1, 4), StreamJob(lambda: iter(()), 1, False))
    assert first.failure.summary == "it ended before its first element"


def test_a_setup_that_fails_is_told():
    failure = prepare_job(lambda: 1 / 0)
    assert failure.summary == "ZeroDivisionError: division by zero"
    assert prepare_job(lambda: None) is None


def test_endless_tracebacks_are_cut():
    summary, trace = describe_error(ValueError("x" * 100_000))
    assert len(trace) < 25_000
    assert "[...]" in trace
    assert summary.startswith("ValueError")


def test_an_error_of_many_lines_has_a_short_summary():
    assert describe_error(ValueError("first\nsecond"))[0] == "ValueError: first"


def test_an_array_that_cannot_be_read_is_a_failure_of_its_item():
    class NeedsGrad:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("can't call numpy() on a tensor that requires grad")

    (failure,) = done(lambda item: NeedsGrad(), 3)[0].failures
    assert failure.summary == "RuntimeError: can't call numpy() on a tensor that requires grad"
    assert "in __array__" in failure.trace


def test_a_generator_of_one_element_can_be_looked_at():
    look = FirstLook(5, 4, is_timed=True)
    assert look_at_first(look, StreamJob(lambda: iter([1]), 1, False)).layout is not None


@pytest.mark.parametrize(
    ("cpu_s", "expected_s"),
    [(0.0, 0.001), (0.2, 0.2)],
    ids=["another process had the core", "it is slow itself"],
)
def test_one_call_that_was_held_up_does_not_make_a_function_slow(monkeypatch, cpu_s, expected_s):
    calls_s, cpus_s = iter([0.0, 0.2, 1.0, 1.001]), iter([0.0, cpu_s, cpu_s])
    clock = SimpleNamespace(
        perf_counter=lambda: next(calls_s), thread_time=lambda: next(cpus_s, cpu_s)
    )
    monkeypatch.setattr(worker, "time", clock)
    job = ItemJob(lambda item: item, range(100), 1, False)
    first = look_at_first(FirstLook(5, 4, is_timed=True), job)
    assert first.call_s == pytest.approx(expected_s)


SCRIPT = """
import os, signal, sys
from quickfit.data.workers.plan import GeneratorOptions as Options, plan_generator as planned
from quickfit.data.workers.supply import BatchSupply as Supply

print("script", flush=True)

def load(item):
    print(f"item {{item}}\\n", end="")  # one write: two workers print
    if {blocks} and item > 3:
        signal.pause()
    return item + OFFSET

OFFSET = 5
options = Options(2, "processes", True, 4, False, 1, None, "raise", False, None)
supply = Supply(planned(load, 12, options), None)
for batch in supply.batches():
    print(f"{{batch.tolist()}}\\n", end="", flush=True)
    {then}
"""


def started(tmp_path, *, blocks=False, then="pass"):
    """Start a script that has no `if __name__` guard."""
    (tmp_path / "script.py").write_text(SCRIPT.format(blocks=blocks, then=then))
    return subprocess.Popen(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def until_batch(script):
    """Read what the script prints up to its first batch."""
    return next(line for line in script.stdout if line == "[5, 6, 7, 8]\n")


def test_a_script_without_a_main_guard_is_not_run_again(tmp_path):
    out, err = started(tmp_path).communicate()
    assert err == ""
    assert out.count("script") == 1
    assert "[13, 14, 15, 16]" in out


def test_what_the_function_prints_is_seen(tmp_path):
    out, _ = started(tmp_path).communicate()
    assert {int(item) for item in re.findall(r"item (\d+)\n", out)} == set(range(12))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_workers_end_with_their_owner_however_it_ends(tmp_path, number):
    script = started(tmp_path, blocks=True)
    until_batch(script)
    os.killpg(script.pid, number)  # as a terminal sends Ctrl-C: to the whole group
    # The workers hold the same pipes: this returns when the last of them is gone.
    _, err = script.communicate()
    assert script.returncode == -number
    assert err.count("Traceback") == (number == signal.SIGINT)


def test_the_interpreter_ends_in_the_middle_of_a_pass(tmp_path):
    script = started(tmp_path, blocks=True, then="sys.exit(3)")
    _, err = script.communicate()
    assert script.returncode == 3
    assert err == ""


def test_a_fork_of_the_script_does_not_end_its_workers(tmp_path):
    fork = "os.waitpid(os.fork() or sys.exit(0), 0)"
    script = started(tmp_path, then=fork)
    out, err = script.communicate()
    assert (script.returncode, err) == (0, "")
    assert "[13, 14, 15, 16]" in out


def test_a_folder_that_is_gone_does_not_matter(tmp_path):
    script = SCRIPT.format(blocks=False, then="pass")
    gone = "import os, tempfile\nwith tempfile.TemporaryDirectory() as gone:\n    os.chdir(gone)\n"
    (tmp_path / "script.py").write_text(gone + script)
    command = [sys.executable, tmp_path / "script.py"]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "[13, 14, 15, 16]" in ended.stdout


@pytest.mark.parametrize("kind", ["processes", "threads"])
def test_a_fork_cannot_go_on_with_an_iteration_but_begin_one(tmp_path, kind):
    in_fork = """
    if os.fork() == 0:
        try:
            list(batches)
        except PipelineError as error:
            print(f"told: {error}")
        print(f"anew: {sum(len(batch) for batch in supply.batches())}")
        sys.stdout.flush()
        os._exit(0)
    os.wait()
    """
    script = SCRIPT.replace(
        "for batch in supply.batches()", "batches = supply.batches()\nfor batch in batches"
    )
    script = script.replace("load, 12,", "load, 120,")
    script = script.replace("import os", "from quickfit.errors import PipelineError\nimport os")
    text = script.replace('"processes"', repr(kind)).format(blocks=False, then=in_fork + "break")
    (tmp_path / "script.py").write_text(text)
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "script.py"], cwd=tmp_path, capture_output=True, text=True
    )
    assert ended.stderr == ""
    assert "told: an iteration over `load` goes on in a fork" in ended.stdout
    assert "anew: 120" in ended.stdout
