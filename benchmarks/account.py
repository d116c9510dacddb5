"""Does the time account add up? Its sum against the wall time, and what nobody can name.

Each script is run by itself under `quickfit run`. The wall time is that of the script's process
as its parent sees it; `sum` is the sum of the account's first level as a share of it, and has to
be within 1 %; `deepest` is the largest share by which children exceed their parent; `unattributed`
has to stay below 5 % of the run.

    python benchmarks/account.py [--loops] [--steps 1 2 3 5 10 20] [--corpus corpus/short]

Without options all of it: the loops of `benchmarks/loops.py`, a `fit` of a few steps, and the
scripts of the corpus that do most of their work outside training.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from quickfit.account import time_account
from quickfit.findings import AccountNode
from quickfit.recording import reader
from quickfit.signals import Signals
from quickfit.units import seconds, share

ROOT = Path(__file__).resolve().parents[1]
LOOPS = ROOT / "tests" / "scripts" / "loops"
CORPUS = ROOT / "corpus" / "short"
MAX_OFF, MAX_UNATTRIBUTED = 0.01, 0.05
FEW_STEPS = """\
import sys, numpy as np, keras
steps = int(sys.argv[1])
x, y = np.random.rand(32 * steps, 28, 28, 1).astype("float32"), np.random.randint(0, 10, 32 * steps)
layers = [keras.layers.Conv2D(32, 3), keras.layers.Flatten(), keras.layers.Dense(10)]
model = keras.Sequential(layers)
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(x, y, batch_size=32, verbose=0)
"""
ROW = "{:34} {:>8} {:>8} {:>8} {:>13}  {}"


def main() -> int:
    """Print a line per run; the exit code says whether all of them add up."""
    options = arguments()
    cases: list[tuple[str, Path, list[str]]] = []
    with tempfile.TemporaryDirectory() as temp:
        few = Path(temp) / "few_steps.py"
        few.write_text(FEW_STEPS)
        if options.loops or not options.is_chosen:
            names = sorted(LOOPS.glob("*.py"))
            cases += [(f"loop {path.stem}", path, ["200"]) for path in names]
        cases += [(f"fit of {count} steps", few, [str(count)]) for count in options.steps]
        if options.corpus is not None:
            cases += corpus_cases(options.corpus)
        print(ROW.format("run", "wall", "sum", "deepest", "unattributed", "largest parts"))
        failed = [name for name, script, args in cases if not measure(name, script, args, temp)]
    print("\nadds up: " + (f"all {len(cases)} runs" if not failed else f"not {', '.join(failed)}"))
    return 1 if failed else 0


def arguments() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--loops", action="store_true", help="the loops of benchmarks/loops.py")
    parser.add_argument("--steps", type=int, nargs="*", help="a `fit` of so many steps each")
    parser.add_argument("--corpus", type=Path, help="a folder with expected.json")
    options = parser.parse_args()
    options.is_chosen = bool(options.loops or options.steps or options.corpus)
    if not options.is_chosen:
        options.steps = [1, 2, 3, 5, 10, 20]
        options.corpus = CORPUS if CORPUS.exists() else None
    options.steps = options.steps or []
    return options


def corpus_cases(folder: Path) -> list[tuple[str, Path, list[str]]]:
    """Return the scripts of a corpus that do most of their work outside training."""
    expected = json.loads((folder / "expected.json").read_text())
    outside = ("prepar", "import", "after training", "report", "save", "between")
    return [
        (f"corpus {case['script']}", folder / case["script"], list(case.get("args") or ()))
        for case in expected
        if any(word in case["what"].lower() for word in outside)
    ]


def measure(name: str, script: Path, args: list[str], temp: str) -> bool:
    """Run one script, print its line, and tell whether its account adds up."""
    run = Path(temp) / f"{name.replace(' ', '-').replace('/', '-')}.qfrun"
    command = [sys.executable, "-m", "quickfit", "run", "--output", str(run), str(script), *args]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, check=False, cwd=temp
    )
    if done.returncode or not run.exists():
        print(f"{name}: failed\n{done.stderr[-1500:]}")
        return False
    recording = reader.read(run)
    wall_s = recording.run["ended_at"] - recording.run["started_at"]
    root = time_account(Signals(recording))
    if root is None:
        print(f"{name}: has no account")
        return False
    total_s = sum(child.seconds for child in root.children)
    unnamed_s = sum(node.seconds for node in root.walk() if node.name == "unattributed")
    deepest = max(excess(node) for node in root.walk())
    large = sorted((node for node in root.walk() if not node.children), key=lambda n: -n.seconds)
    parts = ", ".join(f"{node.label[:24]} {share(node.share)}" for node in large[:4])
    unnamed = unnamed_s / wall_s
    print(
        ROW.format(
            name,
            seconds(wall_s),
            share(total_s / wall_s),
            share(deepest),
            share(unnamed),
            parts,
        ),
        flush=True,
    )
    is_whole = abs(total_s / wall_s - 1) <= MAX_OFF and deepest <= MAX_OFF
    return is_whole and unnamed < MAX_UNATTRIBUTED


def excess(node: AccountNode) -> float:
    """Return by what share the parts of a node are more than the node."""
    if not node.children or not node.seconds:
        return 0.0
    return max(sum(child.seconds for child in node.children) / node.seconds - 1, 0.0)


if __name__ == "__main__":
    sys.exit(main())
