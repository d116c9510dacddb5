"""Which of our interpreter's flags the script is run with."""

import pytest

from quickfit.launch.interpreter import dropped_flags, interpreter_flags


@pytest.mark.parametrize(
    ("command", "flags"),
    [
        pytest.param("python /bin/quickfit run -u", [], id="none, and the script's own"),
        pytest.param("python -u -m quickfit -v", ["-u"], id="before -m"),
        pytest.param("python -um quickfit", ["-u"], id="together with -m"),
        pytest.param("python -BOO x.py", ["-B", "-O", "-O"], id="a cluster"),
        pytest.param("python -X dev -Wd x.py", ["-Xdev", "-Wd"], id="with values"),
        pytest.param(
            "python -uX importtime x", ["-u", "-Ximporttime"], id="a value after a cluster"
        ),
        pytest.param("python -WX x.py", ["-WX"], id="a value that looks like a flag"),
        pytest.param(
            "python --check-hash-based-pycs never x.py",
            ["--check-hash-based-pycs", "never"],
            id="a long one",
        ),
        pytest.param("python -uIEsS x.py", ["-u", "-s"], id="without those in our way"),
        pytest.param("python -", [], id="stdin"),
        pytest.param("python", [], id="nothing"),
    ],
)
def test_flags(command, flags):
    assert interpreter_flags(command.split()) == flags


def test_what_is_dropped_can_be_said():
    assert dropped_flags(["python", "-uI", "-E", "-WI", "x.py", "-S"]) == ["-I", "-E"]
    assert dropped_flags(["python", "-u", "x.py"]) == []
