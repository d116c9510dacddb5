import keras
import numpy as np


class PatchSequence(keras.utils.PyDataset):
    """Cuts patches out of a big scan and cleans them."""

    def __init__(self, scan, mask, coords, batch_size=12, size=64, **kwargs):
        super().__init__(**kwargs)
        self.scan = scan
        self.mask = mask
        self.coords = coords
        self.batch_size = batch_size
        self.size = size

    def __len__(self):
        return len(self.coords) // self.batch_size

    def __getitem__(self, idx):
        part = self.coords[idx * self.batch_size : (idx + 1) * self.batch_size]
        images, masks = [], []
        for r, c in part:
            patch = self.scan[r : r + self.size, c : c + self.size]
            images.append(self._despeckle(patch))
            masks.append(self.mask[r : r + self.size, c : c + self.size])
        x = np.stack(images)[..., None].astype("float32")
        y = np.stack(masks)[..., None].astype("float32")
        return x, y

    def _despeckle(self, patch):
        padded = np.pad(patch, 2, mode="reflect")
        clean = np.empty_like(patch)
        for i in range(self.size):
            for j in range(self.size):
                clean[i, j] = np.median(padded[i : i + 5, j : j + 5])
        return clean
