# EXPECT: tf.keras.utils.Sequence DataGenerator.__getitem__ loads JPEGs with PIL one by one, no workers / multiprocessing
# TWIST: none
import numpy as np
import tensorflow as tf
from pathlib import Path
from PIL import Image
from skimage import data as skd

ROOT = Path(__file__).resolve().parent / 'data' / 'sequence_class'


def make_dataset():
    """Écrit les images sur le disque (une seule fois)."""
    if ROOT.exists():
        return
    rs = np.random.RandomState(3)
    for nom, arr in [('astronaute', skd.astronaut()), ('galaxie', skd.hubble_deep_field()), ('rétine', skd.retina())]:
        d = ROOT / nom
        d.mkdir(parents=True)
        src = Image.fromarray(arr)
        for i in range(70):
            t = rs.randint(240, 400)
            x = rs.randint(0, src.width - t)
            y = rs.randint(0, src.height - t)
            im = src.crop((x, y, x + t, y + t))
            if i % 2:
                im = im.transpose(Image.FLIP_TOP_BOTTOM)
            im.save(d / f'{i:03d}.jpg', quality=88)


class DataGenerator(tf.keras.utils.Sequence):
    'Generates data for Keras'
    def __init__(self, list_IDs, labels, batch_size=16, dim=(100, 100), n_channels=3,
                 n_classes=3, shuffle=True):
        super().__init__()
        self.dim = dim
        self.batch_size = batch_size
        self.labels = labels
        self.list_IDs = list_IDs
        self.n_channels = n_channels
        self.n_classes = n_classes
        self.shuffle = shuffle
        self.on_epoch_end()

    def __len__(self):
        return int(np.floor(len(self.list_IDs) / self.batch_size))

    def __getitem__(self, index):
        indexes = self.indexes[index*self.batch_size:(index+1)*self.batch_size]
        list_IDs_temp = [self.list_IDs[k] for k in indexes]
        X, y = self.__data_generation(list_IDs_temp)
        return X, y

    def on_epoch_end(self):
        self.indexes = np.arange(len(self.list_IDs))
        if self.shuffle == True:
            np.random.shuffle(self.indexes)

    def __data_generation(self, list_IDs_temp):
        X = np.empty((self.batch_size, *self.dim, self.n_channels), dtype=np.float32)
        y = np.empty((self.batch_size), dtype=int)
        for i, ID in enumerate(list_IDs_temp):
            X[i,] = np.array(Image.open(ID).resize(self.dim)) / 255.
            y[i] = self.labels[ID]
        return X, tf.keras.utils.to_categorical(y, num_classes=self.n_classes)


make_dataset()
classes = sorted(p.name for p in ROOT.iterdir())
ids = sorted(str(p) for p in ROOT.glob('*/*.jpg'))
labels = {i: classes.index(Path(i).parent.name) for i in ids}
training_generator = DataGenerator(ids, labels)

# petit réseau
model = tf.keras.Sequential([
    tf.keras.layers.Input((100, 100, 3)),
    tf.keras.layers.Conv2D(8, 3, strides=2, activation='relu'),
    tf.keras.layers.Conv2D(16, 3, strides=2, activation='relu'),
    tf.keras.layers.Flatten(),
    tf.keras.layers.Dense(3, activation='softmax'),
])
model.compile(loss='categorical_crossentropy', optimizer='rmsprop', metrics=['accuracy'])
model.fit(training_generator, epochs=8)
print('terminé')
