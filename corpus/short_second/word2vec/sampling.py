import numpy as np


class SkipGrams:
    """Yields (center, context, label) batches with negative sampling."""

    def __init__(self, tokens, vocab, window=4, negatives=5):
        self.tokens = tokens
        self.vocab = vocab
        self.window = window
        self.negatives = negatives
        freq = np.bincount(tokens, minlength=vocab) ** 0.75
        self.noise = freq / freq.sum()

    def batch(self, size):
        center, context, label = [], [], []
        while len(center) < size:
            i = np.random.randint(self.window, len(self.tokens) - self.window)
            j = i + np.random.choice([-1, 1]) * np.random.randint(1, self.window + 1)
            center.append(self.tokens[i])
            context.append(self.tokens[j])
            label.append(1.0)
            for _ in range(self.negatives):
                neg = np.random.choice(self.vocab, p=self.noise)
                center.append(self.tokens[i])
                context.append(neg)
                label.append(0.0)
        return (np.array(center[:size]), np.array(context[:size])), np.array(label[:size])
