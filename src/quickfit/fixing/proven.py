"""Keeps what was proven, so that it can be written without proving it again."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from quickfit.errors import FixError
from quickfit.findings import FixClass
from quickfit.fixes.change import Edit
from quickfit.fixes.files import SourceFile, read_source

FILE = Path(".quickfit") / "fixes" / "proven.json"


@dataclass(frozen=True)
class Proven:
    """A change that was proven, and the files it was made for by their digests."""

    cause: str
    kind: FixClass
    edits: tuple[Edit, ...]
    digests: dict[str, str]


def keep(entries: Sequence[Proven], home: Path) -> None:
    """Write down what was proven; nothing is lost but comfort where that is not possible."""
    facts = [
        {
            "cause": entry.cause,
            "kind": entry.kind.value,
            "edits": [[e.file, e.begin, e.end, e.text] for e in entry.edits],
            "digests": entry.digests,
        }
        for entry in entries
    ]
    path = home / FILE
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        ignore = home / ".quickfit" / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n")
        aside = path.with_suffix(".new")
        aside.write_text(json.dumps(facts, indent=1))
        os.replace(aside, path)
    except OSError:
        return


def read(home: Path) -> list[Proven]:
    """Return what was proven last in a folder.

    Raises:
        FixError: nothing was, or the file is damaged.
    """
    try:
        facts = json.loads((home / FILE).read_text())
        return [_entry(entry) for entry in facts]
    except OSError as error:
        raise FixError(
            f"{home / FILE}: nothing was proven here yet.\nProve a fix first:\n"
            "    quickfit fix train.py"
        ) from error
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise FixError(f"{home / FILE}: is damaged. Prove the fix again.") from error


def _entry(facts: dict) -> Proven:  # type: ignore[type-arg]
    edits = tuple(
        Edit(str(file), (int(b[0]), int(b[1])), (int(e[0]), int(e[1])), str(text))
        for file, b, e, text in facts["edits"]
    )
    digests = {str(path): str(digest) for path, digest in facts["digests"].items()}
    return Proven(str(facts["cause"]), FixClass(facts["kind"]), edits, digests)


def files_of(entries: Sequence[Proven]) -> dict[str, tuple[SourceFile, bytes]]:
    """Return every file that changes, as it is and as it becomes.

    Raises:
        FixError: one has changed since the proof.
    """
    edits = {edit for entry in entries for edit in entry.edits}
    files = {}
    for path in sorted({edit.file for edit in edits}):
        found = read_source(path)
        digests = {entry.digests[path] for entry in entries if path in entry.digests}
        if digests != {found.sha256}:
            raise FixError(
                f"{path}: has changed since the fix was proven, so it is left alone.\n"
                "Prove it again with the file as it is: quickfit fix train.py"
            )
        files[path] = (found, found.edited(edits))
    return files
