"""The program of a trial's process tells what went wrong, whatever it is."""

import errno
import json
import os
import subprocess
import sys

import pytest

from quickfit.errors import ModelError
from quickfit.lab.child_side import ParentLink
from quickfit.tuning.trials.building import ModelBuilder
from quickfit.tuning.trials.child import error_text, failure_of
from quickfit.tuning.trials.settings import TrialFailed, TrialFailure

from tuning.trials.stand_ins import child

PROGRAM = "from quickfit.tuning.trials.child import main; main(commands, answers)"


def test_an_error_of_any_kind_is_an_answer(tmp_path):
    made = child(tmp_path, PROGRAM)
    made.send({"recipe": {"kind": "nonsense"}})
    with pytest.raises(TrialFailed, match="'nonsense' is not a valid RecipeKind") as caught:
        made.receive(60.0)
    assert caught.value.failure is TrialFailure.ERROR


def test_the_users_code_sees_no_arguments_of_ours(tmp_path):
    # The order comes after the arguments are hidden; its reading fails and is told.
    body = f"""
import quickfit.tuning.trials.child as program
program.read_order = lambda plain: sys.exit(str(sys.argv))
{PROGRAM}
"""
    made = child(tmp_path, body)
    made.send({})
    with pytest.raises(TrialFailed, match=r"\['quickfit'\]"):
        made.receive(60.0)


class Clock:
    now_s = 10.0

    def __call__(self):
        return self.now_s


@pytest.fixture
def pipes():
    commands, answers = os.pipe(), os.pipe()
    yield commands, answers
    for descriptor in (*commands, *answers):
        os.close(descriptor)


def written(descriptor):
    return [json.loads(line) for line in os.read(descriptor, 65536).splitlines()]


def test_commands_come_in_order(pipes):
    (theirs, ours), answers = pipes
    link = ParentLink(theirs, answers[1])
    os.write(ours, b'{"do": "run", "steps": 3}\n{"do": "learn"}\n')
    assert link.command() == {"do": "run", "steps": 3}
    assert link.command() == {"do": "learn"}


def test_signs_of_life_are_rare(pipes):
    clock = Clock()
    link = ParentLink(pipes[0][0], pipes[1][1], clock=clock)
    link.enter("building")
    for now_s in (10.1, 10.9, 11.0, 11.1, 12.5):
        clock.now_s = now_s
        link.say_alive()
    link.answer("block", {"steps": 3})
    alive = {"kind": "alive", "phase": "building"}
    assert written(pipes[1][0]) == [alive, alive, alive, {"kind": "block", "steps": 3}]


def test_processes_the_users_code_starts_do_not_hold_the_pipes(pipes):
    ParentLink(pipes[0][0], pipes[1][1])
    assert not os.get_inheritable(pipes[0][0])
    assert not os.get_inheritable(pipes[1][1])


@pytest.mark.parametrize("line", ["link.command()", "link.answer('block', {})"])
def test_it_ends_where_nobody_listens_any_more(line):
    code = (
        "import os; from quickfit.lab.child_side import ParentLink as Link\n"
        "a, b = os.pipe(); c, d = os.pipe(); link = Link(a, d); os.close(b); os.close(c)\n"
        f"{line}\nprint('still here')"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == ran.stderr == ""


class ResourceExhaustedError(Exception):
    """Named as TensorFlow's."""


def caught(*arguments, cause=None):
    try:
        if cause is not None:
            raise arguments[0] from cause
        raise arguments[0]
    except BaseException as error:  # noqa: BLE001 - returned
        return error


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("Unable to allocate 3 GiB"),
        ResourceExhaustedError("OOM when allocating tensor"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        RuntimeError("CUDA_ERROR_OUT_OF_MEMORY: out of memory"),
        RuntimeError("Operation received an exception: could not create a memory object"),
        caught(ValueError("while reading"), cause=MemoryError()),
    ],
    ids=["python", "tensorflow", "system", "cuda", "onednn", "cause"],
)
def test_memory_that_ran_out_is_known(error):
    assert failure_of(error) is TrialFailure.OUT_OF_MEMORY


@pytest.mark.parametrize(
    "error", [ValueError("out of memory"), OSError(errno.ENOENT, "no file"), SystemExit(3)]
)
def test_anything_else_is_an_error(error):
    assert failure_of(error) is TrialFailure.ERROR


def test_a_message_of_ours_is_told_as_it_is():
    assert error_text(ModelError("the model is not compiled.")) == "the model is not compiled."


def test_the_traceback_of_the_user_has_none_of_our_frames():
    builder = object.__new__(ModelBuilder)
    builder._batch_name, builder._name = None, "build"
    builder._function = lambda: 1 / 0
    with pytest.raises(ZeroDivisionError) as raised:
        builder.build(None)
    text = error_text(raised.value)
    assert text.startswith("Traceback (most recent call last):")
    assert "1 / 0" in text
    assert text.endswith("ZeroDivisionError: division by zero")
    assert "building.py" not in text


def test_an_exit_is_told_as_one():
    assert error_text(caught(SystemExit(3))).startswith(
        "the function ended the process: sys.exit(3)\n"
    )


def test_a_very_long_error_keeps_its_beginning_and_end():
    text = error_text(caught(ValueError("begin" + "x" * 50_000 + "the end")))
    assert len(text) < 9_000
    assert text.startswith("Traceback")
    assert text.endswith("the end")
