from dataclasses import dataclass
from typing import Optional


@dataclass
class RunConfig:
    batch_size: int = 64
    epochs: int = 5
    steps: Optional[int] = None
    lr: float = 1e-3
    seed: int = 0
