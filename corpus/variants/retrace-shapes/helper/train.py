# EXPECT cause=retrace-shapes file=gnn.py line=32
# WHY every molecule graph has its own number of atoms and the tf.function has no signature, so nearly each graph traces anew
import time

from graphs import molecule_stream
from gnn import GraphTrainer

trainer = GraphTrainer(features=9)
t0 = time.time()
trainer.fit(molecule_stream(60, 9))
print(f"training took {time.time() - t0:.1f} s")
