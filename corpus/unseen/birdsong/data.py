import os
import numpy as np
import keras
from scipy.io import wavfile

from features import LogMel


def synthesise(folder, cfg):
    """Write one wav file per clip: chirps of a species-specific pitch plus noise."""
    os.makedirs(folder, exist_ok=True)
    rng = np.random.default_rng(cfg.seed)
    t = np.arange(int(cfg.sample_rate * cfg.seconds)) / cfg.sample_rate
    rows = []
    for i in range(cfg.n_clips):
        label = int(rng.integers(cfg.n_species))
        f0 = 800 + 900 * label + rng.normal(0, 60)
        wave = np.sin(2 * np.pi * (f0 * t + 200 * np.sin(4 * t))) * (rng.random() + 0.3)
        wave += rng.normal(0, 0.5, t.shape)
        path = os.path.join(folder, f"clip_{i:04d}.wav")
        wavfile.write(path, cfg.sample_rate, (wave * 8000).astype("int16"))
        rows.append((path, label))
    return rows


class ClipSequence(keras.utils.PyDataset):
    def __init__(self, rows, cfg, shuffle=True, **kwargs):
        super().__init__(**kwargs)
        self.rows = list(rows)
        self.cfg = cfg
        self.shuffle = shuffle
        self.logmel = LogMel(cfg)
        self.rng = np.random.default_rng(cfg.seed)

    def __len__(self):
        return len(self.rows) // self.cfg.batch_size

    def __getitem__(self, index):
        b = self.cfg.batch_size
        xs, ys = [], []
        for path, label in self.rows[index * b:(index + 1) * b]:
            _, wave = wavfile.read(path)
            xs.append(self.logmel(wave.astype("float32") / 32768.0))
            ys.append(label)
        return np.stack(xs)[..., None], np.array(ys)

    def on_epoch_end(self):
        if self.shuffle:
            self.rng.shuffle(self.rows)
