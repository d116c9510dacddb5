import tensorflow as tf


def make_train_step(model, optimizer, loss_fn, clip=1.0):
    """Returns a compiled step, bound to this model."""
    optimizer.build(model.trainable_variables)

    @tf.function(reduce_retracing=True)
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_fn(y, model(x, training=True))
        grads = tape.gradient(loss, model.trainable_variables)
        grads, _ = tf.clip_by_global_norm(grads, clip)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        return loss

    return train_step
