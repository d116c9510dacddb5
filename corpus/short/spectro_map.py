"""Keyword spotting on synthetic audio: raw waveform -> spectrogram -> CNN."""
import numpy as np
import tensorflow as tf

SR = 8000
N_CLIPS = 160
CLASSES = 4
FRAME = 256
HOP = 128
BINS = 40

rng = np.random.default_rng(42)
labels = rng.integers(0, CLASSES, N_CLIPS)
time = np.arange(SR) / SR
waves = np.stack([np.sin(2 * np.pi * (300 + 350 * c) * time) for c in labels])
waves = (waves + rng.normal(0, 0.3, waves.shape)).astype("float32")

window = np.hanning(FRAME).astype("float32")
freqs = np.linspace(60, 3800, BINS)


def spectrogram(wave):
    frames = 1 + (len(wave) - FRAME) // HOP
    spec = np.zeros((frames, BINS), dtype="float32")
    n = np.arange(FRAME)
    for f in range(frames):
        chunk = wave[f * HOP : f * HOP + FRAME] * window
        for b in range(BINS):
            coef = np.sum(chunk * np.exp(-2j * np.pi * freqs[b] * n / SR))
            spec[f, b] = np.log1p(abs(coef))
    return spec


def to_features(wave, label):
    spec = tf.numpy_function(spectrogram, [wave], tf.float32)
    spec.set_shape((61, BINS))
    return spec[..., None], label


train = (
    tf.data.Dataset.from_tensor_slices((waves, labels))
    .shuffle(N_CLIPS)
    .map(to_features)
    .batch(16)
    .prefetch(tf.data.AUTOTUNE)
)

model = tf.keras.Sequential(
    [
        tf.keras.layers.Input((61, BINS, 1)),
        tf.keras.layers.Conv2D(16, 3, activation="relu"),
        tf.keras.layers.MaxPooling2D(),
        tf.keras.layers.Conv2D(32, 3, activation="relu"),
        tf.keras.layers.GlobalAveragePooling2D(),
        tf.keras.layers.Dense(CLASSES, activation="softmax"),
    ]
)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(train, epochs=1, verbose=2)
