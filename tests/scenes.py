"""Scenes by hand: one moment of a run that is stuck, and of its twin that is slow and moves."""

from __future__ import annotations

from typing import Any

from quickfit.findings import Location
from quickfit.liveness.scene import (
    Child,
    Frame,
    Input,
    Loop,
    Machine,
    Raised,
    Scene,
    Stage,
    Thread,
    Tracing,
)

SCRIPT = "/project/train.py"
SOURCE = """\
import tensorflow as tf

def batches(paths):
    while True:
        for path in paths:
            try:
                image = load(path)
            except Exception:
                continue
            yield image, 0

class Reader:
    def background(self):
        with self._lock:
            fetch()

    def load(self):
        with self._lock:
            return self.items

@tf.function
def simulate(state):
    for i in range(20_000):
        state = state + 1
    return state

answer = input("overwrite? ")
text = open("data.csv").read()
ds = tf.data.Dataset.list_files("*.jpg").filter(is_wanted)
ds = ds.cache().shuffle(70_000).repeat()
pool = multiprocessing.Pool(4)
strategy = tf.distribute.MultiWorkerMirroredStrategy()
model.fit(ds.batch(32), epochs=3)
"""
GENERATOR = "generator_data_adapter"
FIT = ("keras/src/backend/tensorflow/trainer.py", "fit")
EXECUTE = ("tensorflow/python/eager/execute.py", "quick_execute")
SPAWN = ("lib/python3.11/multiprocessing/spawn.py", "_fixup_main_from_path")
CLUSTER = '{"cluster": {"worker": ["here:1", "there:2"]}, "task": {"type": "worker", "index": 0}}'


def line_of(text: str, source: str = SOURCE) -> int:
    """Return the number of the first line that has a text in it."""
    return next(n for n, line in enumerate(source.split("\n"), 1) if text in line)


def at(text: str, source: str = SOURCE) -> Location:
    """Return the place of the first line with a text in it."""
    line = line_of(text, source)
    return Location(SCRIPT, line, source.split("\n")[line - 1].strip())


def user(text: str, function: str = "batches", source: str = SOURCE) -> Frame:
    """Return a frame at the user's line with this text."""
    return Frame(SCRIPT, line_of(text, source), function, True)


def library(path: str, function: str = "call") -> Frame:
    """Return a frame of a library."""
    return Frame(f"/usr/lib/{path}", 10, function, False)


def thread(role: str, *frames: Frame, **given: Any) -> Thread:
    """Return a thread that stands still, unless told otherwise."""
    return Thread(role, frames, **{"cores": 0.0, "waits_in": "futex", **given})


def main_in_fit(*inner: Frame, **given: Any) -> Thread:
    """Return the main thread inside `fit`."""
    return thread("main", *inner, library(*FIT), user("model.fit(", "<module>"), **given)


def making(*inner: Frame, **given: Any) -> Thread:
    """Return the thread that makes batches."""
    return thread(
        "input", *inner, library("tensorflow/script_ops.py", "generator_py_func"), **given
    )


def fit(**given: Any) -> Loop:
    """Return a call of `fit` that has lasted for twenty seconds."""
    known = {"steps": 0, "epoch": 1, "phase": "train", "lasted_s": 20.0, "facts": {}}
    return Loop("fit", at("model.fit("), 980.0, **{**known, **given})


def generator(**given: Any) -> Input:
    """Return the generator that a batch is waited for."""
    known = {"batches": 0, "since_batch_s": 20.0, "is_busy": True}
    place = at("def batches")
    return Input("generator", "batches", place, **{"workers": 1, **known, **given})


def stage(kind: str, elements: int, per_s: float, **given: Any) -> Stage:
    """Return a stage of the pipeline."""
    return Stage(kind, elements, per_s, **given)


def raised(count: int = 900, **given: Any) -> Raised:
    """Return exceptions that were swallowed in a fifth of a second."""
    known = {"place": at("image = load(path)"), "caught": at("except Exception"), "window_s": 0.2}
    message = "[Errno 2] No such file or directory: 'a.jpg'"
    return Raised("FileNotFoundError", message, count=count, **{**known, **given})


def scene(**given: Any) -> Scene:
    """Return a run that has been quiet and still for twenty seconds."""
    known = {"quiet_s": 20.0, "still_s": 20.0, "sources": {SCRIPT: SOURCE}}
    return Scene(**{"at_s": 1000.0, "window_s": 3.0, **known, **given})


def child(pid: int, *frames: Frame, **given: Any) -> Child:
    """Return a worker that was forked half a minute ago and hangs."""
    known = {"age_s": 30.0, "cores": 0.0, "state": "S", "waits_in": "futex", "is_fork": True}
    return Child(pid, "python train.py", frames=frames, **{**known, **given})


