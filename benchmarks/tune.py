"""What `quickfit tune` promises, and what a whole script gains that takes the advice.

    python benchmarks/tune.py [--pairs 3] [--budget 3m] [tiny_mlp] [cnn] …

For each of five models: the table with its A/B measurements; then the script as it is and with
the advised lines in it, run whole and in turns. "steady" is the mean epoch after the first; its
promise is the interval of the advised row. "whole" is the process from its start to its end; its
promise is what the steps gain over the steps of the script, with the start that stays.

A promise is held where the interval that was got reaches into the one that was promised, or is
above it; of pairs that differ too much nothing is said. Both are judged.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from quickfit.lab.statistics import interval

FOLDER = Path(__file__).parent / "tune"
MODELS = ("tiny_mlp", "cnn", "larger_cnn", "rnn", "wide_mlp")
# Steps of the whole script: epochs times steps of an epoch.
STEPS = {
    "tiny_mlp": 8 * 1024,
    "cnn": 5 * 128,
    "larger_cnn": 3 * 64,
    "rnn": 8 * 64,
    "wide_mlp": 6 * 128,
}
ENV = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", "PYTHONPATH": str(FOLDER)}


def tuned(name, budget, only=()):
    """Return the answer of `quickfit tune`."""
    command = [sys.executable, "-m", "quickfit", "tune", "--format", "json"]
    command += [word for kind in only for word in ("--only", kind)]
    done = subprocess.run(
        [*command, "--budget", budget, "--steps-left", str(STEPS[name]), f"{name}:build"],
        cwd=FOLDER,
        env=ENV,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def edited(source, setting):
    """Return a script with the advised lines in it; each must find its place."""
    arguments = {"jit": "jit_compile", "steps_per_execution": "steps_per_execution"}
    words = [f"{arguments[key]}={value}" for key, value in setting.items() if key in arguments]
    threads = [
        f"tf.config.threading.set_{key.removesuffix('_threads')}_op_parallelism_threads({value})"
        for key, value in setting.items()
        if key.endswith("_threads")
    ]
    policy = setting.get("policy")
    after = [*threads, *([f'keras.config.set_dtype_policy("{policy}")'] if policy else [])]
    compiling = ", ".join(['"adam"', "loss=loss", *words])
    edits = {
        'model.compile("adam", loss=loss)': f"model.compile({compiling})",
        "from keras import layers\n": "\n".join(["from keras import layers", *after, ""]),
    }
    if "batch" in setting:
        old = next(line for line in source.splitlines() if line.startswith("BATCH = "))
        edits[old] = f"BATCH = {setting['batch']}"
    if policy:
        edits["layers.Dense(CLASSES)"] = 'layers.Dense(CLASSES, dtype="float32")'
    for old, new in edits.items():
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    return source


def run(script):
    """Run a whole script; return the steady epoch, the whole time, and the last loss."""
    began_s = time.perf_counter()
    done = subprocess.run(
        [sys.executable, script], env=ENV, capture_output=True, text=True, check=False
    )
    whole_s = time.perf_counter() - began_s
    if done.returncode:
        sys.exit(f"{script} failed:\n{done.stderr}")
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("epoch_s")]
    return statistics.fmean(float(row[1]) for row in rows[1:]), whole_s, float(rows[-1][3])


def compared(name, setting, pairs):
    """Run a script as it is and with a setting in turns; print and return what was got."""
    source = FOLDER / f"{name}.py"
    with tempfile.TemporaryDirectory() as folder:
        changed = Path(folder) / f"{name}_tuned.py"
        changed.write_text(edited(source.read_text(), setting))
        found = []
        for number in range(pairs):
            order = (source, changed) if number % 2 == 0 else (changed, source)
            answers = {script: run(script) for script in order}
            found.append((answers[source], answers[changed]))
    steady, whole = (
        interval([before[place] / after[place] for before, after in found]) for place in (0, 1)
    )
    print(f"  got, steady epochs   {gain_words(steady)}")
    print(f"  got, whole script    {gain_words(whole)}")
    print(f"  last loss            {found[0][0][2]:.4f} as it is, {found[0][1][2]:.4f} with it")
    return steady, whole


def judged(got, low):
    """Return whether a promise was held, where the pairs can tell."""
    if not got.is_known:
        return "not measured, the pairs differ too much"
    return "the promise is held" if got.high >= low else "the promise is missed"


def gain_words(gain):
    """Return a gain with its interval."""
    return f"{gain.mean:.2f}× ({gain.low:.2f}–{gain.high:.2f})"


def shown(name, answer):
    """Print what was advised and measured."""
    print(f"\n{name} ({answer['took_s']:.0f} s on {answer['device']})")
    for row in answer["rows"]:
        gain, loss = row["gain"], row["loss"]
        said = "–"
        if gain is not None:
            low, high = gain["low"], gain["high"]
            bounds = f"{low:.2f}–{high:.2f}, " if low is not None and high is not None else ""
            said = f"{gain['mean']:.2f}× ({bounds}{gain['pairs']} pairs)"
        after = "–" if loss is None else f"{loss['after']:.4g} ({loss['unchanged']:.4g} as it is)"
        print(f"  {row['change']:<28} {said:<30} loss {after:<28} {row['verdict']} {row['reason']}")
    for line in answer["lines"]:
        print(f"    {line}")


def main():
    """Tune each model, and take the advice."""
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--budget", default="3m")
    parser.add_argument("--only", action="append", default=[], help="kinds to try")
    options = parser.parse_args()
    for name in options.models:
        answer = tuned(name, options.budget, options.only)
        shown(name, answer)
        if answer["advised"] is None:
            print("  nothing was advised")
            continue
        gain = next(row["gain"] for row in answer["rows"] if row["change"] == answer["advised"])
        print(f"  promised             {gain['mean']:.2f}× ({gain['low']:.2f}–{gain['high']:.2f})")
        if answer["whole_gain"] is not None:
            low, high = answer["whole_range"] or (0.0, math.inf)
            print(f"  promised, whole      {answer['whole_gain']:.2f}× ({low:.2f}–{high:.2f})")
        steady, whole = compared(name, answer["setting"], options.pairs)
        print(f"  steady epochs: {judged(steady, gain['low'])}")
        if answer["whole_range"] is not None:
            print(f"  whole script: {judged(whole, answer['whole_range'][0])}", flush=True)


if __name__ == "__main__":
    main()
