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
    made(lambda path, **given: None)
    assert verdict.print_report(tmp_path)
    assert capfd.readouterr() == ("", "the report\n")


def test_an_error_of_ours_is_said_as_it_is(made, tmp_path, capfd):
    def diagnose(path, **given):
        raise RecordingError("nothing was recorded.\nRun it again.")

    made(diagnose)
    assert not verdict.print_report(tmp_path)
    assert capfd.readouterr().err == "quickfit: nothing was recorded.\nquickfit: Run it again.\n"


def test_a_bug_of_ours_is_said_in_one_line(made, tmp_path, capfd):
    made(lambda path, **given: 1 / 0)
    assert not verdict.print_report(tmp_path)
    said = capfd.readouterr().err
    assert said.startswith("quickfit: the report could not be made (ZeroDivisionError: division")
    assert said.count("\n") == 1


def test_a_renderer_learns_where_the_text_goes(made, tmp_path, capfd):
    made(
        lambda path, **given: None,
        lambda _, stream: stream.write(f"{stream.isatty()} {stream.encoding}"),
    )
    verdict.print_report(tmp_path)
    assert capfd.readouterr().err.lower() == "false utf-8"


def test_a_page_is_written_too_and_its_path_is_said_last(tmp_path, capfd, monkeypatch):
    import quickfit.diagnosis

    from report.builders import diagnosis, map_finding

    monkeypatch.setattr(
        quickfit.diagnosis, "diagnose", lambda path, **given: diagnosis(map_finding())
    )
    form = verdict.ReportForm(tmp_path / "report.html")
    assert verdict.print_report(tmp_path, form)
    said = capfd.readouterr().err
    assert "1  sequential-map" in said
    assert said.endswith(f"quickfit: page: {tmp_path / 'report.html'}\n")
    assert "sequential-map" in (tmp_path / "report.html").read_text()


def test_a_page_that_cannot_be_written_costs_neither_report_nor_exit_code(
    tmp_path, capfd, monkeypatch
):
    import quickfit.diagnosis

    from report.builders import diagnosis

    monkeypatch.setattr(quickfit.diagnosis, "diagnose", lambda path, **given: diagnosis())
    (tmp_path / "report.html").write_text("mine")
    assert verdict.print_report(tmp_path, verdict.ReportForm(tmp_path / "report.html"))
    said = capfd.readouterr().err
    assert "compute-bound" in said
    assert "not a page of quickfit; nothing was changed" in said
    assert (tmp_path / "report.html").read_text() == "mine"


def test_a_report_may_be_markdown(tmp_path, capfd, monkeypatch):
    import quickfit.diagnosis

    from report.builders import diagnosis, map_finding

    monkeypatch.setattr(
        quickfit.diagnosis, "diagnose", lambda path, **given: diagnosis(map_finding())
    )
    assert verdict.print_report(tmp_path, verdict.ReportForm(format="markdown"))
    assert "#### 1. `sequential-map`: training" in capfd.readouterr().err
