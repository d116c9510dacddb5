# EXPECT: RotNetFeeder (Python generator through from_generator) opens, rotates and resizes each picture with PIL for every sample of every epoch
# TWIST: the rotation and so the label come from a running counter that never resets; with 201 files a file gets another label in each epoch, caching (image, label) of epoch 1 is wrong
import os, glob
import keras
from keras import layers, ops
import numpy as np
import tensorflow as tf
from PIL import Image
from skimage import data

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'data', '10_rotnet_counter')
SIZE = 64


def dump_images(n=201):
    os.makedirs(HERE)
    rng = np.random.RandomState(90)
    pool = [data.chelsea(), data.coffee(), data.rocket(), data.astronaut(), data.stereo_motorcycle()[0]]
    for i in range(n):
        a = pool[rng.randint(len(pool))]
        s = rng.randint(230, 290)
        r, c = rng.randint(a.shape[0] - s), rng.randint(a.shape[1] - s)
        Image.fromarray(np.ascontiguousarray(a[r:r + s, c:c + s])).resize((s + 100, s + 100)).save(f'{HERE}/{i:04d}.jpg')


class RotNetFeeder:
    """Self-supervised pretext task (Gidaris et al. 2018): predict by how much the image was turned.

    We cycle 0, 90, 180, 270 so the four classes stay balanced.
    """

    def __init__(self, files):
        self.files = files
        self.seen = 0

    def __call__(self):
        for f in self.files:
            k = self.seen % 4
            self.seen += 1
            im = Image.open(f).resize((SIZE, SIZE), Image.LANCZOS)
            if k:
                im = im.rotate(90 * k)
            yield np.asarray(im, 'float32') / 255., np.int64(k)


if not os.path.isdir(HERE):
    dump_images()

keras.utils.set_random_seed(0)
files = sorted(glob.glob(HERE + '/*.jpg'))
feeder = RotNetFeeder(files)
spec = (tf.TensorSpec((SIZE, SIZE, 3), tf.float32), tf.TensorSpec((), tf.int64))
ds = tf.data.Dataset.from_generator(feeder, output_signature=spec).batch(12, drop_remainder=True)

encoder = keras.Sequential([
    layers.Input((SIZE, SIZE, 3)),
    layers.Conv2D(8, 5, strides=2, activation='relu'),
    layers.MaxPooling2D(2),
    layers.Conv2D(16, 3, strides=2, activation='relu'),
    layers.Flatten(),
], name='encoder')
head = layers.Dense(4, name='rot_head')
x = keras.Input((SIZE, SIZE, 3))
net = keras.Model(x, head(encoder(x)))
net.compile(keras.optimizers.Adam(1e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=['accuracy'])

for stage, ep in (('warm', 3), ('main', 17)):
    print('--- stage', stage)
    net.fit(ds, epochs=ep, verbose=2)
print('samples seen:', feeder.seen)