# -- stuck ------------------------------------------------------------------------------------


def _swallows() -> Scene:
    maker = making(user("image = load(path)"), cores=0.9, waits_in="")
    return scene(
        loop=fit(), threads=(main_in_fit(), maker), inputs=(generator(),), raised=(raised(),)
    )


def _sleeps() -> Scene:
    maker = making(user("image = load(path)"), waits_in="clock_nanosleep")
    return scene(loop=fit(), threads=(main_in_fit(), maker), inputs=(generator(batches=5),))


def _forked() -> Scene:
    waiter = main_in_fit(library("python3.11/multiprocessing/pool.py", "get"))
    worker = user("def load", "load")
    return scene(loop=fit(), threads=(waiter,), children=(child(7, worker), child(8, worker)))


def _spawned() -> Scene:
    main = thread("main", library("multiprocessing/pool.py"), user("pool = ", "<module>"))
    inside = (user("import tensorflow", "<module>"), library(*SPAWN))
    again = child(7, *inside, is_fork=False, runs_script=True, age_s=2.0, cores=0.9, waits_in="")
    return scene(threads=(main,), children=(again,), children_born=9)


def _endless() -> Scene:
    stages = (
        stage("batch", 900, 30.0, cardinality=-1, location=at("model.fit(")),
        stage("repeat", 28_800, 900.0, cardinality=-1, location=at(".repeat()")),
    )
    return scene(quiet_s=0.1, still_s=0.0, loop=fit(steps=900), steps=900, stages=stages)


def _unrolls() -> Scene:
    tracing = Tracing("simulate", at("state = state + 1"), 985.0, 31_000, 2100.0)
    inside = user("state = state + 1", "simulate")
    main = thread("main", library("framework/func_graph.py"), inside, cores=1.0, waits_in="")
    return scene(threads=(main,), tracing=tracing, still_s=0.0)


def _loops_over_nothing() -> Scene:
    header = user("for path in paths")
    lines = ((SCRIPT, line_of("while True"), 70), (SCRIPT, line_of("for path"), 80))
    maker = making(header, share=0.5, lines=lines, cores=1.0, waits_in="")
    return scene(loop=fit(), threads=(main_in_fit(), maker), inputs=(generator(),))


def _filters_all() -> Scene:
    stages = (
        stage("batch", 0, 0.0, size=32),
        stage("filter", 0, 0.0, location=at(".filter(")),
        stage("files", 9000, 400.0),
    )
    return scene(loop=fit(), threads=(main_in_fit(library(*EXECUTE)),), stages=stages, still_s=0.0)


def _locked() -> Scene:
    waits = making(user("with self._lock", "load", _LOADING))
    holds = thread("other", user("fetch()", "background", _LOADING), waits_in="clock_nanosleep")
    main = thread("main", library(*FIT), user("model.fit(", "<module>", _LOADING))
    return scene(loop=fit(), threads=(main, waits, holds), sources={SCRIPT: _LOADING})


# The lock's line of the reader comes first.
_LOADING = """\
class Reader:
    def load(self):
        with self._lock:
            return self.items

    def background(self):
        with self._lock:
            fetch()

model.fit(Reader())
"""


def _asks() -> Scene:
    main = thread("main", user("answer = input", "<module>"), waits_in="read", waits_for="stdin")
    return scene(threads=(main,))


def _waits_for_a_peer() -> Scene:
    inside = (library("tensorflow/python/eager/context.py", "ensure_initialized"),)
    main = thread("main", *inside, user("strategy = ", "<module>"))
    return scene(threads=(main,), environment={"TF_CONFIG": CLUSTER})


def _reads() -> Scene:
    main = thread("main", user("text = open", "<module>"), waits_in="read", waits_for="/mnt/d.csv")
    return scene(threads=(main,), machine=Machine(chars_read_per_s=0.0))


def _waits_for_the_disk() -> Scene:
    machine = Machine(disk_wait_threads=3.5, read_bytes_per_s=2e5, io_pressure=0.8)
    main = main_in_fit(library(*EXECUTE))
    return scene(loop=fit(), threads=(main,), machine=machine, still_s=12.0)


def _swaps() -> Scene:
    machine = Machine(major_faults_per_s=900.0, swapped_bytes_per_s=3e7, disk_wait_threads=2.0)
    return scene(loop=fit(), threads=(main_in_fit(library(*EXECUTE)),), machine=machine)


