# EXPECT cause=validation-dominates file=experiment.py line=30
# WHY train_model() validates on 12000 test series after each epoch of 1500
import time

from experiment import load, train_model

t0 = time.time()
hist = train_model(*load(), epochs=10)
print("best val", min(hist["val_loss"]))
print(f"training took {time.time() - t0:.1f} s")
