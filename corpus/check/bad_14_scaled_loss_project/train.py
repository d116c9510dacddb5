# EXPECT keras3-loss-scale-api file=models.py line=28
# EXPECT keras3-loss-scale-api file=models.py line=30
# NOTE the train_step of models.py uses the Keras 2 methods on self.optimizer, which compile() wraps in a Keras 3 LossScaleOptimizer
# SEEN AttributeError: 'LossScaleOptimizer' object has no attribute 'get_scaled_loss' (get_unscaled_gradients missing too)
import keras
import numpy as np
import tensorflow as tf

from models import Denoiser


def signals(n):
    rng = np.random.default_rng(0)
    basis = rng.normal(size=(3, 16))
    return (rng.normal(size=(n, 3)) @ basis).astype("float32")


def main(precision="mixed_float16"):
    keras.mixed_precision.set_global_policy(precision)
    ds = tf.data.Dataset.from_tensor_slices(signals(128)).shuffle(128).batch(16)
    model = Denoiser()
    model.compile(optimizer=keras.optimizers.Adam(1e-3))
    model.fit(ds, epochs=2, verbose=2)


if __name__ == "__main__":
    main()
