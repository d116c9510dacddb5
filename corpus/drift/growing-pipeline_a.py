# EXPECT cause=growing-pipeline file=train.py line=34
# NOTE the augmentation map is put on top of the already augmented dataset at the start of every epoch
import numpy as np
import tensorflow as tf

EPOCHS = 10

x = np.random.uniform(size=(9600, 32, 32, 3)).astype("float32")
y = np.random.randint(0, 10, 9600)


def augment(img, label):
    img = tf.image.random_flip_left_right(img)
    img = tf.image.random_brightness(img, 0.1)
    img = img + tf.random.normal(tf.shape(img), stddev=0.02)
    return tf.clip_by_value(img, 0.0, 1.0), label


model = tf.keras.Sequential([
    tf.keras.Input((32, 32, 3)),
    tf.keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
    tf.keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
    tf.keras.layers.GlobalAveragePooling2D(),
    tf.keras.layers.Dense(10),
])
model.compile(optimizer="adam",
              loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
              metrics=["accuracy"])

ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(9600).batch(32)

for epoch in range(EPOCHS):
    # fresh augmentation for every epoch
    ds = ds.map(augment)
    print("epoch", epoch + 1)
    model.fit(ds, epochs=1, verbose=2)
