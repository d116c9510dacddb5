"""Other people's scripts with a known cause: is it named first, at the guilty line?

    python benchmarks/variants.py [--only TEXT …] [--keep FOLDER] [--pairs]

Each script is run once under quickfit, unmodified, in a fresh folder. `--keep` packs the recordings
for the tests that replay them. The exit code says whether every cause was named first.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from _cases import Case, pack, pairs, run, variants
from quickfit.diagnosis.engine import diagnose_recording
from quickfit.findings import Diagnosis
from quickfit.recording import reader

ROW = "{:42} {:26} {:5} {:5} {:24} {:>11} {}"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--keep", type=Path)
    parser.add_argument(
        "--pairs", action="store_true", help="the slow script of every pair instead"
    )
    options = parser.parse_args()
    cases: Iterable[Case] = pairs() if options.pairs else variants()
    chosen = [c for c in cases if not options.only or any(o in c.name for o in options.only)]
    print(ROW.format("script", "named first", "right", "line", "where", "predicted", "then"))
    results = [tried(case, options.keep) for case in chosen]
    named = sum(is_named for is_named, _ in results)
    placed = sum(is_placed for _, is_placed in results)
    print(f"\n{named} of {len(results)} named first, {placed} at the guilty line")
    return int(named < len(results))


def tried(case: Case, keep: Path | None) -> tuple[bool, bool]:
    """Run one script and print what was said of it."""
    with tempfile.TemporaryDirectory(prefix="quickfit-bench-") as temp:
        recorded = run(case, Path(temp))
        diagnosis = diagnose_recording(reader.read(recorded))
        if keep is not None:
            pack(recorded, keep / f"{case.name}.tar.xz")
    print(row(case, diagnosis), flush=True)
    is_named = case.is_named(diagnosis)
    return is_named, is_named and case.is_placed(diagnosis)


def row(case: Case, diagnosis: Diagnosis) -> str:
    """Return one line of the table."""
    marks = ("yes", "NO")
    is_named = case.is_named(diagnosis)
    cells = [marks[not is_named], marks[not (is_named and case.is_placed(diagnosis))]]
    if not diagnosis.findings:
        return ROW.format(case.name, "-", *cells, case.place, "", diagnosis.headline[:90])
    first, *others = diagnosis.findings
    where = first.where.short if first.where else "-"
    where += "" if where == case.place else f" not {case.place}"
    gain = f"{first.gain.low:.2f}-{first.gain.high:.2f}"
    then = ", ".join(finding.cause for finding in others)
    return ROW.format(case.name, first.cause, *cells, where, gain, then)


if __name__ == "__main__":
    sys.exit(main())
