"""Healthy scripts, each alone and beside a CPU hog: nothing may be found but the busy machine.

    python benchmarks/healthy.py [--only TEXT …] [--keep FOLDER]

`--keep` packs the recordings for the tests that replay them.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from _cases import Case, healthy, pack, run
from quickfit.diagnosis.engine import diagnose_recording
from quickfit.findings import Diagnosis
from quickfit.recording import reader

ROW = "{:36} {:7} {:6} {}"


def main() -> int:
    """Print the table; the exit code says whether anything was found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    chosen = [c for c in healthy() if not options.only or any(o in c.name for o in options.only)]
    print(ROW.format("script", "beside", "silent", "said"))
    hogs = (0, os.cpu_count() or 1)
    results = [tried(case, count, options.keep) for case in chosen for count in hogs]
    print(f"\n{sum(results)} of {len(results)} runs silent")
    return int(not all(results))


def tried(case: Case, hogs: int, keep: Path | None) -> bool:
    """Run one script beside some hogs and print what was said of it."""
    with tempfile.TemporaryDirectory(prefix="quickfit-bench-") as temp:
        with beside(hogs):
            recorded = run(case, Path(temp))
        diagnosis = diagnose_recording(reader.read(recorded))
        if keep is not None:
            pack(recorded, keep / f"{case.name}.{'hog' if hogs else 'alone'}.tar.xz")
    found = [f.cause for f in diagnosis.findings if not f.is_of_machine]
    print(row(case, hogs, found, diagnosis), flush=True)
    return not found


def row(case: Case, hogs: int, found: list[str], diagnosis: Diagnosis) -> str:
    """Return one line of the table."""
    said = f"{', '.join(found)}: " if found else ""
    beside = "a hog" if hogs else "nothing"
    return ROW.format(case.name, beside, "NO" if found else "yes", said + diagnosis.headline[:100])


@contextlib.contextmanager
def beside(count: int) -> Iterator[None]:
    """Keep some cores busy with nothing for a while."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


if __name__ == "__main__":
    sys.exit(main())