STUCK = {
    "generator-never-yields": _swallows(),
    "generator-never-yields, asleep": _sleeps(),
    "fork-deadlock": _forked(),
    "unguarded-spawn": _spawned(),
    "infinite-input-no-steps": _endless(),
    "python-loop-unrolled": _unrolls(),
    "empty-input": _loops_over_nothing(),
    "empty-input, filtered": _filters_all(),
    "held-lock": _locked(),
    "waits-for-stdin": _asks(),
    "waits-for-workers": _waits_for_a_peer(),
    "slow-storage": _reads(),
    "slow-storage, everywhere": _waits_for_the_disk(),
    "swap-thrash": _swaps(),
}


# -- slow to start, and it gets there ---------------------------------------------------------


def _fills_a_shuffle() -> Scene:
    place = at(".shuffle(70_000)")
    filling = {"buffered": 46_432, "buffered_per_s": 2514.0, "size": 70_000}
    stages = (
        stage("batch", 0, 0.0, size=32),
        stage("shuffle", 0, 0.0, location=place, **filling),
        stage("map", 46_432, 2514.0),
    )
    return scene(loop=fit(), threads=(main_in_fit(library(*EXECUTE)),), stages=stages, still_s=0.0)


def _fills_a_cache() -> Scene:
    stages = (
        stage("batch", 0, 0.0, size=32),
        stage("shuffle", 0, 0.0, buffered=3000, buffered_per_s=200.0, size=70_000),
        stage("cache", 3000, 200.0, cardinality=12_000, location=at(".cache()")),
    )
    return scene(loop=fit(), threads=(main_in_fit(library(*EXECUTE)),), stages=stages, still_s=0.0)


def _decodes() -> Scene:
    stages = (
        stage("batch", 0, 0.0, size=256),
        stage("map", 40, 4.0, location=at("ds = tf.data"), facts={"ops": ["DecodeJpeg"]}),
    )
    main = main_in_fit(library(*EXECUTE))
    return scene(loop=fit(), threads=(main,), stages=stages, still_s=0.0)


def _compiles() -> Scene:
    threads, machine = (main_in_fit(library(*EXECUTE)),), Machine(cores=1.0)
    return scene(loop=fit(), threads=threads, machine=machine, compiled=at("model.fit("))


def _computes() -> Scene:
    threads, machine = (main_in_fit(library(*EXECUTE)),), Machine(cores=1.9)
    return scene(loop=fit(steps=4), steps=4, threads=threads, machine=machine, longest_s=15.0)


MOVING = {
    "shuffle-buffer-too-big": _fills_a_shuffle(),
    "cache-fill": _fills_a_cache(),
    "decode-full-size": _decodes(),
    "xla-first-compile": _compiles(),
    "slow-step": _computes(),
}


# -- slow, and nothing is wrong ----------------------------------------------------------------


def _skips_some() -> Scene:
    """A generator that swallows an exception now and then, and gives a batch in between."""
    maker = making(user("image = load(path)"), cores=0.9, waits_in="", share=0.3)
    inputs = (generator(batches=40, since_batch_s=0.05),)
    loop, threads = fit(facts={"steps": 100}), (main_in_fit(), maker)
    return scene(loop=loop, threads=threads, inputs=inputs, raised=(raised(2),), still_s=0.05)


def _first_batch_takes_long() -> Scene:
    """A busy generator whose loop has a `yield` that it has not come to."""
    maker = making(user("image = load(path)"), cores=0.9, waits_in="", share=0.6)
    return scene(loop=fit(), threads=(main_in_fit(), maker), inputs=(generator(),))


def _workers_load() -> Scene:
    """Forked workers of which one sleeps and one reads: they are slow, and not locked."""
    waiter = main_in_fit(library("python3.11/multiprocessing/pool.py", "get"))
    slow = (child(7, waits_in="clock_nanosleep"), child(8, waits_in="read", cores=0.3))
    return scene(loop=fit(), threads=(waiter,), children=slow)


def _workers_wait_for_work() -> Scene:
    """Idle workers of a pool: one reads from the pipe, the others wait for their turn to."""
    waiter = main_in_fit(library("python3.11/multiprocessing/pool.py", "get"))
    idle = (child(7, waits_in="read"), child(8), child(9))
    return scene(loop=fit(), threads=(waiter,), children=idle)


_GUARDED = 'import tensorflow\n\nif __name__ == "__main__":\n    pool = Pool(4)\n'


def _workers_start() -> Scene:
    """Workers started by spawn that import a guarded script: they are inside it for seconds."""
    start = user("pool = ", "<module>", _GUARDED)
    main = thread("main", library("multiprocessing/pool.py"), start)
    inside = (user("import tensorflow", "<module>", _GUARDED), library(*SPAWN))
    young = {"is_fork": False, "runs_script": True, "age_s": 3.0, "cores": 0.9, "waits_in": ""}
    children = (child(7, *inside, **young), child(8, *inside, **young))
    sources = {SCRIPT: _GUARDED}
    return scene(threads=(main,), children=children, children_born=9, sources=sources)


