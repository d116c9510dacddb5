import tempfile

import keras
from keras import layers

from sequence import MachineSequence
from store import SensorStore

MACHINES, CYCLES, WIDTH = 768, 80, 12


def main():
    keras.utils.set_random_seed(6)
    with tempfile.TemporaryDirectory() as folder:
        store = SensorStore(folder)
        store.populate(MACHINES, CYCLES, WIDTH)
        data = MachineSequence(store, range(MACHINES), batch_size=32)
        model = keras.Sequential([
            layers.Input((CYCLES, WIDTH)),
            layers.Conv1D(32, 5, activation="relu"),
            layers.MaxPooling1D(2),
            layers.Conv1D(32, 5, activation="relu"),
            layers.GlobalAveragePooling1D(),
            layers.Dense(1),
        ])
        model.compile("adam", "mse")
        model.fit(data, epochs=7, verbose=2)


if __name__ == "__main__":
    main()
