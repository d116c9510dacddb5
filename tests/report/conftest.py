"""Fixtures of the report tests: the working directory, and snapshots."""

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from quickfit.report import text

from report.builders import HOME

SNAPSHOTS = Path(__file__).parent.parent / "snapshots"


@pytest.fixture
def at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let reports be read in the folder the recorded run was started in."""
    monkeypatch.setattr(text, "os", SimpleNamespace(getcwd=lambda: HOME))


@pytest.fixture
def matches_snapshot() -> Callable[[str, str], bool]:
    """Compare text with `tests/snapshots/NAME`; UPDATE_SNAPSHOTS=1 rewrites the file instead."""

    def compare(shown: str, name: str) -> bool:
        file = SNAPSHOTS / name
        if os.environ.get("UPDATE_SNAPSHOTS"):
            file.write_text(shown, encoding="utf-8")
        assert shown == file.read_text(encoding="utf-8"), (
            f"{name} differs; when the new text is right: UPDATE_SNAPSHOTS=1 pytest tests/report"
        )
        return True

    return compare
