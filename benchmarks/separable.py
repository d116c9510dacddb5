"""Convolutions rewritten as separable ones: accuracy on digits, and time of a step.

    python benchmarks/separable.py [--only accuracy|time]

Three networks for scikit-learn's digits (16×16) are trained, each from another seed and with other
images held back. Their rewritten copies are tried as they come out, and after at most three epochs
of fine-tuning; epochs are chosen on images that neither training nor the figures use. Time is taken
in turns on a larger network for 32×32 images. About three minutes.
"""

import argparse
import os
import statistics
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from quickfit.compression.batch_norm import recalibrated
from quickfit.compression.copying import copied
from quickfit.compression.flops import flops
from quickfit.compression.graph import graph_of
from quickfit.compression.separable import rewritten
from quickfit.compression.separable.refitting import split_convolutions
from quickfit.compression.separable.rewriting import rank_of, rewrite_obstacle
from shrink.networks import network

# Not those that the method was made with.
SEEDS = (10, 11, 12)
EPOCHS = 14
ROUNDS = 12


def line(name, demand, said, holds):
    """Print one row."""
    print(f"{'holds ' if holds else 'MISSED'}  {name:<38} {demand:<22} {said}", flush=True)


def digits(seed):
    """Return images and labels in three parts: to train, to choose with, to judge by."""
    x, y = load_digits(return_X_y=True)
    x = tf.image.resize(x.reshape(-1, 8, 8, 1).astype("float32") / 16, (16, 16)).numpy()
    x, test_x, y, test_y = train_test_split(x, y, test_size=0.3, random_state=seed, stratify=y)
    x, other_x, y, other_y = train_test_split(x, y, test_size=0.2, random_state=seed, stratify=y)
    return (x, y), (other_x, other_y), (test_x, test_y)


def accuracy(model, part):
    """Return the share of images that are recognised."""
    x, y = part
    return float((np.argmax(model(x, training=False), axis=-1) == y).mean())


def trained(train, seed):
    """Return a network for digits."""
    keras.utils.set_random_seed(seed)
    model = network((16, 16, 1), 16)
    steps = EPOCHS * -(-len(train[0]) // 64)
    rate = keras.optimizers.schedules.CosineDecay(3e-3, steps)
    model.compile(keras.optimizers.Adam(rate), "sparse_categorical_crossentropy")
    model.fit(*train, batch_size=64, epochs=EPOCHS, verbose=0)
    return model


def split_only(model):
    """Return the network with its convolutions split by their weights alone."""
    graph = graph_of(model)
    chosen = [call for call in graph.calls if rewrite_obstacle(call.layer, 1, 0.1) == ""]
    return split_convolutions(graph, {call.name: rank_of(call.layer, 1) for call in chosen})[0]


def tuned(student, train, choose, seed):
    """Return the best of a student as it is and after each of three epochs."""
    keras.utils.set_random_seed(seed)
    best, best_accuracy = student, accuracy(student, choose)
    model = copied(student)
    model.compile(keras.optimizers.Adam(3e-4), "sparse_categorical_crossentropy")
    for _ in range(3):
        model.fit(*train, batch_size=64, verbose=0)
        one = recalibrated(model, train[0])
        if accuracy(one, choose) > best_accuracy:
            best, best_accuracy = one, accuracy(one, choose)
    return best


def accuracies():
    """Print the rows about accuracy."""
    found = {}
    for seed in SEEDS:
        train, choose, test = digits(seed)
        model = trained(train, seed)
        began_s = time.process_time()
        made = rewritten(model, train[0], seed=seed)
        took_s = time.process_time() - began_s
        split = split_only(model)
        candidates = {
            "original": model,
            "split only": split,
            "split, BN anew": recalibrated(split, train[0][:256], like=model),
            "rewritten": made.model,
            "rewritten, tuned": tuned(made.model, train, choose, seed),
            "2 filters": rewritten(model, train[0], depth_multiplier=2, seed=seed).model,
        }
        for name, one in candidates.items():
            found.setdefault(name, []).append(accuracy(one, test))
        print(f"seed {seed}, {took_s:.0f} s CPU for a rewrite", flush=True)
    for name, values in found.items():
        print(f"  {name:<18} " + " ".join(f"{value:.3f}" for value in values))
    sizes(model, made.model)
    compare(found)


def sizes(model, student):
    """Print the rows about parameters and operations."""
    parameters = student.count_params() / model.count_params()
    operations = flops(student).total / flops(model).total
    line("parameters", "≤ 0.20", f"{parameters:.3f}", parameters <= 0.2)
    line("operations", "≤ 0.20", f"{operations:.3f}", operations <= 0.2)


def compare(found):
    """Print the rows that compare accuracies, of the worst seed."""
    for name, other, least in (
        ("rewritten", "original", -0.08),
        ("rewritten, tuned", "original", -0.03),
        ("rewritten", "split only", 0.30),
    ):
        gaps = [a - b for a, b in zip(found[name], found[other], strict=True)]
        said = (
            f"{100 * statistics.mean(gaps):+.1f} ({100 * min(gaps):+.1f} to {100 * max(gaps):+.1f})"
        )
        line(f"{name}, beside {other}", f"≥ {100 * least:+.0f} points", said, min(gaps) >= least)


def times():
    """Print the rows about time: a step and a prediction of 32 images of 32×32."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(32, 32, 32, 3)).astype("float32")
    y = tf.constant(rng.integers(0, 10, 32))
    model = network((32, 32, 3), 32)
    students = {count: rewritten(model, x[:8], depth_multiplier=count).model for count in (1, 2)}
    calls = {name: calls_of(one, tf.constant(x), y) for name, one in {0: model, **students}.items()}
    for kind in ("step", "prediction"):
        ratios = in_turns({name: call[kind] for name, call in calls.items()})
        for count, (wall, cpu) in ratios.items():
            middle = statistics.median(wall)
            said = f"{middle:.2f} ({min(wall):.2f} to {max(wall):.2f})"
            said += f", CPU {statistics.median(cpu):.2f}"
            name = f"{kind}, {count} filter{'s' if count > 1 else ''} per channel"
            line(name, "≤ 0.60 of original" if count == 1 else "", said, count > 1 or middle <= 0.6)


def calls_of(model, x, y):
    """Return a training step and a prediction, compiled and warm."""
    model.compile("adam", "sparse_categorical_crossentropy")
    step = tf.function(lambda: model.train_step((x, y)), autograph=False)
    predict = tf.function(lambda: model(x, training=False), autograph=False)
    for call in (step, predict, step, predict):
        call()
    return {"step": step, "prediction": predict}


def in_turns(calls, times=3):
    """Return ratios to the first of the calls, one per round: wall and CPU time."""
    found = {name: ([], []) for name in calls if name}
    for _ in range(ROUNDS):
        took = {name: timed(call, times) for name, call in calls.items()}
        for name, (wall, cpu) in found.items():
            wall.append(took[name][0] / took[0][0])
            cpu.append(took[name][1] / took[0][1])
    return found


def timed(call, times):
    """Return wall and CPU time of the fastest of some calls."""
    best = []
    for _ in range(times):
        wall, cpu = time.perf_counter(), time.process_time()
        call()
        best.append((time.perf_counter() - wall, time.process_time() - cpu))
    return min(best)


def main():
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=("accuracy", "time"))
    only = parser.parse_args().only
    if only != "time":
        accuracies()
    if only != "accuracy":
        times()


if __name__ == "__main__":
    main()
