"""Is an interval honest? The same script against itself, and the rule of a proof on noise alone.

    python benchmarks/coverage.py [--pairs 60] [--scope steps training run] [--keep FILE]
    python benchmarks/coverage.py --simulate [FILE]

Every pair is two fresh trials of one tiny script, as `quickfit fix` measures them; the second one
has a comment more. The figures: how often an interval over consecutive pairs holds 1.0 (95 % is the
claim), how far single pairs are off, and how many such "fixes" a proof would accept. A pair takes
about 15 s on two free cores, sixty pairs about a quarter of an hour; run it on a quiet machine and
again beside a load of your choice. `--keep` writes the ratios to a file, one row per pair;
pairs that it has already count, so that sixty can be taken in pieces.

`--simulate` draws pairs instead: from made-up noise, and from a file of kept ratios. It compares
the error rate and the number of pairs of the rule in `lab/verdict.py` with three to six pairs at
2.5 % each.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from quickfit.findings import MIN_GAIN
from quickfit.lab.script_pair import Scope, Setting, Version, measure_pair
from quickfit.lab.statistics import interval
from quickfit.lab.verdict import MIN_PAIRS, MOST_PAIRS, VerdictKind, judge_gain
from quickfit.launch.target import Target

SCRIPTS = {
    "arrays": """
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np

