# EXPECT cause=host-ram-growth file=train.py line=24
# NOTE the dataset object keeps a copy of each augmented batch in a list "for debugging", about 250 kB per step
import numpy as np
import keras


class CropDataset(keras.utils.PyDataset):
    def __init__(self, images, labels, batch_size=80, size=28):
        super().__init__()
        self.images, self.labels = images, labels
        self.batch_size, self.size = batch_size, size
        self.debug_batches = []
        self.rng = np.random.default_rng(0)

    def __len__(self):
        return len(self.images) // self.batch_size

    def __getitem__(self, i):
        sl = slice(i * self.batch_size, (i + 1) * self.batch_size)
        dx, dy = self.rng.integers(0, 4, 2)
        crop = self.images[sl, dy:dy + self.size, dx:dx + self.size]
        if self.rng.random() < 0.5:
            crop = crop[:, :, ::-1]
        self.debug_batches.append(crop.copy())
        return crop[..., None], self.labels[sl]


def main():
    r = np.random.default_rng(1)
    imgs = r.random((16000, 32, 32), dtype=np.float32)
    labs = r.integers(0, 10, 16000)
    ds = CropDataset(imgs, labs)

    model = keras.Sequential([
        keras.Input((28, 28, 1)),
        keras.layers.Conv2D(16, 5, strides=2, activation="relu"),
        keras.layers.Conv2D(32, 3, activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Flatten(),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(10, activation="softmax"),
    ])
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(ds, epochs=18, verbose=2)


if __name__ == "__main__":
    main()
