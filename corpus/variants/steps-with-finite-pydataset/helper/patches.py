import numpy as np
from keras.utils import PyDataset


class PatchSet(PyDataset):
    """Multispectral patches, cut from one large scene."""

    def __init__(self, batches, size):
        super().__init__()
        self.batches, self.size = batches, size
        r = np.random.default_rng(17)
        self.scene = r.random((500, 500, 4), dtype=np.float32)
        self.corner = r.integers(0, 468, (batches * size, 2))
        self.kind = r.integers(0, 6, batches * size)

    def __len__(self):
        return self.batches

    def __getitem__(self, k):
        rows = slice(k * self.size, (k + 1) * self.size)
        x = np.stack([self.scene[a:a + 32, b:b + 32] for a, b in self.corner[rows]])
        return x, self.kind[rows]
