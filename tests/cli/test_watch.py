"""`quickfit watch` and `run --live` from the command line."""

import importlib.util
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
from typer.testing import CliRunner

from quickfit.cli.main import app
from quickfit.errors import UsageError

from launch.sessions import clean_env


def test_it_serves_until_ctrl_c_and_ends_well(tmp_path):
    command = [sys.executable, "-m", "quickfit", "watch"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=clean_env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as watch:
        address = watch.stdout.readline().decode().strip()
        with urllib.request.urlopen(address) as page:
            assert b"quickfit watch" in page.read()
        with urllib.request.urlopen(f"{address}events") as events:
            assert events.readline() == b"retry: 2000\n"
            watch.send_signal(signal.SIGINT)
            assert b"event: bye" in events.read()  # an open page does not keep it
        assert watch.wait() == 0
        said = watch.stderr.read().decode()
    assert said == ("quickfit: open this address in a browser; Ctrl-C ends it\nquickfit: stopped\n")
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(address)


@pytest.mark.parametrize("words", [["watch"], ["run", "--live", "train.py"]])
def test_what_is_missing_is_named_with_how_to_install_it(monkeypatch, words):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "uvicorn" else found(name)
    )
    with pytest.raises(UsageError, match=r"(?s)uvicorn.*pip install 'quickfit\[live\]'"):
        CliRunner().invoke(app(), words, catch_exceptions=False)


def test_what_is_no_recording_is_refused(tmp_path):
    with pytest.raises(UsageError, match="not the folder of a recording"):
        CliRunner().invoke(app(), ["watch", str(tmp_path / "x")], catch_exceptions=False)