x = np.random.default_rng(0).random((512, 64), "float32")
model = keras.Sequential([keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(x, x[:, :1], batch_size=32, epochs=EPOCHS, verbose=0)
""",
    "pipeline": """
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import tensorflow as tf

ds = tf.data.Dataset.range(512).map(lambda n: tf.random.stateless_normal((64,), (n, 1)))
ds = ds.map(lambda v: (v, v[:1])).batch(32).prefetch(1)
model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(ds, epochs=EPOCHS, verbose=0)
""",
}
# Far more than is measured, and as many as end after seconds.
EPOCHS = {Scope.STEPS: 100_000, Scope.TRAINING: 30, Scope.RUN: 30}
PATIENCE_S = 300.0
DRAWS = 4000
GAINS = (1.0, MIN_GAIN, 1.5, 3.0)


def main() -> int:
    """Print the figures that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--scope", nargs="*", default=["steps"])
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--simulate", nargs="?", const="", default=None)
    options = parser.parse_args()
    if options.simulate is not None:
        simulate(Path(options.simulate) if options.simulate else None)
        return 0
    rows = measure(options.pairs, [Scope[name.upper()] for name in options.scope], options.keep)
    report(rows)
    return 0


def measure(pairs: int, scopes: Sequence[Scope], keep: Path | None) -> list[dict[str, object]]:
    """Measure scripts against themselves; return a row per pair."""
    cases = [(scope, name) for scope in scopes for name in SCRIPTS]
    rows = []
    if keep is not None and keep.exists():
        rows = [json.loads(line) for line in keep.read_text().splitlines()]
    for number in range(len(rows), pairs):
        # Six pairs of a case follow each other: so many may belong to one proof.
        scope, name = cases[number // MOST_PAIRS % len(cases)]
        row = {"case": name, "scope": scope.name.lower(), "load": round(os.getloadavg()[0], 1)}
        row |= one_pair(SCRIPTS[name].replace("EPOCHS", str(EPOCHS[scope])), scope, number)
        rows.append(row)
        print(json.dumps(row), flush=True)
        if keep is not None:
            with keep.open("a") as file:
                file.write(json.dumps(row) + "\n")
    return rows


def one_pair(text: str, scope: Scope, number: int) -> dict[str, object]:
    """Measure one script against itself with a comment more."""
    with tempfile.TemporaryDirectory(prefix="quickfit-bench-") as temp:
        work = Path(temp) / "work"
        work.mkdir()
        script = work / "train.py"
        script.write_text(text)
        setting = Setting(
            *(Target(script="train.py"), work, Path(temp) / "scratch"),
            scope=scope,
            run_s=None if scope is Scope.STEPS else 0.0,
            patience_s=PATIENCE_S,
        )
        versions = (
            Version("the original", {str(script): text.encode()}),
            Version("the edited script", {str(script): b"# a comment\n" + text.encode()}),
        )
        until_s = time.monotonic() + 2 * PATIENCE_S
        found = measure_pair(versions, setting, number=number, deadline_s=until_s)
    return {"ratio": found.ratio, "unit": found.unit, "took_s": found.took_s, "why": found.why}


def report(rows: Sequence[dict[str, object]]) -> None:
    """Print how often intervals hold 1.0, and what a proof would have said."""
    ratios = [float(str(row["ratio"])) for row in rows if row["ratio"] is not None]
    if len(ratios) < 2:
        print(f"{len(ratios)} pairs could be compared: too few")
        return
    logs = [math.log(ratio) for ratio in ratios]
    took_s = statistics.median(float(str(row["took_s"])) for row in rows)
    print(f"\n{len(ratios)} of {len(rows)} pairs compared, {took_s:.0f} s each")
    print(f"mean ratio {math.exp(statistics.fmean(logs)):.3f}, noise {statistics.stdev(logs):.3f}")
    for size in (2, 3, 6):
        groups = [ratios[at : at + size] for at in range(0, len(ratios) - size + 1, size)]
        found = [interval(group) for group in groups]
        held = sum(one.low <= 1.0 <= one.high for one in found)
        print(f"intervals over {size} pairs: {held} of {len(found)} hold 1.0")
    proofs = list(_proofs(ratios))
    print(f"proofs: {sum(proofs)} of {len(proofs)} would accept it")


def _proofs(ratios: Sequence[float]) -> Iterable[bool]:
    """Yield whether it would be accepted, for one proof after the other on consecutive pairs."""
    taken: list[float] = []
    for ratio in ratios:
        taken.append(ratio)
        found = judge_gain(taken)
        if not found.is_open:
            yield found.kind is VerdictKind.ACCEPTED
            taken = []


def simulate(file: Path | None) -> None:
    """Print error rates and pairs of both rules, over noise and gains."""
    draw = random.Random(1)
    sources: dict[str, Callable[[], float]] = {}
    for noise in (0.01, 0.03, 0.1, 0.3):
        sources[f"normal {noise}"] = lambda noise=noise: draw.gauss(0.0, noise)  # type: ignore[misc]
        sources[f"bursts {noise}"] = lambda noise=noise: draw.gauss(  # type: ignore[misc]
            0.0, noise * (4 if draw.random() < 0.2 else 1)
        )
    if file is not None:
        rows = [json.loads(line) for line in file.read_text().splitlines()]
        kept = [math.log(row["ratio"]) for row in rows if row["ratio"]]
        sources[f"{len(kept)} kept"] = lambda: draw.choice(kept) * draw.choice((-1, 1))
    print(
        f"{'noise':14}" + "".join(f"{f'gain {gain:g}':>30}" for gain in (1.0, MIN_GAIN, 1.5, 3.0))
    )
    for name, noise in sources.items():
        cells = [f"{name:14}"]
        for gain in GAINS:
            both = [_simulated(rule, noise, math.log(gain)) for rule in (_before, _now)]
            cells.append(
                "  ".join(f"{accepted:6.2%} n={pairs:.1f}" for accepted, pairs in both).rjust(30)
            )
        print("".join(cells))
    print("accepted, and pairs taken: three to six pairs at 2.5 % each, then the rule of a proof")


def _simulated(
    rule: Callable[[list[float]], tuple[bool, bool]], noise: Callable[[], float], gain: float
) -> tuple[float, float]:
    accepted = pairs = 0
    for _ in range(DRAWS):
        ratios: list[float] = []
        is_open, is_accepted = True, False
        while is_open:
            ratios.append(math.exp(gain + noise()))
            is_open, is_accepted = rule(ratios)
        accepted += is_accepted
        pairs += len(ratios)
    return accepted / DRAWS, pairs / DRAWS


def _now(ratios: list[float]) -> tuple[bool, bool]:
    found = judge_gain(ratios)
    return found.is_open, found.kind is VerdictKind.ACCEPTED


def _before(ratios: list[float]) -> tuple[bool, bool]:
    if len(ratios) < MIN_PAIRS:
        return True, False
    found = interval(ratios)
    if len(ratios) == MIN_PAIRS:
        return found.mean > 1.0, False
    is_open = len(ratios) < MOST_PAIRS and found.low < MIN_GAIN < found.mean
    return is_open, found.low >= MIN_GAIN


if __name__ == "__main__":
    sys.exit(main())
