import os, tempfile
import numpy as np
import tensorflow as tf

root = os.path.join(tempfile.gettempdir(), "flower_files")
N = 1500
if not os.path.exists(os.path.join(root, "done")):
    os.makedirs(root, exist_ok=True)
    r = np.random.RandomState(5)
    for i in range(N):
        img = tf.image.resize(r.rand(10, 10, 3).astype("f") * 255, (320, 320))
        tf.io.write_file(f"{root}/{i % 4}_{i:05d}.jpg", tf.io.encode_jpeg(tf.cast(img, tf.uint8)))
    open(os.path.join(root, "done"), "w").close()

files = tf.data.Dataset.list_files(root + "/*.jpg", shuffle=False)


def load(path):
    label = tf.strings.to_number(tf.strings.substr(tf.strings.split(path, "/")[-1], 0, 1), tf.int32)
    img = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    img = tf.image.resize(tf.cast(img, tf.float32) / 255.0, (224, 224))
    return img, label


train = files.map(load, num_parallel_calls=tf.data.AUTOTUNE).shuffle(N).batch(16).prefetch(tf.data.AUTOTUNE)

model = tf.keras.Sequential([
    tf.keras.layers.Input((224, 224, 3)),
    tf.keras.layers.Conv2D(8, 5, strides=4, activation="relu"),
    tf.keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
    tf.keras.layers.GlobalAveragePooling2D(),
    tf.keras.layers.Dense(4, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy")
# quick look only
model.fit(train, epochs=1, steps_per_epoch=12)
