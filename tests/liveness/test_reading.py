"""Scenes made from a recording that grows."""

import pytest

from growing import START_S, Growing, node
from quickfit.causes import stuck_mechanisms
from quickfit.liveness.reading import SceneReader, has_left
from quickfit.liveness.reason import first_reason
from quickfit.liveness.scene import Frame, Loop, Thread
from quickfit.liveness.system import Look, ProcessLook, TaskLook
from quickfit.liveness.watch import Watch

SOURCE = """\
def batches():
    while True:
        try:
            image = load(path)
        except OSError:
            continue
        yield image

model.fit(batches(), steps_per_epoch=10)
"""


@pytest.fixture
def run(tmp_path):
    run = Growing(tmp_path / "run")
    yield run
    run.close()


@pytest.fixture(autouse=True)
def folder(tmp_path):
    (tmp_path / "run").mkdir()


@pytest.fixture
def script(tmp_path, run):
    file = tmp_path / "train.py"
    file.write_text(SOURCE)
    run.writer.add_source(str(file))
    return str(file)


def reader(run, **given):
    return SceneReader(run.folder, run.pid, clock=run.clock, look=lambda pid: None, **given)


def loop(run, script=None, **given):
    known = {"id": 1, "kind": "fit", "file": script, "line": 9, "begin_s": START_S + 1, "facts": {}}
    run.add("loops", **{**known, **given})


def test_before_anything_is_recorded_there_is_no_scene(tmp_path):
    waiting = SceneReader(tmp_path, 4711, look=lambda pid: None)
    assert waiting.quiet_s() is None
    assert waiting.scene() is None


def test_a_run_is_quiet_since_its_last_step(run):
    eyes = reader(run)
    run.now = START_S + 8
    assert eyes.quiet_s() == 8.0
    run.step(0, START_S + 7)
    assert eyes.quiet_s() == 1.0
    assert eyes.scene().steps == 1


def test_a_loop_is_told_with_its_line_and_its_facts(run, script):
    loop(run, script, facts={"steps": 10})
    run.step(0, START_S + 3)
    run.now = START_S + 9
    found = reader(run).scene().loop
    assert (found.kind, found.steps, found.epoch, found.phase) == ("fit", 1, 1, "train")
    assert found.location.text == "model.fit(batches(), steps_per_epoch=10)"
    assert (found.lasted_s, found.facts) == (8.0, {"steps": 10})


def test_an_epoch_has_lasted_since_the_one_before(run):
    loop(run)
    run.add("epochs", loop=1, epoch=1, begin_s=START_S + 1, end_s=START_S + 6)
    run.now = START_S + 9
    found = reader(run).scene().loop
    assert (found.epoch, found.lasted_s) == (2, 3.0)


def test_a_loop_after_a_fit_with_validation_does_not_validate(run):
    loop(run, end_s=START_S + 6)
    run.add("iterators", id=1, loop=1, phase="validation", created_s=START_S + 5)
    loop(run, id=2, kind="predict", begin_s=START_S + 7, facts={"trains": False})
    run.now = START_S + 9
    assert reader(run).scene().loop.phase == "train"


@pytest.mark.parametrize(("line", "is_over"), [(8, True), (9, False), (12, False), (13, True)])
def test_a_loop_of_the_script_is_over_when_no_thread_is_in_its_lines(script, line, is_over):
    main = Thread(
        "main", (Frame("/lib/keras/src/x.py", 10, "call", False), user_frame(script, line))
    )
    found = Loop("custom", None, START_S, 5, 1, "train", facts={"body": [script, 9, 12]})
    assert has_left(found, (main,)) is is_over


def test_a_loop_whose_lines_or_threads_are_not_known_is_not_over(script):
    main = Thread("main", (user_frame(script, 99),))
    deep = Thread("main", (user_frame(script, 99),) * 80)
    body = {"body": [script, 9, 12]}
    for facts, threads in [({}, (main,)), (body, ()), (body, (deep,)), ({"body": "?"}, (main,))]:
        assert not has_left(Loop("custom", None, 0.0, 5, 1, "train", facts=facts), threads)


