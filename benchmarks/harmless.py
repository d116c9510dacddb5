"""Is a script the same with and without quickfit, and as fast?

    python benchmarks/harmless.py [--times 20] [--beside 2] [--tf] [--only CASE …]
    python benchmarks/harmless.py --epochs 200 [--steps 125] [--times 5] [--beside 2]

Every odd script of `tests/scripts/odd` is run by Python and by the command `quickfit run`, in turns
and beside `--beside` processes that keep a core busy each. Compared are stdout, stderr without
quickfit's own lines, the exit code or signal, and the files that are left. Some are also run as a
module, as a zip archive, from stdin, with flags of Python and in other locales. With `--epochs` a
short tf.data `fit` is timed: the ratio of the wall times with its interval, and the longest epoch.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from quickfit.lab.statistics import interval

ROOT = Path(__file__).resolve().parents[1]
ODD = ROOT / "tests" / "scripts" / "odd"
STDIN = b"one\ntwo\nthree\nfour\n"
TF = {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0", "CUDA_VISIBLE_DEVICES": ""}
TIMEOUT_S = 1200.0
SHADOWS = ("json", "threading", "queue", "random", "typing")
FIT = """
import sys, time
import numpy as np
import keras, tensorflow as tf

keras.utils.set_random_seed(1)
epochs, count = int(sys.argv[1]), 32 * int(sys.argv[2])
data = np.zeros((count, 8), "float32"), np.zeros((count, 1), "float32")
batches = tf.data.Dataset.from_tensor_slices(data).shuffle(count).batch(32)
batches = batches.map(lambda x, y: (x + 1.0, y), num_parallel_calls=2).prefetch(2)
model = keras.Sequential([keras.layers.Dense(16), keras.layers.Dense(1)])
model.compile("sgd", "mse")
ends = [time.perf_counter()]
end = keras.callbacks.LambdaCallback(on_epoch_end=lambda *_: ends.append(time.perf_counter()))
model.fit(batches, epochs=epochs + 1, verbose=0, callbacks=[end])
print([after - before for before, after in zip(ends[1:], ends[2:])])
"""


class Case(NamedTuple):
    """A command line after `python` or `quickfit run`."""

    name: str
    words: tuple[str, ...]
    flags: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    stdin: bytes = STDIN
    files: tuple[tuple[str, str], ...] = ()


class Outcome(NamedTuple):
    """All that can be seen of a run."""

    stdout: bytes
    stderr: bytes
    returncode: int
    files: tuple[tuple[str, bytes], ...]


def names_of(script: Path) -> list[str]:
    """Return the functions of a script that are marked with `@case`."""
    functions = [n for n in ast.parse(script.read_text()).body if isinstance(n, ast.FunctionDef)]
    return [f.name for f in functions if "case" in map(ast.unparse, f.decorator_list)]


def cheap_cases() -> Iterator[Case]:
    """Yield the cases without TensorFlow."""
    for file in ("plain.py", "looks.py"):
        for name in names_of(ODD / file):
            yield Case(f"{file} {name}", (str(ODD / file), name))
    looks = (ODD / "looks.py").read_text()
    yield Case("as a module", ("-m", "looks", "main_module"), files=(("looks.py", looks),))
    yield Case("from stdin", ("-",), stdin=b"import sys; print(sys.argv, sys.path[0], __name__)")
    yield Case("a folder", ("app", "main_module"), files=(("app/__main__.py", looks),))
    yield Case("a zip archive", ("app.zip", "main_module"), files=(("app/__main__.py", looks),))
    for flags in (("-O",), ("-OO",), ("-X", "dev"), ("-W", "error"), ("-u",), ("-B",), ("-b",)):
        yield Case(f"with {' '.join(flags)}", (str(ODD / "looks.py"), "hooks"), flags=flags)
    for name, value in (("LC_ALL", "C"), ("LC_ALL", "POSIX"), ("PYTHONIOENCODING", "latin-1")):
        yield Case(f"{name}={value}", (str(ODD / "looks.py"), "hooks"), env=((name, value),))
    shadows = tuple((f"{name}.py", f"print('{name} is run')\n") for name in SHADOWS)
    source = f"import {', '.join(SHADOWS)}\nprint(json, threading)\n"
    yield Case("shadowed modules", ("train.py",), files=(("train.py", source), *shadows))
    custom = (("lib/sitecustomize.py", "print('site')\nraise ValueError\n"), ("train.py", source))
    yield Case("a sitecustomize", ("train.py",), env=(("PYTHONPATH", "lib"),), files=custom)


def tf_cases() -> Iterator[Case]:
    """Yield the cases that train."""
    for name in names_of(ODD / "trains.py"):
        yield Case(f"trains.py {name}", (str(ODD / "trains.py"), name), env=tuple(TF.items()))


def command(folder: Path) -> str:
    """Return the command `quickfit` as pip installs it."""
    folder.mkdir(exist_ok=True)
    program = folder / "quickfit-py"
    program.write_text(f"#!{sys.executable}\nfrom quickfit.cli.main import main\nmain()\n")
    program.chmod(0o755)
    return shutil.copy(ROOT / "bin" / "quickfit", folder / "quickfit")


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Keep so many cores busy."""
    with ExitStack() as stack:
        for _ in range(count):
            hog = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            stack.callback(hog.wait)
            stack.callback(hog.kill)
        yield


