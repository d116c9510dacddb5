import numpy as np


def zipf_corpus(n_tokens, vocab, seed=0):
    rng = np.random.default_rng(seed)
    p = 1.0 / np.arange(1, vocab + 1)
    p /= p.sum()
    return rng.choice(vocab, size=n_tokens, p=p)
