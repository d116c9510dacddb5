"""Training scripts that do odd things, on real TensorFlow: `trains.py CASE`.

Each case does many of them in a row, because a process with TensorFlow takes seconds.
"""

import os
import sys

CASES = {}


def case(function):
    """List a function as a case of its name."""
    CASES[function.__name__] = function
    return function


def small_model(base=None):
    """Return a compiled model, of a class that may be the script's own."""
    import keras

    keras.utils.set_random_seed(7)
    model = (base or keras.Sequential)([keras.layers.Dense(4, "relu"), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


def data():
    """Return eight batches of features and labels."""
    import numpy as np

    features = np.linspace(-1, 1, 192, dtype="float32").reshape(64, 3)
    return features, features.sum(axis=1, keepdims=True)


def train(model, name, **how):
    """Fit, and print every loss to the last bit."""
    history = model.fit(*data(), batch_size=8, epochs=2, **{"verbose": 0, **how})
    print(name, [float(loss).hex() for loss in history.history["loss"]], flush=True)


@case
def patches():
    """Replace what Keras is made of, before and after it is used."""
    import builtins
    import functools

    import keras
    from keras.src.backend.tensorflow import trainer

    train(small_model(), "untouched")

    class Own(keras.Sequential):
        def fit(self, *args, **kwargs):
            print("own fit")
            return super().fit(*args, **kwargs)

        def train_step(self, data):
            return super().train_step(data)

    train(small_model(Own), "a subclass")

    original = keras.Model.fit

    @functools.wraps(original)
    def replaced(self, *args, **kwargs):
        print("replaced fit", type(self).__name__)
        return original(self, *args, **kwargs)

    keras.Model.fit = replaced
    train(small_model(), "fit of the class replaced")
    train(small_model(Own), "and of a subclass")
    keras.Model.fit = original

    class Loud(keras.callbacks.CallbackList):
        def on_epoch_end(self, epoch, logs=None):
            print("loud", epoch, sorted(logs))
            super().on_epoch_end(epoch, logs)

        def on_train_batch_end(self, batch, logs=None):
            seen.append(batch)
            super().on_train_batch_end(batch, logs)

    seen = []
    model = small_model()
    listed = Loud([], add_history=True, model=model, epochs=2, steps=8, verbose=0)
    train(model, "a list of callbacks", callbacks=listed)
    print(seen)

    before = keras.callbacks.CallbackList
    keras.callbacks.CallbackList = trainer.callbacks_module.CallbackList = Loud
    train(small_model(), "another class for lists of callbacks")
    keras.callbacks.CallbackList = trainer.callbacks_module.CallbackList = before

    def on_train_batch_begin(self, batch, logs=None):
        seen.append(-batch)
        return begin(self, batch, logs)

    begin = before.on_train_batch_begin
    before.on_train_batch_begin = on_train_batch_begin
    train(small_model(), "a method of the list replaced")
    before.on_train_batch_begin = begin
    print(seen[-8:])

    def train_step(self, data):
        print("traced")
        return step(self, data)

    step = keras.Model.train_step
    keras.Model.train_step = train_step
    train(small_model(), "train_step replaced")
    train(small_model(), "and for fewer steps", steps_per_epoch=2)
    keras.Model.train_step = step

    def make_train_function(self, force=False):
        print("made")
        return make(self, force)

    make = keras.Model.make_train_function
    keras.Model.make_train_function = make_train_function
    train(small_model(), "make_train_function replaced")
    del keras.Model.make_train_function

    real_print = builtins.print
    builtins.print = lambda *words, **how: real_print("printed:", *words, **how)
    train(small_model(), "print replaced")
    builtins.print = real_print


@case
def clocks():
    """Stop all clocks, watch every call, allow no garbage collection and few calls in calls."""
    import gc
    import locale
    import threading
    import time
    import warnings

    import keras
    import tensorflow as tf

    print(locale.setlocale(locale.LC_ALL, ""))
    clocks = ("time", "perf_counter", "monotonic", "process_time", "thread_time", "perf_counter_ns")
    real = {name: getattr(time, name) for name in (*clocks, "sleep")}
    for name in clocks:
        setattr(time, name, lambda: 1_000_000)
    time.sleep = lambda seconds: None
    train(small_model(), "clocks that stand still")
    for name, function in real.items():
        setattr(time, name, function)
    time.perf_counter = lambda: -time.monotonic()
    train(small_model(), "a clock that goes backwards")
    time.perf_counter = real["perf_counter"]

    calls = []

    def watch(frame, event, arg):
        if frame.f_code.co_filename == __file__:
            calls.append((frame.f_code.co_name, event))
        return watch

    threading.setprofile(watch)
    sys.setprofile(watch)
    train(small_model(), "profiled")
    sys.setprofile(None)
    threading.setprofile(None)
    print(calls)
    sys.settrace(watch)
    train(small_model(), "traced")
    sys.settrace(None)
    print(len(calls))

    gc.disable()
    gc.set_threshold(1, 1, 1)
    train(small_model(), "without garbage collection")
    gc.enable()
    train(small_model(), "with a lot of it")
    print(gc.isenabled(), gc.get_threshold())
    gc.set_threshold(700, 10, 10)
    sys.setrecursionlimit(300)
    train(small_model(), "with little room for calls")
    sys.setrecursionlimit(1000)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train(small_model(), "with warnings as errors")
        dataset = tf.data.Dataset.from_tensor_slices(data()).batch(8)
        model = small_model()
        model.fit(dataset, verbose=0, shuffle=False)
        keras.backend.clear_session()
        print(model.predict(dataset, verbose=0).shape)


@case
def interruptions():
    """Raise, exit, fork and handle signals in the middle of a fit."""
    import contextlib
    import multiprocessing
    import signal
    import subprocess
    import traceback

    import keras

    alarms, children = [], []
    signal.signal(signal.SIGALRM, lambda *_: alarms.append(1))
    signal.signal(signal.SIGCHLD, lambda *_: children.append(1))
    signal.signal(signal.SIGUSR1, lambda *_: print("usr1", flush=True))
    signal.signal(signal.SIGTERM, lambda *_: print("term", flush=True))

    class At(keras.callbacks.Callback):
        def __init__(self, do):
            super().__init__()
            self.do = do

        def on_train_batch_end(self, batch, logs=None):
            if batch == 3:
                self.do()

    def fork():
        pid = os.fork()
        if pid == 0:
            os._exit(3)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

    def pool():
        with multiprocessing.get_context("fork").Pool(1) as workers:
            codes.append(workers.apply(abs, (-5,)))

    def end(error):
        raise error

    codes = []
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    train(small_model(), "alarms", callbacks=[At(lambda: signal.pause())])
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(len(alarms) > 0)
    for number in (signal.SIGUSR1, signal.SIGTERM):
        train(small_model(), number, callbacks=[At(lambda n=number: os.kill(os.getpid(), n))])
    train(small_model(), "a fork", callbacks=[At(fork)])
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # which ends the workers of a pool
    train(small_model(), "a pool", callbacks=[At(pool)])
    train(small_model(), "a process", callbacks=[At(lambda: subprocess.run(["true"]))])
    print(codes, len(children) > 2)
    for error in (ValueError("mine"), KeyboardInterrupt(), StopIteration(), SystemExit(4)):
        try:
            train(small_model(), error, callbacks=[At(lambda error=error: end(error))])
        except BaseException as seen:  # noqa: BLE001 - whatever was raised
            print(type(seen).__name__, [f.name for f in traceback.extract_tb(seen.__traceback__)])

    def interrupt(number, frame):
        # Only inside `fit`: one more alarm may come before the timer is off.
        while frame is not None:
            if frame.f_code.co_name == "fit":
                raise TimeoutError("too slow")
            frame = frame.f_back

    signal.signal(signal.SIGALRM, interrupt)
    # TensorFlow makes other errors of one that comes while it traces.
    with contextlib.suppress(Exception):
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        small_model().fit(*data(), batch_size=1, epochs=1000, verbose=0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    train(small_model(), "after that")
    with contextlib.suppress(KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.default_int_handler)
        train(small_model(), "Ctrl-C", callbacks=[At(lambda: os.kill(os.getpid(), signal.SIGINT))])
    train(small_model(), "the end", callbacks=[At(lambda: sys.exit(5))])


@case
def places():
    """Leave the folder, the path, the environment and the standard files."""
    import atexit
    import contextlib
    import io
    import tempfile

    gone = tempfile.mkdtemp()
    os.chdir(gone)
    os.rmdir(gone)
    del sys.path[0]
    import keras

    train(small_model(), "in a folder that is gone")
    other = tempfile.mkdtemp()
    os.chdir(other)
    os.environ.clear()
    sys.path.clear()
    train(small_model(), "without an environment or a path")
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        train(small_model(), "kept")
    print(repr(text.getvalue()), flush=True)
    with tempfile.TemporaryFile() as file:
        before = os.dup(1)
        os.dup2(file.fileno(), 1)
        train(small_model(), "into a file")
        os.dup2(before, 1)
        file.seek(0)
        print(file.read(), flush=True)
    sys.excepthook = lambda kind, error, trace: print("hook:", kind.__name__, error)
    atexit.register(print, "first registered, last called")
    atexit.register(lambda: train(small_model(), "at exit"))
    os.close(2)
    train(small_model(), "without stderr")
    sys.meta_path.clear()
    sys.modules.pop("keras.callbacks")
    raise RuntimeError(keras.__name__)


@case
def ends_iterators():
    """Count the iterators of earlier epochs that are still there."""
    import time
    import weakref

    import keras
    import tensorflow as tf
    from tensorflow.python.data.ops.iterator_ops import OwnedIterator

    made = []
    original = OwnedIterator.__init__

    def init(self, *args, **kwargs):
        original(self, *args, **kwargs)
        made.append(weakref.ref(self))

    OwnedIterator.__init__ = init

    def show(name, newest=0):
        """Print how many are there besides the newest; who only looks at one is waited for."""
        older = made[: len(made) - newest]
        for _ in range(40):
            if not any(one() for one in older):
                break
            time.sleep(0.05)
        print(name, len(made), "made,", sum(one() is not None for one in older), "there")

    class Show(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            # Those of this epoch: one, one for the next, and those of validation.
            show(f"epoch {epoch}", newest=5)

    ds = tf.data.Dataset.from_tensor_slices(data()).repeat(4).batch(8)
    model = small_model()
    how = {"epochs": 4, "verbose": 0, "callbacks": [Show()]}
    model.fit(ds, **how)
    show("fit")
    model.fit(ds.filter(lambda x, y: True), validation_data=ds.take(2), **how)
    show("fit with validation")
    model.evaluate(ds, verbose=0)
    show("evaluate")
    model.predict(ds, verbose=0)
    show("predict")

    @tf.function
    def step(x, y):
        return tf.reduce_mean((model(x) - y) ** 2)

    def by_hand():
        for epoch in range(3):
            for x, y in ds:
                step(x, y)
            show(f"by hand {epoch}")

    by_hand()


if __name__ == "__main__":
    CASES[sys.argv[1]]()
