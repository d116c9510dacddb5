"""`quickfit run --turbo` against the plain script, in turns: gain, CPU, same bits, what was left.

Each script of `corpus/pairs` is run by Python alone and with `--turbo`, one after the other; times
are of the script without the imports of TensorFlow and Keras. Every loss that it prints and the
weights of every model that it leaves are compared.

    python benchmarks/turbo.py [--only CAUSE…] [--runs 2]
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from quickfit.recording import reader

PAIRS = Path(__file__).parent.parent / "corpus" / "pairs"
SCRIPTS = (
    *("predict-in-loop", "missing-cache", "decode-full-size", "sequential-map"),
    *("shuffle-after-decode", "cpu-augmentation-heavy", "train-on-batch-loop"),
    *("from-generator", "py-generator-input", "validation-dominates"),
)
# Runs a script and writes what it took and left; it is the script as far as quickfit knows.
RUNNER = """
import hashlib, json, resource, runpy, sys, time
import keras, tensorflow
keras.Model
def cpu_s():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
target, script = sys.argv[1:3]
sys.argv[:] = [script]
began_s, began_cpu_s = time.perf_counter(), cpu_s()
left = runpy.run_path(script, run_name="__main__")
took = {"wall_s": time.perf_counter() - began_s, "cpu_s": cpu_s() - began_cpu_s}
models = [value for value in left.values() if isinstance(value, keras.Model)]
bits = b"".join(weight.tobytes() for model in models for weight in model.get_weights())
took["weights"] = hashlib.sha256(bits).hexdigest()
with open(target, "w") as file:
    json.dump(took, file)
"""
# Everything that is printed and no time.
LOSS = re.compile(rb"(?:loss|accuracy|reward|mae)[\w ]*[:= ]+(-?[\d.e+-]+)")


def run_once(name, folder, *, turbo):
    """Return what a run took and printed, and the rows of what turbo did."""
    runner = folder / "runner.py"
    runner.write_text(RUNNER)
    taken, recording = folder / "taken.json", folder / f"{name}.qfrun"
    words = [str(runner), str(taken), str(PAIRS / name / "slow.py")]
    if turbo:
        quickfit = [sys.executable, "-m", "quickfit", "run", "--turbo", "--output", str(recording)]
        words = [*quickfit, *words]
    else:
        words = [sys.executable, *words]
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, timeout=1800)
    if done.returncode:
        raise SystemExit(f"{name}: {done.stderr.decode()[-2000:]}")
    took = json.loads(taken.read_text())
    took["printed"] = [text.decode() for text in LOSS.findall(done.stdout)]
    rows = reader.read(recording).main.rows("turbo") if turbo else []
    return took, rows


def describe_rows(rows):
    """Yield what turbo did and left alone, one line each."""
    for row in rows:
        place = f"{Path(row['file']).name}:{row['line']}" if row["file"] else ""
        gain = row["off_s"] / row["on_s"] if row["on_s"] and row["off_s"] else None
        if row["state"] == "left":
            yield f"left: {row['what']} {place}: {row['reason']}"
        elif row["unit"] == "iterator":
            yield f"{row['on_count']} ends of iterators: {row['saved_s'] or 0:.2f} s {place}"
        else:
            measured = f"{gain:.2f}x per {row['unit']}" if gain else "not timed"
            yield f"{row['state']}: {row['what']} {place}: {measured}"


def compare(name, runs):
    """Run a script in turns and print its line."""
    plain, turbo, rows = [], [], []
    for number in range(runs):
        for is_turbo in (False, True) if number % 2 == 0 else (True, False):
            with tempfile.TemporaryDirectory() as folder:
                took, rows_now = run_once(name, Path(folder), turbo=is_turbo)
            (turbo if is_turbo else plain).append(took)
            rows = rows_now or rows
    same = all(
        took[key] == plain[0][key] for took in (*plain, *turbo) for key in ("printed", "weights")
    )
    before, after = (median(t["wall_s"] for t in each) for each in (plain, turbo))
    cpu = median(t["cpu_s"] for t in plain) / median(t["cpu_s"] for t in turbo)
    figures = f"{before:7.1f} {after:7.1f} {before / after:6.2f}x {cpu:6.2f}x"
    same_text = f"same bits ({len(plain[0]['printed'])} values)" if same else "DIFFERENT"
    print(f"{name:24} {figures}  {same_text}", flush=True)
    for text in describe_rows(rows):
        print(f"    {text}", flush=True)
    return same


def main():
    """Compare all scripts; fail if any bit differs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="+", default=SCRIPTS)
    parser.add_argument("--runs", type=int, default=2)
    options = parser.parse_args()
    print(f"{'script':24} {'plain s':>7} {'turbo s':>7} {'wall':>7} {'CPU':>7}  results")
    same = [compare(name, options.runs) for name in options.only]
    if not all(same):
        raise SystemExit("results differ")


if __name__ == "__main__":
    main()
