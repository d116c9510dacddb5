"""Workers next to a real script: without a main guard, killed, interrupted, ended."""

import os
import re
import signal
import subprocess
import sys

import pytest

SCRIPT = """
import os, signal, sys
from quickfit.data.workers.plan import Options, planned
from quickfit.data.workers.supply import Supply

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
