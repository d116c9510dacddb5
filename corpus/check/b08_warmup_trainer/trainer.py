import keras


class WarmupTrainer:
    """Linear warm-up, then 1/epoch decay."""

    def __init__(self, model: keras.Model, base_lr: float, warmup: int):
        self.model = model
        self.base_lr = base_lr
        self.warmup = warmup

    def _rate(self, epoch):
        if epoch < self.warmup:
            return self.base_lr * (epoch + 1) / self.warmup
        return self.base_lr / (1 + epoch - self.warmup)

    def _prepare(self, rate):
        self.model.compile(
            optimizer=keras.optimizers.Adam(learning_rate=rate),
            loss="mse",
            metrics=["mae"],
        )

    def run(self, data, epochs, batch_size):
        x, y = data
        curve = []
        for epoch in range(epochs):
            self._prepare(self._rate(epoch))
            hist = self.model.fit(
                x,
                y,
                batch_size=batch_size,
                initial_epoch=epoch,
                epochs=epoch + 1,
                verbose=0,
            )
            curve.append(hist.history["loss"][-1])
        return curve
