"""Runs a Keras script unchanged and writes the time of every training step to a file.

    python stopwatch.py PARENT_PID MARKS_FILE SCRIPT ARGUMENTS…

It stands beside quickfit's own probes on purpose: what quickfit predicted is checked by a
measurement that shares nothing with it. Each line is the monotonic time and the CPU time of
the process at the end of a step.
"""

import ctypes
import os
import runpy
import signal
import sys
import time

PR_SET_PDEATHSIG = 1


def end_with_the_parent(parent):
    """Make Linux end this process with its parent: a stopped process would stay for ever."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit("the demo has ended")


def time_every_fit(marks):
    """Give every `fit` a callback that writes one line per step."""
    import keras

    class Stopwatch(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            marks.write(f"{time.monotonic():.6f} {time.process_time():.6f}\n")

    plain_fit = keras.Model.fit

    def fit(model, *args, callbacks=None, **keywords):
        return plain_fit(model, *args, callbacks=[*(callbacks or []), Stopwatch()], **keywords)

    keras.Model.fit = fit


def main():
    parent, path, script = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    end_with_the_parent(parent)
    sys.argv = sys.argv[3:]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    with open(path, "w", buffering=1) as marks:
        time_every_fit(marks)
        runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
