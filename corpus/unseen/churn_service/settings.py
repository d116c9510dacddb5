from dataclasses import dataclass, asdict


@dataclass
class ModelSettings:
    hidden: tuple = (96, 96, 64, 32)
    dropout: float = 0.1
    learning_rate: float = 1e-3
    debug: bool = True


@dataclass
class DataSettings:
    customers: int = 8000
    features: int = 40
    seed: int = 5


@dataclass
class RunSettings:
    epochs: int = 2
    batch_size: int = 64

    def describe(self):
        return ", ".join(f"{k}={v}" for k, v in asdict(self).items())
