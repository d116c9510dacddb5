import keras

from chem import fingerprints, random_molecules


class MoleculeSequence(keras.utils.PyDataset):
    def __init__(self, batches, size, **kw):
        super().__init__(**kw)
        self.size = size
        self.molecules = random_molecules(batches * size)

    def __len__(self):
        return len(self.molecules) // self.size

    def __getitem__(self, i):
        part = self.molecules[i * self.size:(i + 1) * self.size]
        x = fingerprints(part)
        return x, x.sum(1, keepdims=True)
