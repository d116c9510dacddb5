# EXPECT none
# NOTE endless data everywhere, but with steps: steps come in through **kwargs built from a dict; repeat(3) ends; the generator with a break in its while True ends
# SEEN ran (rc 0), all four fits ended
"""Sound event counter."""
import keras

from sources import bounded_stream, endless_batches, looped_dataset
from net import counter_net


def schedule(samples, batch):
    return {
        "steps_per_epoch": samples // batch,
        "validation_steps": 5,
        "epochs": 2,
        "verbose": 2,
    }


def main():
    keras.utils.set_random_seed(71)
    plan = schedule(800, 40)

    model = counter_net()
    model.fit(endless_batches(40, seed=0), validation_data=endless_batches(40, seed=1), **plan)

    # three rounds over a small set, without steps: it ends by itself
    model.fit(looped_dataset(200, 40, rounds=3), epochs=1, verbose=2)

    # forever, with steps
    forever = looped_dataset(200, 40)
    model.fit(forever, epochs=2, steps_per_epoch=5, verbose=2)

    # ends after 12 batches, because of the break
    model.fit(bounded_stream(40, limit=12), epochs=1, verbose=2)

    print(model.evaluate(forever, steps=4, verbose=0))


if __name__ == "__main__":
    main()
