from dataclasses import dataclass


@dataclass
class Config:
    image_size: int = 40
    batch_size: int = 32
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    epochs: int = 10
    patience: int = 3
    width: int = 8
    depth: int = 3
    dropout: float = 0.2
    shuffle_buffer: int = 1000
    seed: int = 2024
