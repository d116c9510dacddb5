import keras
import numpy as np


class MachineSequence(keras.utils.PyDataset):
    def __init__(self, store, ids, batch_size, **kw):
        super().__init__(**kw)
        self.store = store
        self.ids = np.array(ids)
        self.batch_size = batch_size
        self.rng = np.random.default_rng(0)

    def __len__(self):
        return len(self.ids) // self.batch_size

    def __getitem__(self, i):
        ids = self.ids[i * self.batch_size:(i + 1) * self.batch_size]
        x = np.stack([self.store.history(int(m)) for m in ids])
        y = np.array([self.store.wear(int(m)) for m in ids], "float32")
        return x, y

    def on_epoch_end(self):
        self.rng.shuffle(self.ids)
