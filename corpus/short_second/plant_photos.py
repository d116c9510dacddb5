import os, glob, tempfile
import numpy as np
from PIL import Image
import tensorflow as tf

# write the photos (the real ones come from the phone, 8 MP)
root = tempfile.mkdtemp(prefix='plants_')
r = np.random.RandomState(0)
for i in range(48):
    small = r.randint(0, 255, (30, 40, 3), dtype=np.uint8)
    Image.fromarray(small).resize((2400, 1800), Image.BILINEAR).save(
        os.path.join(root, 'leaf_%d_%03d.jpg' % (i % 3, i)), quality=85)

files = sorted(glob.glob(root + '/*.jpg'))
labels = [int(os.path.basename(f).split('_')[1]) for f in files]

IMG = 96

def load(path, label):
    img = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    img = tf.image.resize(img, (IMG, IMG), antialias=True)
    return img / 255., label

def augment(img, label):
    img = tf.image.random_flip_left_right(img)
    return tf.image.random_brightness(img, 0.1), label

AUTO = tf.data.AUTOTUNE
train_ds = tf.data.Dataset.from_tensor_slices((files, labels))
train_ds = train_ds.shuffle(len(files))
train_ds = train_ds.map(load, num_parallel_calls=AUTO)
train_ds = train_ds.map(augment, num_parallel_calls=AUTO)
train_ds = train_ds.batch(16).prefetch(AUTO)

net = tf.keras.models.Sequential([
    tf.keras.layers.Input((IMG, IMG, 3)),
    tf.keras.layers.Conv2D(16, 3, strides=2, activation='relu'),
    tf.keras.layers.Conv2D(32, 3, strides=2, activation='relu'),
    tf.keras.layers.Conv2D(64, 3, strides=2, activation='relu'),
    tf.keras.layers.GlobalAveragePooling2D(),
    tf.keras.layers.Dense(3, activation='softmax'),
])
net.compile(optimizer='adam', loss='sparse_categorical_crossentropy', metrics=['accuracy'])
net.fit(train_ds, epochs=14, verbose=2)
