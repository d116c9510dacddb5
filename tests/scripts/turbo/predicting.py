"""Predicts and trains batch by batch in many ways and prints every result, bit by bit."""

import hashlib

import keras
import numpy as np
import tensorflow as tf

TRACED = []


def digest(values):
    """Return what tells whether nested arrays are the same bits, types and structure."""
    parts = tf.nest.flatten(values)
    kinds = [(type(part).__name__, str(part.dtype), part.shape) for part in parts]
    text = hashlib.sha256(b"".join(np.asarray(part).tobytes() for part in parts)).hexdigest()[:16]
    return text, type(values).__name__, kinds


class Counting(keras.layers.Dense):
    """Notes when it is traced."""

    def call(self, inputs):
        """Do what a dense layer does."""
        TRACED.append(inputs.shape.rank)
        return super().call(inputs)


class Rows(keras.utils.PyDataset):
    """Makes batches in Python."""

    def __init__(self, x, y):
        super().__init__()
        self.x, self.y = x, y

    def __len__(self):
        return len(self.x) // 10

    def __getitem__(self, index):
        part = slice(10 * index, 10 * index + 10)
        return self.x[part], self.y[part]


def new_model():
    """Return a model with one input."""
    model = keras.Sequential([keras.Input((12,)), keras.layers.Dropout(0.3), Counting(4)])
    model.compile("adam", "mse")
    return model


def two_inputs():
    """Return a model with two inputs and two outputs of different types."""
    a, b = keras.Input((3,), name="a"), keras.Input((2,), name="b", dtype="int32")
    joined = keras.layers.Concatenate()([a, keras.ops.cast(b, "float32")])
    outputs = {"sum": Counting(2)(joined), "sign": keras.ops.sign(b)}
    return keras.Model([a, b], outputs)


def main():
    """Run all kinds."""
    keras.utils.set_random_seed(7)
    draw = np.random.default_rng(1)
    x, y = draw.random((200, 12), "float32"), draw.random((200, 4), "float32")
    model = new_model()
    for number in range(40):
        print(digest(model.predict(x[number : number + 1 + number % 3], verbose=0)))
    for number in range(6):
        row = x[number : number + 2]
        for kind in (row.astype("float64"), tf.constant(row), (row * 9).astype("uint8")):
            print(digest(model.predict(kind, verbose=0)))
    both = two_inputs()
    for number in range(8):
        a, b = x[number : number + 4, :3], (9 * x[number : number + 4, :2]).astype("int32")
        print(digest(both.predict([a, b], verbose=0)))
        print(digest(both.predict({"a": a, "b": b}, verbose=0)))
    print(digest(model.predict(x, verbose=0)), digest(model.predict(x, batch_size=300, verbose=0)))
    for number in range(8):
        loss = model.train_on_batch(x[number : number + 10], y[number : number + 10])
        print(float(loss).hex(), digest(model.predict(x[:5], verbose=0)))

    def batches():
        for number in range(0, 200, 10):
            yield x[number : number + 10], y[number : number + 10]

    print(model.fit(batches(), verbose=0).history["loss"][0].hex())
    rows = model.fit(Rows(x, y), epochs=3, verbose=0)
    print([loss.hex() for loss in rows.history["loss"]])
    arrays = model.fit(x, y, epochs=3, verbose=0, validation_split=0.2)
    print([loss.hex() for loss in arrays.history["loss"]])
    print(digest(model.get_weights()), TRACED)
    try:
        model.predict(x[:2, :3], verbose=0)
    except (ValueError, tf.errors.InvalidArgumentError) as error:
        frames, trace = [], error.__traceback__
        while trace is not None:
            frames.append(trace.tb_frame.f_code.co_name)
            trace = trace.tb_next
        print(frames, type(error).__name__)


main()
