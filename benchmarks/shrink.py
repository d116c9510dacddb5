"""What making models smaller keeps and saves: the rows that are promised, on two sets of images.

    python benchmarks/shrink.py [--sets digits shapes] [--seeds 3]

For scikit-learn's digits (16×16, grey) and for drawn shapes (32×32, colour, ten classes) a residual
network is trained from each seed. Then: separable convolutions, pruned channels, batch
normalization folded, LiteRT files, and training for few bits; each on images that nothing else has
seen. Times are taken in turns. Every row has its spread over the seeds and what is demanded of it.
About fifteen minutes on two cores.
"""

import argparse
import math
import os
import statistics
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np

from quickfit.compression.batch_norm import folded
from quickfit.compression.distilling import fine_tuned
from quickfit.compression.flops import flops
from quickfit.compression.graph import graph_of
from quickfit.compression.pruning import pruned
from quickfit.compression.quantizing import exported, fake_quantised
from quickfit.compression.separable import rewritten
from quickfit.compression.separable.refitting import split_convolutions
from quickfit.compression.separable.rewriting import rank_of, rewrite_obstacle
from quickfit.compression.weighing import weighed
from quickfit.compression.weighing.comparison import CALL, LITERT, PREDICT
from shrink.images import images
from shrink.networks import network, trained

EPOCHS = {"digits": 14, "shapes": 12}
# What is promised of each figure.
ROWS = (
    # name, demand in words, the figure of one seed from its results, whether it is enough
    ("separable: parameters", "≤ 0.20", lambda r: r["separable parameters"], lambda v: v <= 0.20),
    ("separable: operations", "≤ 0.20", lambda r: r["separable flops"], lambda v: v <= 0.20),
    ("separable: untrained", "≥ -8 points", lambda r: r.gap("separable"), lambda v: v >= -0.08),
    ("separable: tuned", "≥ -3 points", lambda r: r.gap("separable tuned"), lambda v: v >= -0.03),
    (
        "separable: against SVD alone",
        "≥ +30 points",
        lambda r: r["separable gain"],
        lambda v: v >= 0.3,
    ),
    ("separable, full rank", "≤ 1e-5", lambda r: r["full rank"], lambda v: v <= 1e-5),
    ("pruned 25 %: untrained", "≥ -2 points", lambda r: r.gap("pruned 25"), lambda v: v >= -0.02),
    ("pruned 25 %: tuned", "≥ -1 point", lambda r: r.gap("pruned 25 tuned"), lambda v: v >= -0.01),
    ("pruned 25 %: operations", "≤ 0.60", lambda r: r["pruned 25 flops"], lambda v: v <= 0.60),
    ("pruned 50 %: untrained", "≥ -6 points", lambda r: r.gap("pruned 50"), lambda v: v >= -0.06),
    ("pruned 50 %: tuned", "≥ -3 points", lambda r: r.gap("pruned 50 tuned"), lambda v: v >= -0.03),
    ("pruned 50 %: operations", "≤ 0.30", lambda r: r["pruned 50 flops"], lambda v: v <= 0.30),
    ("pruned 50 %: step time", "≤ 0.80", lambda r: r["pruned 50 step"], lambda v: v <= 0.80),
    ("pruned 0 %: difference", "0", lambda r: r["pruned 0"], lambda v: v == 0),
    ("folded: difference", "≤ 1e-5", lambda r: r["folded"], lambda v: v <= 1e-5),
    ("LiteRT int8: size", "≤ 0.35", lambda r: r["int8 size"], lambda v: v <= 0.35),
    ("LiteRT int8: accuracy", "≥ -1 point", lambda r: r.gap("int8"), lambda v: v >= -0.01),
    ("LiteRT f32, batch 1: faster", "≥ 5×", lambda r: r["litert speed"], lambda v: v >= 5),
    ("w3a8, trained against not", "≥ +5 points", lambda r: r["qat gain"], lambda v: v >= 0.05),
    ("w8a8: file against Keras", "± 0.5 points", lambda r: r["qat file"], lambda v: v <= 0.005),
)
# Separable convolutions are demanded to be faster on the larger images only, and in a network
# twice as wide, whose weights do not matter for that.
SHAPES_ROWS = (
    ("separable: step time", "≤ 0.60", lambda r: r["separable step"], lambda v: v <= 0.60),
    ("separable: prediction", "≤ 0.60", lambda r: r["separable call"], lambda v: v <= 0.60),
)


class Results(dict):
    """What one seed gave."""

    def gap(self, name):
        """Return how much better than the original something is on unseen images."""
        return self[name] - self["original"]


