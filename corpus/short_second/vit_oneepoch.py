import os
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras
import numpy as np
from keras import layers, ops


class PatchEmbed(layers.Layer):
    def __init__(self, patches, dim, **kw):
        super().__init__(**kw)
        self.proj = layers.Conv2D(dim, 8, strides=8)
        self.pos = layers.Embedding(patches, dim)
        self.patches, self.dim = patches, dim

    def call(self, x):
        x = ops.reshape(self.proj(x), (-1, self.patches, self.dim))
        return x + self.pos(ops.arange(self.patches))


class Block(layers.Layer):
    def __init__(self, dim, heads, **kw):
        super().__init__(**kw)
        self.n1, self.n2 = layers.LayerNormalization(), layers.LayerNormalization()
        self.attn = layers.MultiHeadAttention(heads, dim // heads)
        self.m1, self.m2 = layers.Dense(dim * 4, activation="gelu"), layers.Dense(dim)

    def call(self, x):
        h = self.n1(x)
        x = x + self.attn(h, h)
        return x + self.m2(self.m1(self.n2(x)))


class ViT(keras.Model):
    def __init__(self, dim=128, depth=4, classes=20):
        super().__init__()
        self.embed = PatchEmbed(144, dim)
        self.blocks = [Block(dim, 4) for _ in range(depth)]
        self.head = layers.Dense(classes)

    def call(self, x):
        x = self.embed(x)
        for b in self.blocks:
            x = b(x)
        return self.head(ops.mean(x, axis=1))


keras.utils.set_random_seed(0)
x = np.random.rand(640, 96, 96, 3).astype("float32")
y = np.random.randint(0, 20, 640)
vit = ViT()
vit.compile(keras.optimizers.AdamW(1e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
vit.fit(x, y, batch_size=64, epochs=1, verbose=2)
