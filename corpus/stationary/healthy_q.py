# EXPECT none
# NOTE research code: own loop with keras metrics, evaluation and tf.train.CheckpointManager once per epoch
import argparse
import dataclasses
import tempfile
import numpy as np
import tensorflow as tf


@dataclasses.dataclass
class Config:
    epochs: int = 15
    batch: int = 64
    lr: float = 1e-3
    width: int = 32


def get_data(cfg):
    rs = np.random.RandomState(31)
    x = rs.randn(35200, 32, 4).astype("float32")
    y = (x.mean((1, 2)) > 0).astype("int32")
    tr = tf.data.Dataset.from_tensor_slices((x[:32000], y[:32000])).shuffle(4096).batch(cfg.batch, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
    te = tf.data.Dataset.from_tensor_slices((x[32000:], y[32000:])).batch(cfg.batch, drop_remainder=True)
    return tr, te


def build(cfg):
    return tf.keras.Sequential([
        tf.keras.Input((32, 4)),
        tf.keras.layers.Conv1D(cfg.width, 5, activation="relu"),
        tf.keras.layers.Conv1D(cfg.width, 5, strides=2, activation="relu"),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(2),
    ])


def main(cfg):
    tr, te = get_data(cfg)
    model = build(cfg)
    opt = tf.keras.optimizers.Adam(cfg.lr)
    ce = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    train_loss = tf.keras.metrics.Mean()
    train_acc = tf.keras.metrics.SparseCategoricalAccuracy()
    test_acc = tf.keras.metrics.SparseCategoricalAccuracy()
    ckpt = tf.train.Checkpoint(model=model)
    manager = tf.train.CheckpointManager(ckpt, tempfile.mkdtemp(), max_to_keep=2)

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            loss = ce(y, logits)
        grads = tape.gradient(loss, model.trainable_variables)
        opt.apply_gradients(zip(grads, model.trainable_variables))
        train_loss.update_state(loss)
        train_acc.update_state(y, logits)

    @tf.function
    def test_step(x, y):
        test_acc.update_state(y, model(x, training=False))

    for epoch in range(cfg.epochs):
        for m in (train_loss, train_acc, test_acc):
            m.reset_state()
        for x, y in tr:
            train_step(x, y)
        for x, y in te:
            test_step(x, y)
        manager.save()
        print(f"epoch {epoch + 1}: loss {train_loss.result():.4f} acc {train_acc.result():.3f} test {test_acc.result():.3f}")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    for f in dataclasses.fields(Config):
        p.add_argument("--" + f.name, type=f.type, default=f.default)
    main(Config(**vars(p.parse_args())))
