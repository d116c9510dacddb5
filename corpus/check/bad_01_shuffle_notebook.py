# EXPECT shuffle-autotune line=52
# NOTE AUTOTUNE (= -1) is the shuffle buffer of the training pipeline (validation is right)
# SEEN tensorflow.python.framework.errors_impl.InvalidArgumentError: {{function_node __wrapped__ShuffleDatasetV3_device_/job:localhost/replica:0/task:0/device:CPU:0}} buffer_size must be greater than zero or
#!/usr/bin/env python
# coding: utf-8

# # Classifying little shapes
# Homework 3, exported from Colab

# In[1]:

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

AUTOTUNE = tf.data.AUTOTUNE
print(tf.__version__)

# In[2]:

rng = np.random.default_rng(0)
n = 192
x = np.zeros((n, 16, 16, 1), "float32")
y = rng.integers(0, 2, n)
for i in range(n):
    r = rng.integers(3, 12)
    if y[i]:
        x[i, r, :, 0] = 1.0
    else:
        x[i, :, r, 0] = 1.0
x += rng.normal(0, 0.1, x.shape).astype("float32")

x_train, x_val = x[:160], x[160:]
y_train, y_val = y[:160], y[160:]

# In[3]:


def add_noise(img, label):
    img = img + tf.random.normal(tf.shape(img), stddev=0.05)
    return img, label


# In[4]:

train_ds = tf.data.Dataset.from_tensor_slices((x_train, y_train))
val_ds = tf.data.Dataset.from_tensor_slices((x_val, y_val))

train_ds = (
    train_ds.cache()
    .shuffle(AUTOTUNE)
    .map(add_noise, num_parallel_calls=AUTOTUNE)
    .batch(32)
    .prefetch(AUTOTUNE)
)
val_ds = val_ds.batch(32).cache().prefetch(AUTOTUNE)

# In[5]:

model = keras.Sequential([
    keras.Input(shape=(16, 16, 1)),
    layers.Conv2D(8, 3, activation="relu"),
    layers.MaxPooling2D(),
    layers.Flatten(),
    layers.Dense(2),
])
model.compile(optimizer="adam",
              loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
              metrics=["accuracy"])
model.summary()

# In[6]:

history = model.fit(train_ds, validation_data=val_ds, epochs=2)
print(history.history["val_accuracy"])
