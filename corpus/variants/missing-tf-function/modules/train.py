# EXPECT cause=missing-tf-function file=vae.py line=30
# WHY VAE update without tf.function
import time

from vae import VAE, Fitter, samples

fitter = Fitter(VAE(latent=8))
t0 = time.perf_counter()
for r in range(2):
    fitter.run(samples(4000, batch=50))
    print("round", r, fitter.last)
print(f"training took {time.perf_counter() - t0:.1f} s")
