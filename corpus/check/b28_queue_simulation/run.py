# EXPECT infinite-input-no-steps file=run.py line=26
# NOTE the dataset wraps an endless simulator (from_generator is right here: no files); `steps` of the config is None by default and goes into fit as steps_per_epoch=None: epoch 1 never ends
# SEEN never finished: killed by timeout after 45 s, last word 'Epoch 1/2'
"""Predict waiting times in a simulated queue."""
import keras

from config import RunConfig
from simulator import waiting_time_dataset


def build_model():
    inp = keras.Input((3,))
    h = keras.layers.Dense(32, activation="relu")(inp)
    h = keras.layers.Dense(16, activation="relu")(h)
    return keras.Model(inp, keras.layers.Dense(1, activation="softplus")(h))


class Runner:
    def __init__(self, cfg: RunConfig):
        self.cfg = cfg
        self.model = build_model()
        self.data = waiting_time_dataset(cfg.batch_size, cfg.seed)

    def train(self):
        self.model.compile(optimizer=keras.optimizers.Adam(self.cfg.lr), loss="mae")
        return self.model.fit(
            self.data,
            epochs=self.cfg.epochs,
            steps_per_epoch=self.cfg.steps,
            verbose=2,
        )


if __name__ == "__main__":
    keras.utils.set_random_seed(3)
    print(Runner(RunConfig(epochs=2)).train().history)
