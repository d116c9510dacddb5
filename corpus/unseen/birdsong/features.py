"""Log-mel features without librosa."""
import numpy as np
from scipy import signal


def hz_to_mel(f):
    return 2595.0 * np.log10(1.0 + f / 700.0)


def mel_to_hz(m):
    return 700.0 * (10.0 ** (m / 2595.0) - 1.0)


def mel_matrix(n_mels, n_fft, sr):
    edges = mel_to_hz(np.linspace(hz_to_mel(50), hz_to_mel(sr / 2), n_mels + 2))
    freqs = np.linspace(0, sr / 2, n_fft // 2 + 1)
    bank = np.zeros((n_mels, len(freqs)), dtype="float32")
    for i in range(n_mels):
        lo, mid, hi = edges[i:i + 3]
        up = (freqs - lo) / (mid - lo)
        down = (hi - freqs) / (hi - mid)
        bank[i] = np.maximum(0, np.minimum(up, down))
    return bank


class LogMel:
    def __init__(self, cfg):
        self.cfg = cfg
        self.bank = mel_matrix(cfg.n_mels, cfg.n_fft, cfg.sample_rate)

    def denoise(self, wave):
        # spectral gating was too aggressive, median filter keeps the chirps
        return signal.medfilt(wave, 31)

    def __call__(self, wave):
        wave = self.denoise(wave)
        _, _, power = signal.spectrogram(
            wave, fs=self.cfg.sample_rate, nperseg=self.cfg.n_fft,
            noverlap=self.cfg.n_fft - self.cfg.hop)
        mel = self.bank @ power
        mel = np.log(mel + 1e-8)
        return ((mel - mel.mean()) / (mel.std() + 1e-6)).astype("float32")
