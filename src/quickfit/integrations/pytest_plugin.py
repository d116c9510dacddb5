"""A pytest fixture that records a training and holds it against a kept recording.

    def test_training_is_not_slower(quickfit_record):
        training = quickfit_record(train)
        training.assert_not_slower_than("tests/speed.qfrun", by="15%")
        training.assert_without("sequential-map")

`pytest --quickfit-keep` writes the kept recordings anew. Nothing else of quickfit is loaded before
a test asks for the fixture.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from quickfit.findings import Comparison, Diagnosis

KEEP = "--quickfit-keep"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that keeps what was recorded."""
    group = parser.getgroup("quickfit")
    group.addoption(
        KEEP, action="store_true", help="Keep what is recorded as what later runs are held against."
    )


class RecordedTraining:
    """A training that was recorded.

    Args:
        folder: its recording.
        keeps: write it where a kept recording is asked for.
    """

    def __init__(self, folder: Path, *, keeps: bool = False) -> None:
        self.folder = folder
        self._keeps = keeps

    def diagnose(self) -> Diagnosis:
        """Return what quickfit says of it: verdict, findings, account."""
        from quickfit.diagnosis import diagnose

        return diagnose(self.folder)

    def compare_with(self, kept: str | Path) -> Comparison:
        """Return how it differs from a kept recording, the older one."""
        from quickfit.comparing.recordings import compare_recordings

        return compare_recordings(Path(kept), self.folder)

    def assert_without(self, *causes: str) -> None:
        """Fail if one of these causes was found, or any cause where none is named."""
        from quickfit.report.comparison import finding_text

        found = [f for f in self.diagnose().findings if not causes or f.cause in causes]
        if found:
            pytest.fail("\n".join(map(finding_text, found)), pytrace=False)

    def assert_not_slower_than(self, kept: str | Path, by: str = "10%") -> None:
        """Fail if it is surely slower than a kept recording by more than a share.

        Args:
            kept: the folder of the kept recording; `pytest --quickfit-keep` writes it.
            by: how much slower is too slow.
        """
        from quickfit.comparing.recordings import is_slower_than, share_of
        from quickfit.report.comparison import comparison_to_text

        limit, kept = share_of("by", by), Path(kept)
        if self._keeps:
            _keep(self.folder, kept)
            return
        if not kept.is_dir():
            pytest.fail(
                f"there is no kept recording {kept}.\nWrite it once, on the machine that runs the"
                f" tests:\n    pytest {KEEP}",
                pytrace=False,
            )
        found = self.compare_with(kept)
        if is_slower_than(found.slower, limit):
            pytest.fail(
                f"slower than {kept} by more than {by}\n{comparison_to_text(found)}", pytrace=False
            )


def _keep(folder: Path, kept: Path) -> None:
    """Put a recording in the place of another one; anything else there stays."""
    if kept.exists() and not (kept / "run.json").is_file():
        pytest.fail(f"{kept} is not a recording, and is not replaced", pytrace=False)
    shutil.rmtree(kept, ignore_errors=True)
    kept.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(folder, kept)


@pytest.fixture
def quickfit_record(
    tmp_path: Path, request: pytest.FixtureRequest
) -> Callable[..., RecordedTraining]:
    """Call a function that trains, and return what was recorded of it."""
    from quickfit.integrations.watch import Watch

    count = 0

    # Any: arguments of a function of the user's
    def record(train: Callable[..., object], *args: Any, **named: Any) -> RecordedTraining:
        nonlocal count
        count += 1
        watch = Watch(tmp_path / f"training{count}.qfrun", report=False)
        if watch.folder is None:
            pytest.skip("the tests themselves are watched by `quickfit run`")
        with watch:
            train(*args, **named)
        return RecordedTraining(watch.folder, keeps=bool(request.config.getoption(KEEP)))

    return record
