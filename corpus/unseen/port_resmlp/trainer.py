import tensorflow as tf
import keras


class Trainer:
    def __init__(self, model, lr=1e-3, clip=1.0):
        self.model = model
        self.criterion = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.optimizer = keras.optimizers.AdamW(lr, weight_decay=1e-4)
        self.acc = keras.metrics.SparseCategoricalAccuracy()
        self.clip = clip

    def training_step(self, x, y):
        with tf.GradientTape() as tape:
            logits = self.model(x, training=True)
            loss = self.criterion(y, logits)
        params = self.model.trainable_variables
        grads = tape.gradient(loss, params)
        grads, _ = tf.clip_by_global_norm(grads, self.clip)
        self.optimizer.apply_gradients(zip(grads, params))
        self.acc.update_state(y, logits)
        return loss

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            self.acc.reset_state()
            running = tf.constant(0.0)
            steps = 0
            for x, y in loader:
                running += self.training_step(x, y)
                steps += 1
            print(f"[{epoch + 1}/{epochs}] loss={float(running) / steps:.4f} acc={float(self.acc.result()):.3f}")
