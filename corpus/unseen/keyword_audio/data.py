import os
import wave

import numpy as np
import tensorflow as tf

from features import LogMel


def make_clips(cfg, folder):
    rng = np.random.default_rng(cfg.seed)
    a = cfg.audio
    n = int(a.sample_rate * a.seconds)
    t = np.arange(n) / a.sample_rate
    paths, labels = [], []
    for i in range(cfg.n_clips):
        label = i % a.n_classes
        sig = 0.4 * np.sin(2 * np.pi * (300 + 250 * label) * t) + 0.2 * rng.standard_normal(n)
        path = os.path.join(folder, f"clip_{i:04d}.wav")
        with wave.open(path, "wb") as w:
            w.setnchannels(1)
            w.setsampwidth(2)
            w.setframerate(a.sample_rate)
            w.writeframes((np.clip(sig, -1, 1) * 32767).astype("<i2").tobytes())
        paths.append(path)
        labels.append(label)
    return paths, labels


def build_dataset(cfg, paths, labels):
    logmel = LogMel(cfg.audio)

    def load(path, label):
        audio, _ = tf.audio.decode_wav(tf.io.read_file(path), desired_channels=1)
        feats = tf.numpy_function(logmel, [audio[:, 0]], tf.float32)
        feats.set_shape((logmel.n_frames, cfg.audio.n_mels))
        return feats, label

    ds = tf.data.Dataset.from_tensor_slices((paths, labels))
    ds = ds.shuffle(len(paths), seed=cfg.seed)
    ds = ds.map(load, num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.batch(cfg.batch_size).prefetch(tf.data.AUTOTUNE)
    return ds, (logmel.n_frames, cfg.audio.n_mels)
