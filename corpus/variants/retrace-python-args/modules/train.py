# EXPECT cause=retrace-python-args file=engine.py line=14
# WHY the tf.function is made inside the method that the loop calls, so it is traced in every step
import time

from engine import Engine
from inputs import stream

engine = Engine()
t0 = time.perf_counter()
for x, y in stream(70):
    value = engine.update(x, y)
print("value", float(value))
print(f"training took {time.perf_counter() - t0:.1f} s")
