class Meter:
    """Exponentially smoothed value for the progress line."""

    def __init__(self, name, beta=0.95):
        self.name = name
        self.beta = beta
        self.value = None

    def add(self, value):
        value = value.numpy()
        if self.value is None:
            self.value = value
        else:
            self.value = self.beta * self.value + (1 - self.beta) * value
        return self.value

    def __str__(self):
        return f"{self.name}={self.value:.3f}"
