import keras
import tensorflow as tf


class Block(keras.layers.Layer):
    def __init__(self, dim, expansion=2):
        super().__init__()
        self.norm = keras.layers.LayerNormalization()
        self.fc1 = keras.layers.Dense(dim * expansion)
        self.act = keras.layers.Activation("gelu")
        self.fc2 = keras.layers.Dense(dim)
        self.scale = self.add_weight(shape=(dim,), initializer="ones", name="scale")

    def call(self, x):
        return x + self.scale * self.fc2(self.act(self.fc1(self.norm(x))))


class ResMLP(keras.Model):
    def __init__(self, dim=64, depth=6, n_out=4):
        super().__init__()
        self.stem = keras.layers.Dense(dim)
        self.blocks = [Block(dim) for _ in range(depth)]
        self.head = keras.layers.Dense(n_out)

    def call(self, x):
        x = self.stem(x)
        for b in self.blocks:
            x = b(x)
        return self.head(x)
