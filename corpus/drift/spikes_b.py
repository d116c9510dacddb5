# EXPECT cause=spikes|retrace-python-args file=train.py line=40
# NOTE the temperature is a python float that changes at irregular times, so now and then a step pays for a new trace
import random
import tensorflow as tf


class Distiller:
    def __init__(self):
        self.teacher = self._mlp(512)
        self.student = self._mlp(128)
        self.opt = tf.keras.optimizers.Adam(1e-3)
        self.opt.build(self.student.trainable_variables)

    @staticmethod
    def _mlp(width):
        return tf.keras.Sequential([tf.keras.Input((64,)), tf.keras.layers.Dense(width, "relu"),
                                    tf.keras.layers.Dense(width, "relu"), tf.keras.layers.Dense(20)])

    @tf.function
    def distill(self, x, temperature):
        soft = tf.nn.softmax(self.teacher(x) / temperature)
        with tf.GradientTape() as tape:
            logits = self.student(x, training=True) / temperature
            loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(soft, logits))
        grads = tape.gradient(loss, self.student.trainable_variables)
        self.opt.apply_gradients(zip(grads, self.student.trainable_variables))
        return loss


def main():
    random.seed(8)
    d = Distiller()
    pool = tf.random.normal((20000, 64))
    batches = iter(tf.data.Dataset.from_tensor_slices(pool).repeat().shuffle(5000).batch(128, drop_remainder=True).prefetch(2))
    temperature, change_at = 5.0, 150
    for step in range(8000):
        if step == change_at:
            temperature = temperature * 0.97
            change_at += random.randint(60, 240)
        loss = d.distill(next(batches), temperature)
        if step % 500 == 0:
            print(f"{step:5d} T={temperature:.3f} loss={loss.numpy():.4f}")


if __name__ == "__main__":
    main()
