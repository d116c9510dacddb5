"""Makes the packs that the benchmarks read, and drops files from the page cache."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path


def ready_pack(source: Path, destination: Path, form: str) -> Path:
    """Return a pack of the photographs; one that is there already and still fits is used again."""
    from quickfit import data
    from quickfit.errors import PipelineError

    destination.parent.mkdir(parents=True, exist_ok=True)
    try:
        data.pack(source, destination, form=form, progress=False)
    except PipelineError as error:
        print(f"made anew: {error}", file=sys.stderr)
        shutil.rmtree(destination)
        data.pack(source, destination, form=form, progress=False)
    return destination


def forget(files: Iterable[Path]) -> None:
    """Drop files from the page cache, as if the machine had just been started."""
    for file in files:
        opened = os.open(file, os.O_RDONLY)
        try:
            os.fsync(opened)  # a page that is not written yet stays
            os.posix_fadvise(opened, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(opened)
