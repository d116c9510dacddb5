"""Keeps what was proven, so that it can be written later, and knows what of it was written.

The note is sealed by the user, for this folder: one that came with a clone writes nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from quickfit import trust
from quickfit.code.file_changes import MANIFEST, SourceFile, read_manifest, read_source
from quickfit.errors import FixError
from quickfit.findings import Edit, FixClass

FILE = Path(".quickfit") / "fixes" / "proven.json"
_PURPOSE = "write what was proven"
# What values of other types end in.
_NOT_OURS = (ValueError, LookupError, TypeError, ArithmeticError, AttributeError)


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
        trust.make_private_folder(path.parent)
        record = trust.sealed({"proven": facts}, purpose=_PURPOSE, folder=home)
        trust.write_private(path, json.dumps(record, indent=1).encode())
    except (OSError, trust.NotTrusted):
        return


def read(home: Path) -> list[Proven]:
    """Return what was proven last in a folder.

    Raises:
        FixError: nothing was, the file is damaged, or it is not this user's own.
    """
    try:
        record = json.loads(trust.read_private(home / FILE))
        facts = trust.check_seal(record, purpose=_PURPOSE, folder=home)
        return [_entry(entry) for entry in facts["proven"]]
    except trust.NotTrusted as error:
        raise FixError(
            f"{home / FILE}: this proof is not trusted, so nothing was written.\n"
            f"Received: {error}.\nProve the fix yourself:\n    quickfit fix train.py"
        ) from error
    except OSError as error:
        raise FixError(
            f"{home / FILE}: nothing was proven here yet.\nProve a fix first:\n"
            "    quickfit fix train.py"
        ) from error
    except (*_NOT_OURS, RecursionError) as error:
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


# A file, its digest before a fix and after it.
Written = tuple[str, str, str]


def written_title(entries: Sequence[Proven], home: Path) -> str:
    """Return what was written into the files of these changes, if they still are as it left them.

    Empty where a file is as it was, or was changed since.
    """
    wanted = {
        (path, digest, _digest_now(path))
        for entry in entries
        for path, digest in entry.digests.items()
    }
    for title, files in _fixes(home):
        if wanted <= files:
            return title
    return ""


def _digest_now(path: str) -> str:
    try:
        return hashlib.sha256(trust.read_regular(path)).hexdigest()
    except OSError:
        return ""


def _fixes(home: Path) -> Iterator[tuple[str, set[Written]]]:
    """Return what every fix that can be undone has written; what is damaged says nothing."""
    for manifest in sorted((home / FILE).parent.glob(f"*/{MANIFEST}"), reverse=True):
        try:
            facts = read_manifest(manifest.parent, home)
        except FixError:
            continue
        yield facts["title"], {(e["path"], e["before"], e["after"]) for e in facts["files"]}
