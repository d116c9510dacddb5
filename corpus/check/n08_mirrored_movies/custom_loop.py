import keras
import tensorflow as tf


class DistributedTrainer:
    def __init__(self, strategy, model_fn, global_batch, lr):
        self.strategy = strategy
        self.global_batch = global_batch
        with strategy.scope():
            self.model = model_fn()
            self.optimizer = keras.optimizers.Adam(lr)
            self.optimizer.build(self.model.trainable_variables)
            self.loss_fn = keras.losses.MeanSquaredError(reduction="none")
            self.rmse = keras.metrics.RootMeanSquaredError()
        self._train = tf.function(self._distributed_train)
        self._valid = tf.function(self._distributed_valid)

    def _loss(self, y, pred):
        per_example = self.loss_fn(y, pred)
        loss = tf.nn.compute_average_loss(per_example, global_batch_size=self.global_batch)
        if self.model.losses:
            loss += tf.nn.scale_regularization_loss(tf.add_n(self.model.losses))
        return loss

    def _replica_train(self, x, y):
        with tf.GradientTape() as tape:
            pred = self.model(x, training=True)
            loss = self._loss(y, pred)
        grads = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))
        return loss

    def _distributed_train(self, x, y):
        losses = self.strategy.run(self._replica_train, args=(x, y))
        return self.strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)

    def _replica_valid(self, x, y):
        self.rmse.update_state(y, self.model(x, training=False))

    def _distributed_valid(self, x, y):
        self.strategy.run(self._replica_valid, args=(x, y))

    def run(self, train, valid, epochs):
        train = self.strategy.experimental_distribute_dataset(train)
        valid = self.strategy.experimental_distribute_dataset(valid)
        for epoch in range(1, epochs + 1):
            total, steps = tf.constant(0.0), 0
            for x, y in train:
                total += self._train(x, y)
                steps += 1
            self.rmse.reset_state()
            for x, y in valid:
                self._valid(x, y)
            print(
                f"epoch {epoch}: loss {float(total) / steps:.4f}"
                f"  val rmse {float(self.rmse.result()):.4f}"
            )
