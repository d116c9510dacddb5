"""The exception that ended a script is recorded, and only that one."""

import pytest

from quickfit.recording import reader

from launch.sessions import newest_run, of_the_script, python, quickfit


def ended_by(tmp_path, source, *command):
    """Run a script with and without quickfit; return how it ended, as the recording says."""
    (tmp_path / "train.py").write_text(source)
    plain = python(tmp_path, *(command or ("train.py",)))
    watched = quickfit(tmp_path, "run", *(command or ("train.py",)))
    assert watched.returncode == plain.returncode
    assert watched.stdout == plain.stdout
    assert of_the_script(watched.stderr) == plain.stderr
    facts = reader.read(newest_run(tmp_path)).main.facts
    return facts.get("ended_by")


def test_an_error_is_told_with_the_innermost_line_of_the_user(tmp_path):
    source = "import json\ndef load():\n    return json.loads('{')\nload()\n"
    assert ended_by(tmp_path, source) == {
        "type": "JSONDecodeError",
        "message": "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        "file": str(tmp_path / "train.py"),
        "line": 3,
        "frames": [[str(tmp_path / "train.py"), 4], [str(tmp_path / "train.py"), 3]],
    }


def test_an_error_of_a_module_is_told(tmp_path):
    told = ended_by(tmp_path, "raise KeyError('x' * 1000)\n", "-m", "train")
    assert (told["type"], told["line"]) == ("KeyError", 1)
    # TensorFlow tells the reason after a traceback of its own.
    assert told["message"] == "'" + "x" * 99 + " … " + "x" * 696 + "'"


def test_a_text_that_cannot_be_had_is_none(tmp_path):
    source = (
        "class Hostile(Exception):\n"
        "    def __str__(self):\n"
        "        raise ValueError\n"
        "raise Hostile('made with')\n"
    )
    told = ended_by(tmp_path, source)
    assert (told["type"], told["message"], told["line"]) == ("Hostile", "made with", 4)


def test_a_script_that_python_cannot_read_is_told(tmp_path):
    told = ended_by(tmp_path, "x = 1\nx = = 2\n")
    assert (told["type"], told["line"]) == ("SyntaxError", 2)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("x = 1", id="it ended well"),
        pytest.param("import sys; sys.exit(3)", id="it was told to exit"),
        pytest.param("try:\n    1 / 0\nexcept ZeroDivisionError:\n    pass\n", id="it was caught"),
        pytest.param(
            "import sys\n"
            "def fail():\n"
            "    1 / 0\n"
            "try:\n"
            "    fail()\n"
            "except ZeroDivisionError as error:\n"
            "    sys.last_value = error.with_traceback(error.__traceback__.tb_next)\n",
            id="a library had one printed",
        ),
    ],
)
def test_nothing_is_told_when(tmp_path, source):
    assert ended_by(tmp_path, source) is None
