import numpy as np

from alphabet import INDEX, K, KMERS, LETTERS, NEIGHBOURS


def random_sequences(n, length, seed):
    rng = np.random.default_rng(seed)
    letters = np.array(list(LETTERS))
    return ["".join(row) for row in letters[rng.integers(0, len(LETTERS), (n, length))]]


def encode(seq):
    v = np.zeros(len(KMERS), "float32")
    for i in range(len(seq) - K + 1):
        kmer = seq[i:i + K]
        for j in NEIGHBOURS.get(kmer, (INDEX[kmer],)):
            v[j] += 1.0
    return v


def matrix(seqs):
    return np.stack([encode(s) for s in seqs])
