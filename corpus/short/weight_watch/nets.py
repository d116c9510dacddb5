import keras


def dense_net(n_in, n_out):
    return keras.Sequential(
        [
            keras.layers.Input((n_in,)),
            keras.layers.Dense(850, activation="relu", name="fc1"),
            keras.layers.Dense(850, activation="relu", name="fc2"),
            keras.layers.Dense(n_out, activation="softmax", name="head"),
        ]
    )
