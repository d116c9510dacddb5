# EXPECT none
# NOTE make_train_step is called once per model (outer loop over the two models), not per step; the returned function is used for all its batches
# SEEN ran (rc 0); 2 functions made, 2 traced (counted)
"""Teacher and student are trained one after the other with the same step factory."""
import keras
import tensorflow as tf

from nets import student_net, teacher_net
from step import make_train_step
from toy import toy_dataset

EPOCHS = 2


def train(model, dataset, lr):
    optimizer = keras.optimizers.Adam(lr)
    loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    train_step = make_train_step(model, optimizer, loss_fn)
    mean = keras.metrics.Mean()
    for epoch in range(EPOCHS):
        mean.reset_state()
        for x, y in dataset:
            mean.update_state(train_step(x, y))
        tf.print(model.name, "epoch", epoch + 1, "loss", mean.result())


def main():
    keras.utils.set_random_seed(40)
    dataset = toy_dataset(1000, 50)
    models = {teacher_net(): 1e-3, student_net(): 3e-3}
    for model, lr in models.items():
        train(model, dataset, lr)


if __name__ == "__main__":
    main()
