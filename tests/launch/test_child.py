"""What the first lines in the script's process do."""

import pytest

from quickfit.launch import child
from quickfit.probes import session

from launch.sessions import python


@pytest.fixture
def started(monkeypatch):
    calls = []
    monkeypatch.setattr(session, "start", lambda folder, **how: calls.append((folder, how)))
    return calls


def test_the_script_is_told_when_to_stop(started, monkeypatch, tmp_path):
    monkeypatch.setenv("QUICKFIT_RUN", str(tmp_path))
    monkeypatch.setenv("QUICKFIT_STOP", '{"steps": 5}')
    child.boot("main")
    assert started == [(tmp_path, {"role": "main", "stop": {"steps": 5}, "patches": {}})]


def test_a_descendant_is_never_stopped(started, monkeypatch, tmp_path):
    monkeypatch.setenv("QUICKFIT_RUN", str(tmp_path))
    monkeypatch.setenv("QUICKFIT_STOP", '{"steps": 5}')
    child.boot("descendant")
    assert started == [(tmp_path, {"role": "descendant", "stop": None, "patches": {}})]


def test_turbo_is_for_the_script_alone(started, monkeypatch, tmp_path):
    from quickfit import turbo

    begun = []
    monkeypatch.setattr(turbo, "start", lambda: begun.append(True))
    monkeypatch.setenv("QUICKFIT_RUN", str(tmp_path))
    monkeypatch.setenv("QUICKFIT_TURBO", "1")
    child.boot("descendant")
    child.boot("main")
    (_, descendant), (_, main) = started
    assert descendant["patches"] == {}
    assert "keras.src.trainers.data_adapters.array_data_adapter" in main["patches"]
    assert begun == [True]


def test_a_run_whose_folder_is_gone_is_not_recorded(started, monkeypatch, tmp_path):
    monkeypatch.setenv("QUICKFIT_RUN", str(tmp_path / "gone"))
    child.boot("descendant")
    assert started == []


def test_importing_it_loads_nothing_that_a_script_would_notice(tmp_path):
    code = (
        "import sys; import quickfit.launch.child;"
        "print([m for m in ('tensorflow', 'keras', 'numpy', 'rich', 'typer', 'sqlite3', 'ctypes')"
        " if m in sys.modules])"
    )
    assert python(tmp_path, "-c", code).stdout == b"[]\n"