def _long_epoch() -> Scene:
    """Endless data with a number of steps."""
    stages = (stage("batch", 900, 30.0, cardinality=-1, location=at(".repeat()")),)
    loop = fit(steps=900, lasted_s=600.0, facts={"steps": 5000})
    return scene(quiet_s=0.1, still_s=0.0, loop=loop, steps=900, stages=stages)


def _traces_a_large_model() -> Scene:
    """Thousands of operations that come from no loop of the user's."""
    tracing = Tracing("one_step_on_data", at("model.fit("), 985.0, 31_000, 2100.0)
    main = main_in_fit(library("framework/func_graph.py"), cores=1.0, waits_in="")
    return scene(loop=fit(), threads=(main,), tracing=tracing, still_s=0.0)


def _reads_its_files() -> Scene:
    """A loop whose body is seen too."""
    lines = ((SCRIPT, line_of("image = load"), 70), (SCRIPT, line_of("for path"), 8))
    maker = making(user("image = load(path)"), share=0.7, lines=lines, cores=1.0, waits_in="")
    return scene(loop=fit(), threads=(main_in_fit(), maker), inputs=(generator(),))


def _filters_many() -> Scene:
    """A filter that lets one of a thousand through."""
    stages = (
        stage("batch", 0, 0.0, size=32),
        stage("filter", 9, 0.4, location=at(".filter(")),
        stage("files", 9000, 400.0),
    )
    return scene(loop=fit(), threads=(main_in_fit(library(*EXECUTE)),), stages=stages, still_s=0.0)


def _holder_works() -> Scene:
    """A thread that waits for another one which computes, with no lock's name in both."""
    waits = main_in_fit(library("python3.11/threading.py", "wait"), user("text = open", "<module>"))
    works = thread("other", user("fetch()", "background"), cores=0.9, waits_in="")
    return scene(threads=(waits, works))


def _reads_from_a_pipe() -> Scene:
    """A script whose data comes through stdin."""
    main = thread("main", user("text = open", "<module>"), waits_in="read", waits_for="stdin")
    return scene(threads=(main,))


def _starts_alone() -> Scene:
    """A distributed start with nobody to wait for."""
    inside = (library("tensorflow/python/eager/context.py", "ensure_initialized"),)
    main = thread("main", *inside, user("strategy = ", "<module>"))
    alone = CLUSTER.replace(', "there:2"', "")
    return scene(threads=(main,), environment={"TF_CONFIG": alone})


def _reads_slowly() -> Scene:
    """A read that is another one at every look."""
    main = thread(
        *("main", user("text = open", "<module>")),
        share=0.4,
        waits_in="read",
        waits_for="/mnt/d.csv",
        cores=0.02,
    )
    return scene(threads=(main,), machine=Machine(chars_read_per_s=4e6))


def _disk_is_busy() -> Scene:
    """Threads that wait for a disk which delivers."""
    machine = Machine(disk_wait_threads=3.5, read_bytes_per_s=4e7)
    stages = (stage("batch", 40, 2.0, size=32), stage("map", 1300, 64.0))
    loop, threads = fit(steps=40), (main_in_fit(library(*EXECUTE)),)
    given = {"machine": machine, "stages": stages, "still_s": 0.3}
    return scene(loop=loop, threads=threads, quiet_s=0.5, steps=40, **given)


def _some_faults() -> Scene:
    """Pages that are read for the first time, and nothing in swap."""
    machine = Machine(major_faults_per_s=900.0, swapped_bytes_per_s=0.0)
    threads = (main_in_fit(library("numpy/core/memmap.py")),)
    return scene(loop=fit(), threads=threads, machine=machine)


TWINS = {
    "generator-never-yields": _skips_some(),
    "generator-never-yields, asleep": _first_batch_takes_long(),
    "fork-deadlock": _workers_load(),
    "fork-deadlock, idle": _workers_wait_for_work(),
    "unguarded-spawn": _workers_start(),
    "infinite-input-no-steps": _long_epoch(),
    "python-loop-unrolled": _traces_a_large_model(),
    "empty-input": _reads_its_files(),
    "empty-input, filtered": _filters_many(),
    "held-lock": _holder_works(),
    "waits-for-stdin": _reads_from_a_pipe(),
    "waits-for-workers": _starts_alone(),
    "slow-storage": _reads_slowly(),
    "slow-storage, everywhere": _disk_is_busy(),
    "swap-thrash": _some_faults(),
}


def cause_of(name: str) -> str:
    """Return the cause that a scene is named after."""
    return name.partition(",")[0]
