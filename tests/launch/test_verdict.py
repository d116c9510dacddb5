"""A report that cannot be made is said in one line, and harms nothing."""

import sys
import types

import pytest

from quickfit.errors import RecordingError
from quickfit.launch import verdict


@pytest.fixture
def made(monkeypatch):
    """Puts a function in the place of the diagnosis."""

    def put(diagnose, write_report=lambda diagnosis, stream: stream.write("the report\n")):
        fakes = {"quickfit.diagnosis": diagnose, "quickfit.report.to_terminal": write_report}
        for name, function in fakes.items():
            module = types.ModuleType(name)
            setattr(module, "diagnose" if function is diagnose else "write_report", function)
            monkeypatch.setitem(sys.modules, name, module)

    return put


def test_the_report_goes_to_stderr(made, tmp_path, capfd):
    made(lambda path: None)
    assert verdict.print_report(tmp_path)
    assert capfd.readouterr() == ("", "the report\n")


def test_an_error_of_ours_is_said_as_it_is(made, tmp_path, capfd):
    def diagnose(path):
        raise RecordingError("nothing was recorded.\nRun it again.")

    made(diagnose)
    assert not verdict.print_report(tmp_path)
    assert capfd.readouterr().err == "quickfit: nothing was recorded.\nquickfit: Run it again.\n"


def test_a_bug_of_ours_is_said_in_one_line(made, tmp_path, capfd):
    made(lambda path: 1 / 0)
    assert not verdict.print_report(tmp_path)
    said = capfd.readouterr().err
    assert said.startswith("quickfit: the report could not be made (ZeroDivisionError: division")
    assert said.count("\n") == 1


def test_a_renderer_learns_where_the_text_goes(made, tmp_path, capfd):
    made(lambda path: None, lambda _, stream: stream.write(f"{stream.isatty()} {stream.encoding}"))
    verdict.print_report(tmp_path)
    assert capfd.readouterr().err.lower() == "false utf-8"
