"""The files that a run was made of, as they are now."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from quickfit.code.file_changes import SourceFile, read_source
from quickfit.errors import FixError
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
