import keras

from config import LOADER_KEYS


class Batches(keras.utils.PyDataset):
    def __init__(self, x, y, size=20, **kwargs):
        super().__init__(**kwargs)
        self.x, self.y, self.size = x, y, size

    def __len__(self):
        return -(-len(self.x) // self.size)

    def __getitem__(self, i):
        rows = slice(i * self.size, (i + 1) * self.size)
        return self.x[rows], self.y[rows]


def split_options(options):
    """What Keras 2's fit took now belongs to the dataset."""
    loader = {k: v for k, v in options.items() if k in LOADER_KEYS}
    fit = {k: v for k, v in options.items() if k not in LOADER_KEYS}
    return loader, fit


def run(model, x, y, options):
    loader, fit = split_options(options)
    return model.fit(Batches(x, y, **loader), **fit)
