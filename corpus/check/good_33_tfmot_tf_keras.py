# EXPECT none
# NOTE the model is a tf_keras (Keras 2) model, which tfmot supports
# SEEN fine with tfmot 0.8.1 + tf_keras 2.21 on the path (private folder)
"""Quantisation-aware training of a small classifier (pip install tf_keras tensorflow-model-optimization)."""
import numpy as np
import tensorflow as tf
import tensorflow_model_optimization as tfmot
import tf_keras as keras
from tf_keras import layers


def data(n=256):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 20)).astype("float32")
    return x, (x[:, :5].sum(1) > 0).astype("int32")


def base_model():
    model = keras.Sequential([
        layers.InputLayer(input_shape=(20,)),
        layers.Dense(32, activation="relu"),
        layers.Dense(2, activation="softmax"),
    ])
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def main():
    x, y = data()
    model = base_model()
    model.fit(x, y, epochs=2, validation_split=0.2, verbose=2)
    aware = tfmot.quantization.keras.quantize_model(model)
    aware.compile(keras.optimizers.Adam(1e-4), "sparse_categorical_crossentropy", metrics=["accuracy"])
    aware.fit(x, y, epochs=1, validation_split=0.2, verbose=2)
    converter = tf.lite.TFLiteConverter.from_keras_model(aware)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    print(len(converter.convert()), "bytes")


if __name__ == "__main__":
    main()
