"""A script in a trial sees what it would see when Python runs it."""

import json

import pytest

from quickfit.launch.target import Target
from trials import tried

from launch.sessions import python

LOOK_AROUND = """
import json, os, pickle, sys
class Point: pass
assert type(pickle.loads(pickle.dumps(Point()))) is Point
print(json.dumps({
    "argv": sys.argv[1:], "name": __name__, "package": __package__, "cwd": os.getcwd(),
    "path": sys.path[0], "main": sys.modules["__main__"].__dict__ is globals(),
    "doc": __doc__, "script": os.path.abspath(sys.argv[0]), "file": os.path.abspath(__file__),
}))
"""


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home"
    (folder / "pkg").mkdir(parents=True)
    (folder / "pkg" / "__init__.py").write_text("")
    for name in ("train.py", "pkg/mod.py", "pkg/script.py"):
        (folder / name).write_text(LOOK_AROUND)
    return folder


@pytest.mark.parametrize(
    ("target", "command"),
    [
        pytest.param(
            Target(script="train.py", args=("--help", "-m", "", "ü")),
            ("train.py", "--help", "-m", "", "ü"),
            id="a script",
        ),
        pytest.param(
            Target(script="pkg/script.py", args=("x",)),
            ("pkg/script.py", "x"),
            id="a script below",
        ),
        pytest.param(
            Target(module="pkg.mod", args=("--lr", "1")),
            ("-m", "pkg.mod", "--lr", "1"),
            id="a module",
        ),
    ],
)
def test_it_sees_what_it_would_see(home, target, command):
    ended = tried(home, target=target)
    assert ended.failure == "", ended.err
    assert json.loads(ended.out) == json.loads(python(home, *command).stdout)


def test_a_link_to_a_script_finds_the_modules_beside_the_script(home):
    (home / "pkg" / "tool.py").write_text("VALUE = 3\n")
    (home / "pkg" / "script.py").write_text("import tool\nprint(tool.VALUE)\n")
    (home / "link.py").symlink_to("pkg/script.py")
    assert tried(home, target=Target(script="link.py")).out == "3\n"


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        pytest.param("raise SystemExit(3)", "ended with exit code 3", id="a code"),
        pytest.param("import sys; sys.exit('no data')", "ended with exit code 1: no data", id="a"),
        pytest.param(
            "1 / 0", "ended with exit code 1: ZeroDivisionError: division by zero", id="e"
        ),
        pytest.param("a = (", "ended with exit code 1: SyntaxError: '(' was never closed", id="s"),
        pytest.param("import os; os.kill(os.getpid(), 9)", "ended by SIGKILL", id="a kill"),
        pytest.param("import os; os.kill(os.getpid(), 11)", "ended by SIGSEGV", id="a crash"),
        pytest.param("raise SystemExit", "", id="an end"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_an_end_is_told_as_it_was(home, text, failure):
    assert tried(home, text).failure == failure


def test_standard_input_is_empty(home):
    assert tried(home, "print(repr(input()))").failure.endswith("EOFError: EOF when reading a line")
