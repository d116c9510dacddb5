"""The scene that some looks at a process make."""

from quickfit.liveness.attach import Looks, Target
from quickfit.liveness.attached_scene import scene_of
from quickfit.liveness.pyspy import ThreadStack
from quickfit.liveness.scene import Frame
from quickfit.liveness.system import Look, ProcessLook, TaskLook

KERAS = "/venv/lib/python3.12/site-packages/keras/src/backend/tensorflow/trainer.py"
OPS = "/venv/lib/python3.12/site-packages/tensorflow/python/ops/script_ops.py"
TARGET = Target(70, "/home/me", "/home/me", ("python", "train.py"))
FIT = (Frame(KERAS, 300, "fit", False), Frame("/home/me/train.py", 30, "<module>", True))


def batches(line):
    return (Frame("/home/me/train.py", line, "batches", True), Frame(OPS, 20, "__call__", False))


def looks(*seen, below=()):
    """Return looks half a second apart; each is (main frames, frames of a thread of input)."""
    made = Looks()
    for number, (main, maker) in enumerate(seen):
        made.stacks.append([ThreadStack(71, "Thread-3", maker), ThreadStack(70, "", main)])
        tasks = {70: TaskLook(0.0, "S", "futex"), 71: TaskLook(0.4 * number, "R")}
        process = ProcessLook(70, 1, "python", 5.0, 0.0, "S", tasks=tasks)
        made.last = Look(0.5 * number, process, below)
        made.first = made.first or made.last
        made.counters.append({"at_s": 0.5 * number, "cpu_s": 0.4 * number, "rchar": 100.0 * number})
    return made


def test_threads_have_roles_shares_lines_and_cores():
    scene = scene_of(TARGET, looks((FIT, batches(6)), (FIT, batches(7)), (FIT, batches(7))))
    main, maker = scene.threads
    assert (main.role, main.share, main.waits_in, main.cores) == ("main", 1.0, "futex", 0.0)
    assert (maker.role, round(maker.share, 2), maker.waits_in) == ("input", 0.67, "")
    assert maker.lines == (("/home/me/train.py", 7, 2), ("/home/me/train.py", 6, 1))
    assert round(maker.cores, 2) == 0.8
    assert (scene.window_s, scene.still_s) == (1.0, 1.0)


def test_the_loop_is_the_call_of_fit_on_the_stack():
    scene = scene_of(TARGET, looks((FIT, batches(6)), (FIT, batches(6))))
    assert (scene.loop.kind, scene.loop.location.line, scene.loop.phase) == ("fit", 30, "train")
    evaluate = (Frame(KERAS, 400, "evaluate", False), *FIT)
    scene = scene_of(TARGET, looks((evaluate, batches(6)), (evaluate, batches(6))))
    assert (scene.loop.kind, scene.loop.phase) == ("fit", "validation")
    scene = scene_of(TARGET, looks((FIT[1:], batches(6)), (FIT[1:], batches(6))))
    assert scene.loop is None


def test_threads_of_libraries_alone_are_left_out():
    library = (Frame(OPS, 1, "wait", False),)
    made = looks((FIT, library), (FIT, library))
    made.stacks[-1].append(
        ThreadStack(99, "", (Frame("/lib/python3.12/queue.py", 1, "get", False),))
    )
    assert [thread.role for thread in scene_of(TARGET, made).threads] == ["main", "input"]


def test_rates_of_the_process_and_its_children_are_there():
    child = ProcessLook(80, 70, "python", 5.0, 0.25, "S", True, {80: TaskLook(0, "S", "futex")})
    scene = scene_of(TARGET, looks((FIT, batches(6)), (FIT, batches(6)), below=(child,)))
    assert scene.machine.cores == 0.8
    assert scene.machine.chars_read_per_s == 200.0
    assert scene.machine.read_bytes_per_s is None
    (one,) = scene.children
    assert (one.pid, one.is_fork, one.cores, one.waits_in) == (80, True, 0.0, "futex")


def test_one_look_alone_claims_no_rates():
    scene = scene_of(TARGET, looks((FIT, batches(6))))
    assert scene.machine.cores is None
    assert scene.main.cores is None
