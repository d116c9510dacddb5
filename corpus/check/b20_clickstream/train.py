# EXPECT infinite-input-no-steps file=train.py line=25
# NOTE pipeline.build repeats endlessly unless told repeat=False (its default is True); the training call leaves the default and fit has no steps_per_epoch: the first epoch never ends. The validation call says repeat=False and is fine
# SEEN never finished: killed by timeout after 45 s, last word 'Epoch 1/2'
"""Click prediction on sessions."""
import keras

from model import click_model
from pipeline import SessionPipeline

FIELDS = {"device": 5, "country": 12, "hour": 24}


def train(epochs=2):
    keras.utils.set_random_seed(5)
    pipeline = SessionPipeline(FIELDS, batch_size=64)
    train_ds = pipeline.build("train")
    val_ds = pipeline.build("val", repeat=False)

    model = click_model(FIELDS)
    model.compile(
        optimizer="adam",
        loss="binary_crossentropy",
        metrics=[keras.metrics.AUC(name="auc")],
    )
    return model.fit(train_ds, epochs=epochs, validation_data=val_ds, verbose=2)


if __name__ == "__main__":
    print(train().history)
