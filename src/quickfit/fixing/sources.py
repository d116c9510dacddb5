"""The files that a run was made of, as they are now, and as changes make them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from quickfit.code.edits import merge_edits
from quickfit.code.file_changes import SourceFile, read_source
from quickfit.errors import FixError
from quickfit.findings import Change, FixClass
from quickfit.lab.verdict import Outcome
from quickfit.recording.reader import Recording


@dataclass(frozen=True)
class Sources:
    """Those that are as they were when the run was recorded, and those that are not."""

    files: dict[str, SourceFile]
    changed: tuple[str, ...]

    @property
    def texts(self) -> dict[str, str]:
        """The text of each unchanged file, by its path."""
        return {path: file.text for path, file in self.files.items()}


def sources_of(recording: Recording) -> Sources:
    """Return the user's files of a run."""
    files: dict[str, SourceFile] = {}
    changed: list[str] = []
    rows = [row for p in (recording.main, *recording.others) for row in p.rows("sources")]
    for row in rows:
        if not Path(row["file"]).is_absolute() or row["file"] in files:
            continue
        try:
            found = read_source(row["file"])
        except FixError:
            changed.append(row["file"])
            continue
        if found.sha256 == row["sha256"]:
            files[row["file"]] = found
        else:
            changed.append(row["file"])
    return Sources(files, tuple(dict.fromkeys(changed)))


def edited_files(change: Change, sources: Sources) -> dict[str, bytes]:
    """Return the bytes of the files that a change touches, with the change made."""
    return {path: sources.files[path].edited(change.edits) for path in change.files}


_CLASS_ORDER = (
    *(FixClass.SAME_RESULTS, FixClass.REPAIRS, FixClass.EQUIVALENT),
    *(FixClass.MAY_CHANGE_RESULTS, FixClass.SHOW_ONLY),
)


def join_outcomes(outcomes: Sequence[Outcome]) -> Change:
    """Return several changes as one, of the lowest class among them."""
    kind = max((outcome.kind for outcome in outcomes), key=_CLASS_ORDER.index)
    return Change("All of them", kind, merge_edits([outcome.change for outcome in outcomes]))
