"""Update rules.  Each takes a model, an optimizer and one batch."""
import tensorflow as tf


def hinge(diff, margin=1.0):
    return tf.reduce_mean(tf.nn.relu(margin - diff))


def pairwise_update(model, optimizer, better, worse):
    @tf.function
    def _update(a, b):
        with tf.GradientTape() as tape:
            diff = model(a, training=True) - model(b, training=True)
            loss = hinge(diff)
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        return loss

    return _update(better, worse)
