# EXPECT from-generator file=ecg/reader.py line=30
# NOTE the callable given to from_generator is a functools.partial of a module function which np.load's one file per sample; EXPECT is the from_generator call
# SEEN ran (rc 0), 'Your input ran out of data' as from_generator has no length
"""ECG beat classification from .npy snippets."""
import tempfile
from pathlib import Path

import keras

from ecg import reader, synth
from ecg.model import beat_net


def main():
    keras.utils.set_random_seed(21)
    with tempfile.TemporaryDirectory() as tmp:
        root = Path(tmp)
        synth.write(root / "train", 160, seed=1)
        synth.write(root / "val", 40, seed=2)

        train = reader.open_split(root / "train", batch=32, shuffle=160)
        val = reader.open_split(root / "val", batch=32)

        net = beat_net(reader.LENGTH, n_classes=2)
        net.compile(
            keras.optimizers.Adam(2e-3),
            loss=keras.losses.SparseCategoricalCrossentropy(),
            metrics=[keras.metrics.SparseCategoricalAccuracy(name="acc")],
        )
        net.fit(train, validation_data=val, epochs=2, verbose=2)


if __name__ == "__main__":
    main()
