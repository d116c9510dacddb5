"""The child's end of the pipes."""

import json
import os
import subprocess
import sys

import pytest

from quickfit.tuning.trials.link import Link


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
    link = Link(theirs, answers[1])
    os.write(ours, b'{"do": "run", "steps": 3}\n{"do": "learn"}\n')
    assert link.command() == {"do": "run", "steps": 3}
    assert link.command() == {"do": "learn"}


def test_signs_of_life_are_rare(pipes):
    clock = Clock()
    link = Link(pipes[0][0], pipes[1][1], clock=clock)
    link.enter("building")
    for now_s in (10.1, 10.9, 11.0, 11.1, 12.5):
        clock.now_s = now_s
        link.live()
    link.answer("block", {"steps": 3})
    alive = {"kind": "alive", "phase": "building"}
    assert written(pipes[1][0]) == [alive, alive, alive, {"kind": "block", "steps": 3}]


def test_processes_the_users_code_starts_do_not_hold_the_pipes(pipes):
    Link(pipes[0][0], pipes[1][1])
    assert not os.get_inheritable(pipes[0][0])
    assert not os.get_inheritable(pipes[1][1])


@pytest.mark.parametrize("line", ["link.command()", "link.answer('block', {})"])
def test_it_ends_where_nobody_listens_any_more(line):
    code = (
        "import os; from quickfit.tuning.trials.link import Link\n"
        "a, b = os.pipe(); c, d = os.pipe(); link = Link(a, d); os.close(b); os.close(c)\n"
        f"{line}\nprint('still here')"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == ran.stderr == ""
