#!/usr/bin/env python
# coding: utf-8
# EXPECT: GradientTape training written inline in the epoch/batch loop, everything runs eagerly op by op (no tf.function)
# TWIST: none

# In[1]:


import os
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers, Model
from skimage import data
from skimage.transform import resize


# In[2]:


# cut 32x32 patches from some pictures
p = "data/19_notebook_tape/patches.npz"
if not os.path.exists(p):
    os.makedirs(os.path.dirname(p), exist_ok=True)
    rng = np.random.default_rng(0)
    pics = [data.astronaut(), data.chelsea(), data.coffee(), data.rocket()]
    imgs, labs = [], []
    for i in range(1600):
        k = i % 4
        r = rng.integers(0, pics[k].shape[0] - 64); c = rng.integers(0, pics[k].shape[1] - 64)
        imgs.append(pics[k][r:r+64:2, c:c+64:2])
        labs.append(k)
    np.savez_compressed(p, x=np.array(imgs), y=np.array(labs))
d = np.load(p)
x_train, y_train = d["x"].astype("float32") / 255.0, d["y"].astype("int64")
x_train.shape, y_train.shape


# In[3]:


train_ds = tf.data.Dataset.from_tensor_slices((x_train, y_train)).shuffle(1600).batch(16)


# In[5]:


def block(x, f):
    x = layers.Conv2D(f, 3, padding="same")(x)
    x = layers.BatchNormalization()(x)
    x = layers.ReLU()(x)
    return layers.MaxPool2D()(x)

inp = layers.Input((32, 32, 3))
x = block(inp, 8)
x = block(x, 12)
x = block(x, 16)
x = layers.Flatten()(x)
out = layers.Dense(4)(x)
model = Model(inp, out)
model.summary()


# In[6]:


loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = tf.keras.optimizers.Adam()

train_loss = tf.keras.metrics.Mean(name="train_loss")
train_accuracy = tf.keras.metrics.SparseCategoricalAccuracy(name="train_accuracy")


# In[7]:


EPOCHS = 3

for epoch in range(EPOCHS):
    train_loss.reset_state()
    train_accuracy.reset_state()

    for images, labels in train_ds:
        with tf.GradientTape() as tape:
            predictions = model(images, training=True)
            loss = loss_object(labels, predictions)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))

        train_loss(loss)
        train_accuracy(labels, predictions)

    print(
        f'Epoch {epoch + 1}, '
        f'Loss: {train_loss.result():0.2f}, '
        f'Accuracy: {train_accuracy.result() * 100:0.2f}'
    )
