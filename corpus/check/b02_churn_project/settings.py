from dataclasses import dataclass, field
from typing import Tuple


@dataclass(frozen=True)
class TrainSettings:
    """Everything that may be tuned lives here."""

    epochs: int = 10
    batch_size: int = 256
    learning_rate: float = 3e-4
    hidden: Tuple[int, ...] = field(default=(64, 32))
    dropout: float = 0.1
    eager: bool = True
