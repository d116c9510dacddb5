"""Settings of the bird-call experiment (see README of the lab)."""
from dataclasses import dataclass


@dataclass
class Config:
    sample_rate: int = 16000
    seconds: float = 2.0
    n_fft: int = 512
    hop: int = 64
    n_mels: int = 64
    batch_size: int = 16
    epochs: int = 4
    n_clips: int = 320
    n_species: int = 5
    seed: int = 7
