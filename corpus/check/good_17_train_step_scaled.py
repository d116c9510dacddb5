# EXPECT none
# NOTE own train_step under mixed_float16, but it asks self.optimizer (wrapped by compile) to scale; works for float32 too, where scale_loss is the identity
# SEEN fine, exit 0; last line: [0.8085670471191406, 0.35150712728500366, 0.22043268382549286, 0.16291147470474243, 0.13289739191532135]
import keras
import numpy as np
import tensorflow as tf

keras.mixed_precision.set_global_policy("mixed_float16")
keras.utils.set_random_seed(0)


class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.h = keras.layers.Dense(24, activation="relu")
        self.o = keras.layers.Dense(3, activation="softmax", dtype="float32")

    def call(self, x, training=False):
        return self.o(self.h(x))

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.compute_loss(y=y, y_pred=y_pred)
            target = self.optimizer.scale_loss(loss) if self.optimizer is not None else loss
        grads = tape.gradient(target, self.trainable_variables)
        self.optimizer.apply(grads, self.trainable_variables)
        for metric in self.metrics:
            if metric.name == "loss":
                metric.update_state(loss)
            else:
                metric.update_state(y, y_pred)
        return {m.name: m.result() for m in self.metrics}


rng = np.random.default_rng(0)
x = rng.normal(size=(300, 8)).astype("float32")
y = x[:, :3].argmax(1)
model = Net()
model.compile(optimizer=keras.optimizers.SGD(0.5), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(x, y, batch_size=30, epochs=5, verbose=0)
print(history.history["loss"])
assert history.history["loss"][-1] < 0.8 * history.history["loss"][0]
