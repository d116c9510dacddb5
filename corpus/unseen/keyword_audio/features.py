"""Log-mel features, same numbers as the on-device C implementation."""
import numpy as np


def mel_bank(cfg):
    n_bins = cfg.frame // 2 + 1
    top = 2595 * np.log10(1 + cfg.sample_rate / 2 / 700)
    mel = np.linspace(0, top, cfg.n_mels + 2)
    hz = 700 * (10 ** (mel / 2595) - 1)
    bins = np.floor((cfg.frame + 1) * hz / cfg.sample_rate).astype(int)
    bank = np.zeros((cfg.n_mels, n_bins), "float32")
    for m in range(1, cfg.n_mels + 1):
        lo, mid, hi = bins[m - 1], bins[m], bins[m + 1]
        for k in range(lo, mid):
            bank[m - 1, k] = (k - lo) / max(mid - lo, 1)
        for k in range(mid, hi):
            bank[m - 1, k] = (hi - k) / max(hi - mid, 1)
    return bank


class LogMel:
    def __init__(self, cfg):
        self.cfg = cfg
        self.bank = mel_bank(cfg)
        self.window = np.hanning(cfg.frame).astype("float32")

    @property
    def n_frames(self):
        n = int(self.cfg.sample_rate * self.cfg.seconds)
        return 1 + (n - self.cfg.frame) // self.cfg.hop

    def __call__(self, wave):
        out = np.zeros((self.n_frames, self.cfg.n_mels), "float32")
        noise_floor = 1e-3
        for t in range(self.n_frames):
            s = t * self.cfg.hop
            frame = wave[s:s + self.cfg.frame] * self.window
            power = np.abs(np.fft.rfft(frame)) ** 2
            for m in range(self.cfg.n_mels):
                out[t, m] = np.log(np.dot(self.bank[m], power) + noise_floor)
        return out
