"""Reduced amino-acid alphabet and k-mer neighbourhoods."""
from itertools import product

LETTERS = "ACDEFGHK"
K = 4

KMERS = ["".join(p) for p in product(LETTERS, repeat=K)]
INDEX = {k: i for i, k in enumerate(KMERS)}


def mismatches(a, b):
    n = 0
    for ca, cb in zip(a, b):
        if ca != cb:
            n += 1
    return n


def neighbourhood(kmer, radius=1):
    return [INDEX[o] for o in KMERS if mismatches(kmer, o) <= radius]


NEIGHBOURS = {k: neighbourhood(k) for k in KMERS}
