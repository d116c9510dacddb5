# EXPECT sync-each-step file=gan/meters.py line=10
# NOTE loop.py hands the two losses of every step to Meter.add, which calls .numpy() on them: visible only through meters.py
# SEEN ran (rc 0); cost of the sync not measurable on a CPU, unverified
"""Train a GAN on rings."""
import keras

from gan.loop import fit_gan
from gan.nets import discriminator, generator
from gan.rings import ring_dataset

if __name__ == "__main__":
    keras.utils.set_random_seed(17)
    G, D = generator(latent=8), discriminator()
    table = fit_gan(G, D, ring_dataset(1024, 64), epochs=2, latent=8)
    for row in table:
        print("epoch {epoch}  d {d:.3f}  g {g:.3f}".format(**row))