def main():
    """Measure and print; end with 1 where a demand is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    missed = 0
    for name in options.sets:
        results = []
        for seed in range(options.seeds):
            results.append(measured(name, seed))
            print(f"{name}, seed {seed}: original {results[-1]['original']:.3f}", flush=True)
        missed += table(name, results)
    return int(missed > 0)


def table(name, results):
    """Print the rows of a set; return how many demands are missed."""
    rows = (*ROWS, *(SHAPES_ROWS if name == "shapes" else ()))
    missed = 0
    print(f"\n{name}: {spread([one['original'] for one in results])} right with the original")
    for title, demand, figure, is_enough in rows:
        values = [figure(one) for one in results]
        holds = is_enough(statistics.fmean(values))
        missed += not holds
        print(f"{'holds ' if holds else 'MISSED'}  {title:<30} {demand:<14} {spread(values)}")
    print(flush=True)
    return missed


def spread(values):
    """Return a mean and the ends."""
    shown = ".1e" if max(map(abs, values)) < 1e-3 else ".3f"
    return f"{statistics.fmean(values):{shown}} ({min(values):{shown}} to {max(values):{shown}})"


def measured(name, seed):
    """Return all figures of one seed."""
    train, choose, test = SETS[name](seed)
    model = trained(train, width=16, epochs=EPOCHS[name], seed=seed)
    found = Results(original=accuracy(model, test))
    calibration = train[0][:256]
    models = {
        "separable": rewritten(model, calibration, seed=seed).model,
        "pruned 25": pruned(model, calibration, ratio=0.25, seed=seed).model,
        "pruned 50": pruned(model, calibration, ratio=0.5, seed=seed).model,
    }
    for key, student in models.items():
        epochs = 3 if key == "separable" else 2
        student = compiled(student)
        tuned = fine_tuned(student, train, epochs=epochs, validation=choose, seed=seed).model
        found[key], found[f"{key} tuned"] = accuracy(student, test), accuracy(tuned, test)
        found[f"{key} parameters"] = student.count_params() / model.count_params()
        found[f"{key} flops"] = flops(student).total / flops(model).total
    found["separable gain"] = found["separable"] - accuracy(split_only(model), test)
    exact(found, model, calibration)
    small(found, model, (train, choose, test), seed)
    times(found, {"original": model, "pruned 50": models["pruned 50"]}, calibration)
    if name == "shapes":
        wide = network(calibration.shape[1:], 32)
        rewrite = rewritten(wide, calibration, seed=seed).model
        times(found, {"original": wide, "separable": rewrite}, calibration)
    return found


def split_only(model):
    """Return a network with its convolutions split by their weights alone, and nothing refitted."""
    graph = graph_of(model)
    chosen = [call for call in graph.calls if rewrite_obstacle(call.layer, 1, 0.1) == ""]
    return split_convolutions(graph, {call.name: rank_of(call.layer, 1) for call in chosen})[0]


def exact(found, model, calibration):
    """Add the differences of what must change nothing."""
    full = rewritten(model, calibration, depth_multiplier=9, saving=-math.inf).model
    same = pruned(model, calibration, ratio=0.0).model
    for key, other in (("full rank", full), ("pruned 0", same), ("folded", folded(model).model)):
        found[key] = float(np.abs(np.asarray(other(calibration)) - model(calibration)).max())


def small(found, model, parts, seed):
    """Add what files in few bits keep."""
    train, choose, test = parts
    with tempfile.TemporaryDirectory() as folder:
        plain = exported(model, Path(folder) / "plain.tflite")
        int8 = exported(model, Path(folder) / "int8.tflite", "int8", train[0])
        found["int8 size"] = int8.size_bytes / plain.size_bytes
        found["int8"] = accuracy(int8.runner(), test)
        weights = weighed({"keras": model, "file": plain.path}, test[0], evaluate=None)
        slow = weights["keras"].latency[PREDICT][1].minimum_s
        found["litert speed"] = slow / weights["file"].latency[LITERT][1].minimum_s
        coarse = compiled(fake_quantised(model, train[0], weight_bits=3).model)
        tuned = fine_tuned(coarse, train, epochs=1, validation=choose, seed=seed).model
        found["qat gain"] = accuracy(tuned, test) - accuracy(coarse, test)
        fine = compiled(fake_quantised(model, train[0]).model)
        fine = fine_tuned(fine, train, epochs=1, validation=choose, seed=seed).model
        file = exported(fine, Path(folder) / "qat.tflite", "int8")
        found["qat file"] = abs(accuracy(file.runner(), test) - accuracy(fine, test))


def times(found, models, samples):
    """Add times as shares of the original's, measured in turns."""
    weights = weighed(models, samples, evaluate=None, rounds=7)
    base = weights["original"]
    for key, weight in weights.items():
        found[f"{key} step"] = weight.step_s / base.step_s
        found[f"{key} call"] = weight.latency[CALL][64].minimum_s / base.latency[CALL][64].minimum_s


def compiled(model):
    """Return a model that knows its loss."""
    model.compile(loss="sparse_categorical_crossentropy")
    return model


def accuracy(model, part):
    """Return the share of images that are recognised."""
    x, y = part
    outputs = np.concatenate([np.asarray(model(x[k : k + 128])) for k in range(0, len(x), 128)])
    return float((outputs.argmax(axis=-1) == y).mean())


def digits(seed):
    """Return scikit-learn's digits in three parts: to train, to choose by, to judge by."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    x = (x.reshape(-1, 8, 8, 1) / 16).astype("float32").repeat(2, axis=1).repeat(2, axis=2)
    order = np.random.default_rng(seed).permutation(len(x))
    ends = (1000, 1257, len(x))
    return [(x[part], y[part]) for part in np.split(order, ends[:2])]


def shapes(seed):
    """Return drawn shapes in three parts, as above."""
    return [images(count, (seed, part)) for part, count in enumerate((3000, 600, 1200))]


SETS = {"digits": digits, "shapes": shapes}

if __name__ == "__main__":
    sys.exit(main())
