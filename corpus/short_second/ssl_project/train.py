"""Pretrain an autoencoder on unlabeled images, then fine-tune on the few labeled ones."""
import keras

import data
import nets


def main():
    keras.utils.set_random_seed(1)
    unlabeled, _ = data.make_images(600, seed=0)
    x, y = data.make_images(384, seed=1)

    enc = nets.encoder()
    ae = nets.autoencoder(enc)
    ae.compile(optimizer="adam", loss="mse")
    print("--- pretraining")
    ae.fit(unlabeled, unlabeled, batch_size=32, epochs=1, verbose=2)

    clf = nets.classifier(enc, 5)
    clf.compile(optimizer=keras.optimizers.Adam(3e-4),
                loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    print("--- fine-tuning")
    clf.fit(data.LabeledBatches(x, y, 64), epochs=3, verbose=2)


if __name__ == "__main__":
    main()
