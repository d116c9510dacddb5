# EXPECT unscaled-float16-loss line=34
# NOTE compile() wraps SGD in a LossScaleOptimizer whose apply divides by the scale (32768); this train_step never multiplied, so nothing is learned
# SEEN runs; loss stays 1.147..1.145 over 5 epochs (float32 policy: 0.82 -> 0.49)
import keras
import numpy as np
import tensorflow as tf
from keras import layers

keras.mixed_precision.set_global_policy("mixed_float16")
keras.utils.set_random_seed(1)


class MixUpClassifier(keras.Model):
    """Classifier with mix-up done inside train_step."""

    def __init__(self, backbone, alpha=0.2):
        super().__init__()
        self.backbone = backbone
        self.alpha = alpha
        self.loss_metric = keras.metrics.Mean(name="loss")

    def call(self, x, training=False):
        return self.backbone(x, training=training)

    def train_step(self, data):
        x, y = data
        lam = 1.0 - self.alpha * tf.random.uniform([])
        idx = tf.random.shuffle(tf.range(tf.shape(x)[0]))
        x = lam * x + (1 - lam) * tf.gather(x, idx)
        y = lam * y + (1 - lam) * tf.gather(y, idx)
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.compute_loss(x=x, y=y, y_pred=y_pred)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        self.loss_metric.update_state(loss)
        return {"loss": self.loss_metric.result()}


backbone = keras.Sequential([
    keras.Input((8,)),
    layers.Dense(32, activation="relu"),
    layers.Dense(3),
    layers.Activation("softmax", dtype="float32"),
])
rng = np.random.default_rng(0)
x = rng.normal(size=(300, 8)).astype("float32")
y = keras.utils.to_categorical(x[:, :3].argmax(1), 3)

model = MixUpClassifier(backbone)
model.compile(optimizer=keras.optimizers.SGD(0.5), loss="categorical_crossentropy")
history = model.fit(x, y, batch_size=30, epochs=5, verbose=0)
print("loss per epoch:", [round(v, 4) for v in history.history["loss"]])
