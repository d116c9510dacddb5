# EXPECT cause=missing-tf-function file=adversary.py line=33
# WHY the GAN update of Adversary.update runs op by op, no tf.function
import time

from adversary import Adversary, ring

gan = Adversary(noise=6)
t0 = time.time()
for epoch in range(3):
    for real in ring(2400, 40):
        d, g = gan.update(real)
    print(f"epoch {epoch}  D {float(d):.3f}  G {float(g):.3f}")
print(f"training took {time.time() - t0:.1f} s")
