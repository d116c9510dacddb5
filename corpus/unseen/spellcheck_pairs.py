"""Does the candidate fix the typo?  Siamese-ish scorer over character n-grams."""
import random
import string

import numpy as np
import keras
from keras import layers

random.seed(17)
keras.utils.set_random_seed(17)

ALPHABET = string.ascii_lowercase
N_PAIRS = 4000
DIM = 256


def random_word():
    return "".join(random.choice(ALPHABET) for _ in range(random.randint(9, 16)))


def corrupt(w, k):
    w = list(w)
    for _ in range(k):
        i = random.randrange(len(w))
        op = random.random()
        if op < 0.4:
            w[i] = random.choice(ALPHABET)
        elif op < 0.7 and len(w) > 4:
            del w[i]
        else:
            w.insert(i, random.choice(ALPHABET))
    return "".join(w)


def edit_distance(a, b):
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) + 1):
        table[i][0] = i
    for j in range(len(b) + 1):
        table[0][j] = j
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + 1,
                              table[i - 1][j - 1] + (a[i - 1] != b[j - 1]))
    return table[-1][-1]


def ngram_vector(w):
    v = np.zeros(DIM, "float32")
    w = f"^{w}$"
    for i in range(len(w) - 1):
        v[(ord(w[i]) * 31 + ord(w[i + 1])) % DIM] += 1
    return v


def prepare(pairs, lexicon):
    left, right, extra, target = [], [], [], []
    for a, b in pairs:
        left.append(ngram_vector(a))
        right.append(ngram_vector(b))
        near = min(edit_distance(a, w) for w in lexicon)
        d = edit_distance(a, b)
        extra.append([d / 10, near / 10])
        target.append(float(d <= near))
    return [np.array(v, "float32") for v in (left, right, extra, target)]


words = [random_word() for _ in range(600)]
pairs = []
for _ in range(N_PAIRS):
    w = random.choice(words)
    other = w if random.random() < 0.5 else random.choice(words)
    pairs.append((corrupt(w, 2), other))

left, right, extra, target = prepare(pairs, words[:40])
print("features", left.shape, extra.shape)

a, b, e = keras.Input((DIM,)), keras.Input((DIM,)), keras.Input((2,))
shared = keras.Sequential([layers.Dense(64, activation="relu"), layers.Dense(32)])
x = layers.Concatenate()([layers.Multiply()([shared(a), shared(b)]), e])
out = layers.Dense(1, activation="sigmoid")(layers.Dense(32, activation="relu")(x))
model = keras.Model([a, b, e], out)
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
model.fit([left, right, extra], target, batch_size=64, epochs=4, validation_split=0.1, verbose=2)