def user_frame(file, line):
    return Frame(file, line, "train", True)


def test_a_loop_that_has_ended_is_over(run):
    loop(run, end_s=START_S + 5)
    assert reader(run).scene().loop is None


def test_a_validation_moves_with_its_batches(run):
    eyes = reader(run)
    loop(run)
    run.add("iterators", id=1, loop=1, phase="validation", created_s=START_S + 5)
    for second in range(6, 20):
        run.now = START_S + second
        run.pipeline(1, run.now, node(1, "Batch", second, []))
        scene = eyes.scene()
    assert (scene.loop.phase, scene.loop.lasted_s) == ("validation", 14.0)
    assert scene.quiet_s == 0.0
    run.now += 4
    assert eyes.scene().quiet_s == 4.0


def test_a_python_input_is_busy_and_has_given_so_many_batches(run, script):
    given = {"id": 1, "kind": "generator", "name": "batches", "file": script, "line": 1}
    eyes = reader(run)
    run.add("py_inputs", **given, at_s=START_S + 2, batches=4, busy=0)
    run.now = START_S + 3
    eyes.scene()
    run.add("py_inputs", **given, at_s=START_S + 4, batches=5, busy=1)
    run.now = START_S + 5
    eyes.scene()
    run.now = START_S + 25
    scene = eyes.scene()
    (source,) = scene.inputs
    assert (source.batches, source.is_busy, source.since_batch_s) == (5, True, 20.0)
    assert source.location.text == "def batches():"
    assert scene.still_s == 20.0


def test_a_trace_under_way_has_its_rate(run, script):
    for second, operations in ((6, 1000), (8, 1600)):
        given = {"since_s": START_S + 2, "file": script, "line": 4, "name": "step"}
        run.add("tracing", at_s=START_S + second, operations=operations, **given)
    run.now = START_S + 8.2
    tracing = reader(run).scene().tracing
    assert (tracing.name, tracing.operations, tracing.per_s) == ("step", 1600, 300.0)
    run.now = START_S + 20
    assert reader(run).scene().tracing is None


def raise_often(run, script, at_s):
    places = {"file": script, "line": 4, "caught_file": script, "caught_line": 5}
    given = {"name": "OSError", "message": "no such file", "count": 800, "window_s": 0.2}
    run.add("raises", at_s=at_s, role="input", **places, **given)


def test_swallowed_exceptions_are_read_with_both_lines(run, script):
    raise_often(run, script, START_S + 6)
    run.now = START_S + 8
    (raised,) = reader(run).scene().raised
    assert (raised.name, raised.message, raised.count) == ("OSError", "no such file", 800)
    assert raised.place.text == "image = load(path)"
    assert raised.caught.text == "except OSError:"


def test_exceptions_are_forgotten_when_something_came_since(run, script):
    eyes = reader(run)
    eyes.scene()
    raise_often(run, script, START_S + 6)
    run.step(0, START_S + 7)
    run.now = START_S + 8
    eyes.scene()
    run.now = START_S + 9
    assert eyes.scene().raised == ()


def test_the_machine_is_told_by_the_second(run):
    readings = {"system_busy_s": 20.0, "read_bytes": 10**6, "disk_wait_s": 1.0, "io_pressure": 0.2}
    run.add("machine", at_s=START_S + 5, cpu_s=3.0, **dict.fromkeys(readings, 0))
    run.add("machine", at_s=START_S + 7, cpu_s=5.0, **readings)
    run.now = START_S + 7.5
    scene = reader(run).scene()
    machine = scene.machine
    assert (machine.cores, machine.other_cores, machine.disk_wait_threads) == (1.0, 9.0, 0.5)
    assert (machine.read_bytes_per_s, machine.io_pressure) == (5e5, 0.2)
    assert machine.swapped_bytes_per_s is None  # the system does not tell
    assert scene.is_answering


