"""`quickfit.data.generator` on a function that only Python can run, beside other ways to feed it.

    python benchmarks/data_generator.py [--only TEXT …] [--rounds 8] [--block 2] [--json FILE]

The function holds the GIL for about 3 ms an item: threads cannot help, processes can. Every case
is checked against the function itself.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from data.cases import Case, versions
from data.options import chosen, parser, plan
from data.table import Claim, exit_code, judge, show, write
from data.turns import measure

HERE = "data.python_item"
ONE, TWO = "quickfit generator(), 1 worker", "quickfit generator(), 2 workers"
PEERS = (
    Case("from_generator", f"{HERE}:from_generator", {}, ("tensorflow",)),
    Case("PyDataset, 2 threads", f"{HERE}:py_dataset", {"workers": 2}, ("keras",)),
    Case(
        "PyDataset, 2 processes",
        f"{HERE}:py_dataset",
        {"workers": 2, "processes": True},
        ("keras",),
    ),
)


def _ours(name: str, **options: object) -> Case:
    return Case(name, f"{HERE}:quickfit_generator", options, ("tensorflow",))


CASES = (
    _ours(ONE, workers=1, kind="processes"),
    _ours(TWO, workers=2, kind="processes"),
    _ours("quickfit generator(), 2 threads", workers=2, kind="threads"),
    *PEERS,
)
CLAIMS = (
    Claim("two workers against one", TWO, (ONE,), 1.8, counts_cpu=False),
    Claim("two workers ahead of all others", TWO, tuple(peer.name for peer in PEERS), 1.0),
)


def main() -> int:
    """Measure and print the table."""
    options: argparse.Namespace = parser(__doc__, block_s=2.0).parse_args()
    print(", ".join(f"{name} {value}" for name, value in versions().items()))
    shared = {"photos": str(Path()), "check": f"{HERE}:check"}
    results = measure(chosen(CASES, options.only), plan(options), shared=shared)
    show("Items of a Python function", results, ONE)
    verdicts = judge(CLAIMS, results)
    write(options.json, "", {"generator": results, "claims": verdicts})
    return exit_code(verdicts)


if __name__ == "__main__":
    raise SystemExit(main())
