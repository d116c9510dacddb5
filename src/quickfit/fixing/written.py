"""What was written already: whether files are as the last fix has left them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from quickfit import trust
from quickfit.code.file_changes import MANIFEST, read_manifest
from quickfit.errors import FixError
from quickfit.fixing.proven import FILE, Proven

# A file, its digest before a fix and after it.
Written = tuple[str, str, str]


def written_title(entries: Sequence[Proven], home: Path) -> str:
    """Return what was written into the files of these changes, if they still are as it left them.

    Empty where a file is as it was, or was changed by somebody else.
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
