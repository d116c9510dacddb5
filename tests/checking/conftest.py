"""A folder of its own for each test."""

import pytest

from checking.cases import run_check


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    return tmp_path


@pytest.fixture
def check(home, monkeypatch, capsys):
    """Run `quickfit check` in the working directory."""

    def run(*words, stdin=b""):
        return run_check(monkeypatch, capsys, *words, stdin=stdin)

    return run