def test_a_process_that_writes_nothing_does_not_answer(run):
    run.add("machine", at_s=START_S + 1)
    run.now = START_S + 20
    assert reader(run).scene().is_answering is False


def test_the_end_of_the_script_is_seen(run):
    eyes = reader(run)
    assert eyes.scene().ended_s is None
    run.add("meta", key="ended_s", value="1009.0")
    assert eyes.scene().ended_s == 1009.0


def test_the_steps_of_the_newest_run_through_a_dataset_are_counted_apart(run):
    loop(run, kind="custom", facts={"trains": False})
    eyes = reader(run)
    for epoch, steps in ((1, 12), (2, 3)):
        for number in range(steps):
            run.add("steps", loop=1, epoch=epoch, step=number, end_s=START_S + epoch)
        eyes.scene()
    run.add("steps", loop=1, epoch=2, step=3, end_s=START_S + 3)
    found = eyes.scene().loop
    assert (found.steps, found.epoch_steps) == (16, 4)


def test_a_cluster_that_the_script_sets_up_later_is_seen(run):
    eyes = reader(run)
    assert eyes.scene().environment == {}
    run.add("meta", key="cluster", value='"{}"')
    assert eyes.scene().environment == {"TF_CONFIG": "{}"}


def test_lines_of_the_log_are_handed_on(run):
    eyes = reader(run, log_lines=lambda: [{"pattern": "shuffle", "numbers": [3, 9]}])
    assert eyes.scene().log_lines == {"shuffle": (3, 9)}


@pytest.mark.parametrize(
    ("arguments", "is_jit"), [({"jit": True}, True), ({}, False), (None, False)]
)
def test_a_function_for_xla_that_has_not_run_is_being_compiled(run, script, arguments, is_jit):
    run.add("traces", at_s=START_S + 3, file=script, line=1, arguments=arguments)
    run.now = START_S + 9
    eyes = reader(run)
    assert (eyes.scene().compiled is not None) is is_jit
    run.step(0, START_S + 8)
    assert eyes.scene().compiled is None


# -- from the recording to what is said ----------------------------------------------------------


def quiet_generator(run, script):
    """Record a generator that swallows every exception, as the probes see it."""
    loop(run, script, facts={"steps": 10})
    maker = run.stack("input", (script, 4, "batches", True), ("/usr/script_ops.py", 1, "f", False))
    main = run.stack("main", ("/usr/eager/execute.py", 5, "quick_execute", False))
    run.add("threads", at_s=run.now, native_id=run.pid, role="main", stack=main)
    run.add("threads", at_s=run.now, native_id=71, role="input", stack=maker)
    run.add("samples", at_s=run.now, stack=maker, seen=30)
    given = {"id": 1, "kind": "generator", "name": "batches", "file": script, "line": 1}
    run.add("py_inputs", **given, at_s=run.now, busy=1)
    raise_often(run, script, run.now)


def test_a_generator_that_swallows_is_called_stuck_from_its_recording(run, script):
    def look(pid):
        tasks = {71: TaskLook(run.now * 0.9, "R"), pid: TaskLook(1.0, "S", "futex")}
        return Look(run.now, ProcessLook(pid, 1, "python", 0.0, 0.0, "S", tasks=tasks))

    eyes, watch = (
        SceneReader(run.folder, run.pid, clock=run.clock, look=look),
        Watch(stuck_mechanisms()),
    )
    said = []
    for second in range(6, 16, 2):
        run.now = START_S + second
        quiet_generator(run, script) if second == 6 else raise_often(run, script, run.now)
        run.add("machine", at_s=run.now)
        said += watch.look(eyes.scene())
    assert [one.kind for one in said] == ["phase", "stuck"]
    assert said[0].text == "waiting for batch 1 of `batches` — train.py:4 (6.0 s so far)"
    assert "OSError is raised and swallowed 4,000 times a second" in said[1].text
    assert said[1].text.endswith("— train.py:4 (generator-never-yields)")
    assert first_reason(stuck_mechanisms(), eyes.scene()).also.line == 5