def environment(case: Case) -> dict[str, str]:
    """Return the environment without anything of quickfit's or of a developer's own."""
    unwanted = ("QUICKFIT_", "PYTHONPATH", "PYTHONWARNINGS")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(unwanted)}
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1", **dict(case.env)}


def run(case: Case, folder: Path, before: tuple[str, ...]) -> Outcome:
    """Run a case in an empty folder; `before` is what stands before its words."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, text in case.files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    if "app.zip" in case.words:
        shutil.make_archive(str(folder / "app"), "zip", folder / "app")
    done = subprocess.run(
        (*before, *case.words),
        cwd=folder,
        env=environment(case),
        input=case.stdin,
        capture_output=True,
        timeout=TIMEOUT_S,
    )
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    files = tuple(
        (str(path.relative_to(folder)), path.read_bytes())
        for path in found
        if ".quickfit" not in path.parts and path.suffix != ".zip"
    )
    # A line of ours that is said during the run has an empty one before it.
    own = re.sub(rb"(?m)(?:^\n)?^quickfit: .*\n", b"", done.stderr).partition(b"\ndevice ")[0]
    return Outcome(done.stdout, own, done.returncode, files)


def compare(cases: list[Case], times: int, folder: Path) -> Counter[str]:
    """Run every case both ways so many times; return how often each differed."""
    quickfit = command(folder / "bin")
    differences: Counter[str] = Counter()
    for number in range(times):
        for case in cases:
            # Flags of Python are given to the Python that quickfit is started with.
            watched = (sys.executable, *case.flags, "-m", "quickfit") if case.flags else (quickfit,)
            plain = run(case, folder / "run", (sys.executable, *case.flags))
            other = run(case, folder / "run", (*watched, "run"))
            if plain != other:
                differences[case.name] += 1
                _show(case, plain, other)
        print(f"round {number + 1} of {times}: {differences.total()} differences", flush=True)
    return differences


def _show(case: Case, plain: Outcome, other: Outcome) -> None:
    for name, one, two in zip(Outcome._fields, plain, other, strict=True):
        if one != two:
            print(f"{case.name}: {name}\n  without: {one!r:.600}\n  with:    {two!r:.600}")


def time_epochs(epochs: int, steps: int, times: int, folder: Path) -> None:
    """Time a short `fit` with and without quickfit in turns."""
    quickfit = command(folder / "bin")
    words = ("fit.py", str(epochs), str(steps))
    case = Case("fit", words, env=tuple(TF.items()), files=(("fit.py", FIT),))
    ratios: list[float] = []
    longest = {"without": 0.0, "with": 0.0}
    for number in range(times):
        took: dict[str, float] = {}
        ways = [("without", (sys.executable,)), ("with", (quickfit, "run"))]
        for way, before in ways if number % 2 else reversed(ways):
            began_s = time.perf_counter()
            epochs_s = json.loads(run(case, folder / "run", before).stdout)
            took[way] = sum(epochs_s)
            longest[way] = max(longest[way], *epochs_s)
            whole_s = time.perf_counter() - began_s
            ends = ", ".join(f"{epoch_s:.2f}" for epoch_s in sorted(epochs_s)[-5:])
            print(f"{way}: {took[way]:.2f} s of {whole_s:.1f} s, longest {ends} s", flush=True)
        ratios.append(took["with"] / took["without"])
    found = interval(ratios)
    print(f"{epochs} epochs, {times} pairs: with / without = {found.mean:.3f}")
    print(f"  95 % interval {found.low:.3f} to {found.high:.3f}")
    print(f"  longest epoch: {longest['without']:.2f} s without, {longest['with']:.2f} s with")


def main() -> int:
    """Run what the command line asks for; 1 if a script was not the same."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--beside", type=int, default=0, metavar="K")
    parser.add_argument("--tf", action="store_true", help="the scripts that train, too")
    parser.add_argument("--only", nargs="+", default=[], help="a part of the names")
    parser.add_argument("--epochs", type=int, default=0)
    parser.add_argument("--steps", type=int, default=125, help="of an epoch that is timed")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, busy_processes(asked.beside):
        if asked.epochs:
            time_epochs(asked.epochs, asked.steps, asked.times, Path(name))
            return 0
        cases = [*cheap_cases(), *(tf_cases() if asked.tf else ())]
        cases = [c for c in cases if not asked.only or any(part in c.name for part in asked.only)]
        differences = compare(cases, asked.times, Path(name))
    print(f"{len(cases)} scripts, {asked.times} times each, beside {asked.beside} busy processes:")
    for name, count in differences.most_common():
        print(f"  {count} of {asked.times} differ: {name}")
    print(f"  {differences.total()} of {len(cases) * asked.times} runs differ")
    return int(bool(differences))


if __name__ == "__main__":
    sys.exit(main())
