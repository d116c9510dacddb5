# EXPECT unscaled-float16-loss file=trainer.py line=19
# NOTE the policy is set in precision.py (default mixed_float16); the tape loop of trainer.py never scales the loss
# SEEN runs; 14-18 % of the first kernel's gradient exactly 0 (PRECISION=float32: 0 %)
import keras
import numpy as np
import tensorflow as tf

import precision
from trainer import Trainer


def main():
    print("policy:", precision.setup())
    rng = np.random.default_rng(0)
    x = rng.normal(size=(256, 20)).astype("float32")
    y = (1e-3 * x[:, :1]).astype("float32")
    ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(256).batch(128)

    model = keras.Sequential([
        keras.Input((20,)),
        keras.layers.Dense(32, activation="tanh"),
        # the targets are tiny, start near zero
        keras.layers.Dense(1, kernel_initializer=keras.initializers.RandomNormal(stddev=1e-3), dtype="float32"),
    ])
    optimizer = keras.optimizers.SGD(0.05)
    optimizer.build(model.trainable_variables)
    Trainer(model, optimizer, keras.losses.MeanSquaredError()).run(ds, epochs=3)


if __name__ == "__main__":
    main()
