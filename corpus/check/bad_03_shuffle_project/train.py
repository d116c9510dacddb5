# EXPECT shuffle-autotune file=loader.py line=16
# NOTE the dataclass default (settings.py) reaches Dataset.shuffle in loader.py; train.py overrides only the batch size
# SEEN tensorflow.python.framework.errors_impl.InvalidArgumentError: {{function_node __wrapped__ShuffleDatasetV3_device_/job:localhost/replica:0/task:0/device:CPU:0}} buffer_size must be greater than zero or
import keras

from loader import Loader, synthetic
from settings import LoaderOptions, Settings


def make_model(settings):
    return keras.Sequential([
        keras.layers.Input((settings.features,)),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(settings.classes, activation="softmax"),
    ])


def main():
    settings = Settings(loader=LoaderOptions(batch_size=32))
    loader = Loader(settings.loader)
    x, y = synthetic(320, settings.features, settings.classes, seed=0)
    xt, yt = synthetic(96, settings.features, settings.classes, seed=1)

    model = make_model(settings)
    model.compile(
        optimizer="adam",
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    model.fit(loader.train(x, y), epochs=settings.epochs, verbose=2)
    print(model.evaluate(loader.test(xt, yt), verbose=0, return_dict=True))


if __name__ == "__main__":
    main()
