from dataclasses import dataclass, field


@dataclass(frozen=True)
class AudioConfig:
    sample_rate: int = 8000
    seconds: float = 1.0
    frame: int = 256
    hop: int = 80
    n_mels: int = 32
    n_classes: int = 6


@dataclass(frozen=True)
class TrainConfig:
    n_clips: int = 360
    batch_size: int = 24
    epochs: int = 5
    lr: float = 2e-3
    seed: int = 11
    audio: AudioConfig = field(default_factory=AudioConfig)
