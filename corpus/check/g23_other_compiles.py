# EXPECT none
# NOTE re.compile, a scaler's fit and a class's own compile()/build() in loops; the Keras model is compiled and fitted once
# SEEN ran to the end (rc 0), no complaint of its own
"""Log line classifier with hand-made features."""
import re

import keras
import numpy as np
from keras import layers


class Standardizer:
    def fit(self, column):
        self.mean, self.std = column.mean(), column.std() + 1e-6
        return self

    def transform(self, column):
        return (column - self.mean) / self.std


class Rule:
    def __init__(self, pattern):
        self.pattern = pattern
        self.regex = None

    def compile(self):
        self.regex = re.compile(self.pattern, re.IGNORECASE)
        return self

    def count(self, line):
        return len(self.regex.findall(line))


PATTERNS = [r"error|fail\w*", r"\d+", r"timeout", r"\b(ok|done|ready)\b", r"[A-Z]{3,}"]


def make_lines(n):
    rng = np.random.default_rng(16)
    bad = ["ERROR timeout after 30", "request failed 502", "FATAL error in worker"]
    good = ["worker 4 ready", "job done in 12 ms", "all ok"]
    labels = rng.integers(0, 2, n)
    lines = []
    for l in labels:
        pool = bad if l else good
        line = rng.choice(pool)
        if rng.random() < 0.1:
            line = line + " " + rng.choice(good)
        lines.append(str(line))
    return lines, labels.astype("float32")


def features(lines, rules):
    table = np.array([[r.count(line) for r in rules] + [len(line)] for line in lines], dtype="float32")
    for j in range(table.shape[1]):
        model = Standardizer()
        model.fit(table[:, j])
        table[:, j] = model.transform(table[:, j])
    return table


def main():
    keras.utils.set_random_seed(16)
    rules = []
    for pattern in PATTERNS:
        rule = Rule(pattern)
        rule.compile()
        rules.append(rule)

    lines, y = make_lines(800)
    x = features(lines, rules)
    net = keras.Sequential([
        keras.Input((x.shape[1],)),
        layers.Dense(16, activation="relu"),
        layers.Dense(1, activation="sigmoid"),
    ])
    net.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
    for attempt in range(3):
        try:
            net.fit(x, y, epochs=3, batch_size=32, validation_split=0.25, verbose=2)
            break
        except MemoryError as err:
            print("attempt", attempt, "ran out of memory:", err)
    print(net.evaluate(x, y, verbose=0))


if __name__ == "__main__":
    main()
